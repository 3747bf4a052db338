//! What holds while the daemon runs? The last good configuration, and what is wrong with the files as they are now.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use chitin_host::{Channels, Host, Roots};
use chitin_jail::Shell;
use chitin_ports::{ChannelDoor, ChannelState};
use chitin_registry::Catalog;
use serde_json::{Value, json};

use crate::{
    config::{Config, ProviderChoice},
    wire::Served,
};

/// The state of a running daemon that commands ask for.
pub(crate) struct Live {
    root: PathBuf,
    host: Arc<Host>,
    shell: Arc<Shell>,
    catalog: Arc<Catalog>,
    provider: String,
    now: Mutex<Now>,
}

struct Now {
    // What the parts that read it once were made from.
    at_start: Arc<Config>,
    config: Arc<Config>,
    text: Option<String>,
    broken: Option<String>,
    problems: Vec<String>,
    sandbox: String,
    undelivered: usize,
}

impl Live {
    /// What holds at the start.
    pub(crate) fn new(root: &Path, config: Config, served: &Served) -> Self {
        let provider = match &config.provider {
            ProviderChoice::Offline => "the offline provider (no model)".to_owned(),
            ProviderChoice::OpenaiChat { model, base_url, .. } => format!("{model} at {base_url}"),
        };
        let config = Arc::new(config);
        let now = Now {
            at_start: Arc::clone(&config),
            config,
            text: text_of(root),
            broken: None,
            problems: vec![],
            sandbox: "being tried".to_owned(),
            undelivered: 0,
        };
        Self {
            root: root.to_owned(),
            host: Arc::clone(&served.host),
            shell: Arc::clone(&served.shell),
            catalog: Arc::clone(&served.catalog),
            provider,
            now: Mutex::new(now),
        }
    }

    /// The last good configuration.
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.now().config)
    }

    /// Whether this sender of this channel is answered.
    pub(crate) fn answers(&self, channel: &str, sender: &str) -> bool {
        self.config().channels.get(channel).is_some_and(|channel| channel.allow.iter().any(|name| name == sender))
    }

    /// Something that `status` shows until the daemon ends.
    pub(crate) fn problem(&self, text: String) {
        let mut now = self.now();
        if now.problems.len() < PROBLEMS_MAX && !now.problems.contains(&text) {
            now.problems.push(text);
        }
    }

    /// How many answers were tried to deliver and wait for the next try.
    pub(crate) fn undelivered_are(&self, letters: usize) {
        self.now().undelivered = letters;
    }

    /// What the trial of the sandbox found.
    pub(crate) fn sandbox_is(&self, verdict: String) {
        self.now().sandbox = verdict;
    }

    /// Reads the configuration again when its text changed. A broken one changes nothing and is shown by `status`.
    pub(crate) fn look_again(&self) {
        let text = text_of(&self.root);
        if self.now().text == text {
            return;
        }
        let read = Config::load(&self.root);
        let mut now = self.now();
        now.text = text;
        let config = match read {
            Ok(config) => config,
            Err(error) => {
                tracing::warn!(error = %error.message, "the configuration is broken; the last good one stays in force");
                now.broken = Some(format!("{} (the last good configuration stays in force)", error.message));
                return;
            }
        };
        let roots = match Roots::open(config.roots.clone()) {
            Ok(roots) => roots,
            Err(error) => {
                now.broken = Some(format!("failed to {error} (the last good configuration stays in force)"));
                return;
            }
        };
        now.broken = later(&now.at_start, &config);
        self.host.set_roots(roots);
        self.shell.set_roots(config.roots.clone());
        now.config = Arc::new(config);
        tracing::info!("the configuration was read again");
    }

    /// What `chitin status` shows.
    pub(crate) fn status(
        self: &Arc<Self>,
        listen: SocketAddr,
        channels: &Arc<Channels>,
    ) -> Arc<dyn Fn() -> Value + Send + Sync> {
        let (live, channels) = (Arc::clone(self), Arc::clone(channels));
        Arc::new(move || live.document(listen, &channels))
    }

    fn document(&self, listen: SocketAddr, channels: &Channels) -> Value {
        let (sandbox, undelivered, mut problems) = {
            let now = self.now();
            let problems = now.broken.iter().chain(&now.problems).cloned().collect::<Vec<_>>();
            (now.sandbox.clone(), now.undelivered, problems)
        };
        if undelivered > 0 {
            problems.push(format!("{undelivered} answers could not be delivered yet; see `chitin audit tail`"));
        }
        problems.extend(self.catalog.problems());
        let tools = match self.catalog.tools() {
            Ok(tools) => {
                problems.extend(tools.damaged.iter().map(|damaged| format!("tools.lock: {}", damaged.reason)));
                tools.entries.len()
            }
            Err(error) => {
                problems.push(error.to_string());
                0
            }
        };
        let channels: Vec<Value> = channels
            .status()
            .into_iter()
            .map(|channel| {
                let state = match channel.state {
                    ChannelState::Running => "running".to_owned(),
                    ChannelState::BackedOff { .. } => format!("backed off, started again {} times", channel.restarts),
                    ChannelState::Stopped => "stopped".to_owned(),
                };
                json!({ "name": channel.name, "tool": channel.tool, "state": state,
                    "last_error": channel.last_error, "restarts": channel.restarts })
            })
            .collect();
        json!({
            "schema": "chitin/status/v1", "pid": std::process::id(), "listen": listen.to_string(),
            "version": env!("CARGO_PKG_VERSION"), "provider": self.provider, "tools": tools, "sandbox": sandbox,
            "channels": channels, "problems": problems,
        })
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// Keys that are read once; saying so beats silence.
fn later(old: &Config, new: &Config) -> Option<String> {
    let keys = |config: &Config| {
        let channels: Vec<_> =
            config.channels.iter().map(|(n, c)| (n.clone(), c.tool.clone(), c.secret.clone())).collect();
        (
            config.listen,
            config.provider.clone(),
            config.sandbox,
            config.program.clone(),
            config.recall_scopes.clone(),
            channels,
        )
    };
    (keys(old) != keys(new)).then(|| {
        "config.toml changed in gateway, provider, sandbox, program, memory or channels: start the daemon again"
            .to_owned()
    })
}

fn text_of(root: &Path) -> Option<String> {
    std::fs::read_to_string(root.join("config.toml")).ok()
}

/// Lines of `status`; a home in ruins has hundreds of tools that fail for one reason.
const PROBLEMS_MAX: usize = 50;
