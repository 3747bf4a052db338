//! Which crate is plugged into which? The only place that constructs; it decides nothing.
//!
//! Parts are made when a command asks for them, so that `audit tail` starts no engine and `key list` opens no database.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use chitin_agent::{Agent, Ports, Settings};
use chitin_egress::Egress;
use chitin_host::{CodeCache, Host, HostParts, Roots, Slots, Stores, compile::Jailed};
use chitin_jail::{Choice, Jail, JailConfig, Shell};
use chitin_policy::Grants;
use chitin_ports::{Approve, Audit, Clock, ComponentSource, Describe, Installed, Provider, Toolbox};
use chitin_provider::{Offline, OpenAiChat, OpenAiConfig};
use chitin_records::Records;
use chitin_registry::{Catalog, GrantFiles, Home, HomeKey, Installer, NativeTool};
use chitin_types::ToolName;

use crate::{
    approve::Terminal,
    args::Global,
    config::{Config, ProviderChoice, Sandbox},
    error::{CliError, Exit},
    home,
    late::LateSecrets,
    output,
    router::Router,
    source::{SystemClock, TimedIds},
};

/// One home, opened.
pub(crate) struct Wire {
    pub(crate) global: Global,
    pub(crate) home: Home,
    pub(crate) clock: Arc<SystemClock>,
    key: HomeKey,
    // One for all parts, so that the lock is read and a component is verified once.
    catalog: OnceLock<Arc<Catalog>>,
}

/// The parts of a process that answers messages.
pub(crate) struct Served {
    pub(crate) agent: Arc<Agent>,
    pub(crate) host: Arc<Host>,
    pub(crate) shell: Arc<Shell>,
    pub(crate) jail: Arc<Jail>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) secrets: Arc<LateSecrets>,
}

impl Wire {
    /// Opens a home that exists.
    pub(crate) fn open(global: &Global) -> Result<Self, CliError> {
        let root = home::locate(global)?;
        if !root.join("keys").is_dir() {
            let message = format!("there is no home at {}", root.display());
            return Err(CliError::new(Exit::NotFound, message).help("chitin onboard"));
        }
        Self::create(global)
    }

    /// Opens a home, making what is missing.
    pub(crate) fn create(global: &Global) -> Result<Self, CliError> {
        let home = Home::open(home::locate(global)?)?;
        let key = HomeKey::load_or_create(&home)?;
        Ok(Self { global: global.clone(), home, clock: Arc::new(SystemClock), key, catalog: OnceLock::new() })
    }

    pub(crate) fn root(&self) -> &Path {
        self.home.root()
    }

    pub(crate) fn config(&self) -> Result<Config, CliError> {
        Config::load(self.root())
    }

    pub(crate) fn records(&self) -> Result<Arc<Records>, CliError> {
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        Ok(Arc::new(Records::open(&self.root().join("state.db"), *self.key.bytes(), clock)?))
    }

    pub(crate) fn secrets(&self) -> Arc<LateSecrets> {
        Arc::new(LateSecrets::new(self.root().join("secrets.db"), *self.key.bytes()))
    }

    pub(crate) fn catalog(&self) -> Result<Arc<Catalog>, CliError> {
        if let Some(catalog) = self.catalog.get() {
            return Ok(Arc::clone(catalog));
        }
        let catalog = Catalog::new(self.home.clone(), Arc::clone(&self.clock) as Arc<dyn Clock>)?;
        let shell = NativeTool { spec: Shell::spec(), identity: Shell::identity(), requests: Shell::requests() };
        let catalog = Arc::new(catalog.with_native(vec![shell]));
        Ok(Arc::clone(self.catalog.get_or_init(|| catalog)))
    }

    /// What a tool may really do: an installed one, or the native one.
    pub(crate) async fn granted(&self, tool: &ToolName) -> Result<Arc<Grants>, CliError> {
        match self.native(tool).await? {
            Some(native) => Ok(native.grants),
            None => Ok(self.catalog()?.tool(tool).await?.grants),
        }
    }

    /// The native tool, if it has this name.
    pub(crate) async fn native(&self, tool: &ToolName) -> Result<Option<Installed>, CliError> {
        let spec = Shell::spec();
        if spec.tool != *tool {
            return Ok(None);
        }
        let found = self.catalog()?.resolve(spec.wire_name()?.as_str()).await;
        found.map_err(|outcome| CliError::outcome(&outcome))
    }

    pub(crate) fn grants(&self, records: &Arc<Records>) -> Result<GrantFiles, CliError> {
        Ok(GrantFiles::new(self.home.clone(), Arc::clone(records) as Arc<dyn Audit>)?)
    }

    pub(crate) fn installer(&self, records: &Arc<Records>) -> Result<Installer, CliError> {
        let (audit, clock) = (Arc::clone(records) as Arc<dyn Audit>, Arc::clone(&self.clock) as Arc<dyn Clock>);
        Ok(Installer::new(self.home.clone(), self.describer(records)?, audit, clock)?)
    }

