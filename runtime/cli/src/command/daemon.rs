//! How does the daemon live? It takes the home's lock, starts every part, serves until it is asked to stop, and lets go of
//! everything in the order in which it took it.
//!
//! ```text
//!   lock ─ records ─ host ─ agent ─ channels ─ dispatch ─ gateway ─→ serving ─→ SIGTERM ─→ gateway ─ dispatch ─ channels ─ records
//!                                                            │
//!                                                            └ each second: expired questions, a changed configuration
//! ```

use std::{
    fs::{File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::Arc,
    time::Duration,
};

use chitin_agent::{Board, Dispatch};
use chitin_gateway::{Gateway, GatewayParts, Metrics, TokenFile};
use chitin_host::{ChannelConfig, ChannelParts, Channels};
use chitin_ports::{Approve, Inbox};
use chitin_records::Records;
use serde_json::json;
use tokio::{
    net::{TcpListener, UnixListener},
    sync::{Notify, watch},
};

use crate::{
    args::Daemon,
    client,
    error::{CliError, Exit},
    live::Live,
    output::Output,
    source::TimedIds,
    wire::{Served, Wire},
};

pub(crate) async fn run(wire: &Wire, args: &Daemon, output: &Output) -> Result<(), CliError> {
    let _lock = take_lock(wire.root())?;
    let config = wire.config()?;
    let listen = args.listen.unwrap_or(config.listen);
    let tcp = TcpListener::bind(listen).await.map_err(|error| {
        CliError::failed(format!("listen on {listen}: {error}")).help("chitin daemon --listen 127.0.0.1:0")
    })?;
    let listen = tcp.local_addr()?;
    let unix = unix_socket(&client::socket(wire.root()))?;

    let records = wire.records()?;
    let board = Arc::new(Board::new(Arc::clone(&wire.clock) as _));
    let served = wire.served(&records, Arc::clone(&board) as Arc<dyn Approve>)?;
    let live = Arc::new(Live::new(wire.root(), config, &served));
    let wake = Arc::new(Notify::new());
    let channels = start_channels(wire, &records, &served, (&live, &wake))?;
    let dispatch = dispatch(&records, &served, &channels, &live);
    let gateway = Arc::new(Gateway::new(GatewayParts {
        agent: Arc::clone(&served.agent),
        board: Arc::clone(&board),
        channels: Arc::clone(&channels) as _,
        audit: Arc::clone(&records) as _,
        clock: Arc::clone(&wire.clock) as _,
        token: TokenFile { path: token_file(wire.root()) },
        status: live.status(listen, &channels),
        metrics: Arc::new(Metrics::default()),
        delivered: Arc::clone(&wake),
    }));

    let (stop, stopped) = watch::channel(false);
    let upkeep = tokio::spawn(upkeep((board, Arc::clone(&records)), Arc::clone(&live), Arc::clone(&wake)));
    let checks = tokio::spawn(verify_all(served, Arc::clone(&live)));
    let dispatching = tokio::spawn({
        let stopped = stopped.clone();
        async move { dispatch.run(&wake, stopped).await }
    });
    let document = json!({ "listen": listen.to_string(), "pid": std::process::id() });
    output.result("daemon", document, &format!("listening on http://{listen}"));
    let serving = tokio::spawn(gateway.serve(tcp, Some(unix), stopped));
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        done = asked_to_stop() => {
            done?;
            output.note("stopping");
            // Whoever listens ends itself; nobody listening means that it has ended.
            let _ = stop.send(true);
            serving.await
        }
    };
    let _ = stop.send(true);
    upkeep.abort();
    checks.abort();
    let grace = tokio::time::timeout(GRACE, dispatching).await;
    if grace.is_err() {
        output.note("turns of channels are still running; they are run again at the next start");
    }
    channels.shutdown().await;
    // A socket that nobody answers would make the next command wait for nothing.
    drop(std::fs::remove_file(client::socket(wire.root())));
    records.flush().await?;
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(CliError::failed(format!("failed to {error}"))),
        Err(error) => Err(CliError::failed(format!("the gateway broke: {error}"))),
    }
}