    /// What tells what a component offers.
    pub(crate) fn describer(&self, records: &Arc<Records>) -> Result<Arc<dyn Describe>, CliError> {
        let jail = self.jail()?;
        Ok(self
            .host(records, Parts { jail, roots: Roots::default(), egress: Egress::default(), slots: Slots::Command })?)
    }

    /// The agent of a command, which asks at the terminal.
    pub(crate) fn agent(&self, records: &Arc<Records>) -> Result<Arc<Agent>, CliError> {
        let terminal = Arc::new(Terminal { person: output::person_is_there(&self.global) });
        Ok(self.serve_with(records, terminal, Slots::Command)?.agent)
    }

    /// The parts of a daemon.
    pub(crate) fn served(&self, records: &Arc<Records>, approve: Arc<dyn Approve>) -> Result<Served, CliError> {
        self.serve_with(records, approve, Slots::Server)
    }

    /// What runs native programs.
    pub(crate) fn jail(&self) -> Result<Arc<Jail>, CliError> {
        let config = self.config()?;
        let choice = match config.sandbox {
            Sandbox::Detect => Choice::Detect,
            Sandbox::Bubblewrap => Choice::Bubblewrap,
            Sandbox::Landlock => Choice::Landlock,
            Sandbox::None => Choice::None,
        };
        let helper = program(&config)?;
        Ok(Arc::new(Jail::new(JailConfig { helper, scratch: self.root().join("run/scratch"), choice })))
    }

    fn serve_with(&self, records: &Arc<Records>, approve: Arc<dyn Approve>, slots: Slots) -> Result<Served, CliError> {
        // Beside the rest of the start, on a thread of its own.
        drop(tokio::task::spawn_blocking(chitin_agent::prepare_schemas));
        let config = self.config()?;
        let (catalog, jail, secrets) = (self.catalog()?, self.jail()?, self.secrets());
        let roots = Roots::open(config.roots.clone())?;
        let egress = Egress::with_secrets(Arc::clone(&secrets) as _);
        let host = self.host(records, Parts { jail: Arc::clone(&jail), roots, egress, slots })?;
        let audit = Arc::clone(records) as Arc<dyn Audit>;
        let shell = Arc::new(Shell::new(Arc::clone(&jail) as _, audit, config.roots));
        let ports = Ports {
            provider: provider(config.provider)?,
            history: Arc::clone(records) as _,
            audit: Arc::clone(records) as _,
            toolbox: Arc::clone(&catalog) as _,
            invoke: Arc::new(Router { host: Arc::clone(&host), shell: Arc::clone(&shell) }),
            approve,
            clock: Arc::clone(&self.clock) as _,
            ids: Arc::new(TimedIds),
            recall: Some(Arc::clone(records) as _),
        };
        let settings = Settings { recall_scopes: config.recall_scopes, ..Settings::default() };
        Ok(Served { agent: Arc::new(Agent::new(ports, settings)), host, shell, jail, catalog, secrets })
    }

    fn host(&self, records: &Arc<Records>, parts: Parts) -> Result<Arc<Host>, CliError> {
        let Parts { jail, roots, egress, slots } = parts;
        let program = program(&self.config()?)?;
        let parts = HostParts {
            slots,
            cache: CodeCache::new(self.root().join("cache/compiled"), *self.key.bytes()),
            compiler: Arc::new(Jailed::new(jail as _, program)),
            stores: Stores { kv: Arc::clone(records) as _, recall: Arc::clone(records) as _ },
            roots,
            egress,
            audit: Arc::clone(records) as Arc<dyn Audit>,
            source: self.catalog()? as Arc<dyn ComponentSource>,
        };
        Ok(Arc::new(Host::new(parts)?))
    }
}

/// What differs between the hosts of commands.
struct Parts {
    jail: Arc<Jail>,
    roots: Roots,
    egress: Egress,
    slots: Slots,
}

/// The program that is its own child, by a path that stays the same when the file is replaced.
fn program(config: &Config) -> Result<PathBuf, CliError> {
    match &config.program {
        Some(program) => Ok(program.clone()),
        None => Ok(std::env::current_exe()?),
    }
}

/// The model that the configuration names.
fn provider(choice: ProviderChoice) -> Result<Arc<dyn Provider>, CliError> {
    match choice {
        ProviderChoice::Offline => Ok(Arc::new(Offline)),
        ProviderChoice::OpenaiChat { base_url, model, api_key, native_tools, stream: _ } => {
            let config = OpenAiConfig { base_url, model, api_key, native_tools };
            let provider = OpenAiChat::new(config, Egress::default())
                .map_err(|e| CliError::new(Exit::Config, format!("[provider] base_url: {e}")))?;
            Ok(Arc::new(provider))
        }
    }
}