fn start_channels(
    wire: &Wire,
    records: &Arc<Records>,
    served: &Served,
    (live, wake): (&Live, &Arc<Notify>),
) -> Result<Arc<Channels>, CliError> {
    let parts = ChannelParts {
        host: Arc::clone(&served.host),
        source: Arc::clone(&served.catalog) as _,
        inbox: Arc::clone(records) as _,
        secrets: Arc::clone(&served.secrets) as _,
        audit: Arc::clone(records) as _,
        clock: Arc::clone(&wire.clock) as _,
        ids: Arc::new(TimedIds),
        wake: Arc::clone(wake),
    };
    Ok(Channels::start(parts, live.channels())?)
}

fn dispatch(records: &Arc<Records>, served: &Served, channels: &Arc<Channels>, live: &Arc<Live>) -> Dispatch {
    let senders = Arc::clone(live);
    Dispatch::new(
        Arc::clone(&served.agent),
        Arc::clone(records) as _,
        Arc::clone(channels) as _,
        Arc::clone(records) as _,
        Arc::new(move |channel: &str, sender: &str| senders.answers(channel, sender)),
    )
}

/// Where the hash of the daemon's token lies.
pub(crate) fn token_file(home: &Path) -> std::path::PathBuf {
    home.join("keys/gateway.sha256")
}

async fn upkeep((board, records): (Arc<Board>, Arc<Records>), live: Arc<Live>, wake: Arc<Notify>) {
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    loop {
        tick.tick().await;
        board.sweep();
        live.look_again();
        if let Ok(letters) = records.undelivered(LETTERS_SHOWN_MAX).await {
            live.undelivered_are(letters.iter().filter(|letter| letter.attempts > 0).count());
        }
        // What could not be delivered is tried again.
        wake.notify_one();
    }
}

/// Every tool is verified in the background, so that the first call finds it done and `status` shows what is wrong.
async fn verify_all(served: Served, live: Arc<Live>) {
    live.sandbox_is(match &served.jail.verdict().await.backend {
        Some(backend) => backend.word().to_owned(),
        None => "none: native commands are refused (see `chitin sandbox explain`)".to_owned(),
    });
    let Ok(tools) = served.catalog.tools() else { return };
    for entry in &tools.entries {
        if let Err(error) = served.catalog.tool(&entry.name).await {
            tracing::warn!(tool = %entry.name, %error, "a tool is disabled");
            live.problem(format!("{}: {error}", entry.name));
        }
    }
}

fn take_lock(home: &Path) -> Result<File, CliError> {
    let path = home.join("run/daemon.lock");
    let mut file = OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(&path)?;
    if file.try_lock().is_err() {
        let pid = std::fs::read_to_string(&path).unwrap_or_default();
        let message = format!("a daemon runs for this home already (pid {})", pid.trim());
        return Err(CliError::new(Exit::Failed, message).help("chitin status"));
    }
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())?;
    Ok(file)
}

// The lock is ours, so a socket that lies there is of a daemon that was killed.
fn unix_socket(path: &Path) -> Result<UnixListener, CliError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        Err(_) | Ok(()) => {}
    }
    UnixListener::bind(path).map_err(|error| {
        CliError::failed(format!("listen on {}: {error}", path.display())).help("choose a home with a shorter path")
    })
}

async fn asked_to_stop() -> std::io::Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        done = tokio::signal::ctrl_c() => done,
        _ = terminate.recv() => Ok(()),
    }
}

impl Live {
    /// The configured channels, for the host.
    pub(crate) fn channels(&self) -> Vec<ChannelConfig> {
        let config = self.config();
        let one = |(name, channel): (&String, &crate::config::Channel)| ChannelConfig {
            name: name.clone(),
            tool: channel.tool.clone(),
            secret: channel.secret.clone(),
        };
        config.channels.iter().map(one).collect()
    }
}

/// Answers that are counted for `status`.
const LETTERS_SHOWN_MAX: usize = 1_000;
/// How long turns of channels may still run after a stop. What is not done then is done after the next start.
const GRACE: Duration = Duration::from_secs(5);
