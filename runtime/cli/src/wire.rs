//! Which crate is plugged into which? The only place that constructs; it decides nothing.
//!
//! Parts are made when a command asks for them, so that `audit tail` starts no engine and `key list` opens no database.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use chitin_agent::{Agent, Ports, Settings};
use chitin_egress::Egress;
use chitin_host::{CodeCache, Host, HostParts, Roots, Slots};
use chitin_ports::{Audit, Clock, ComponentSource, Provider};
use chitin_provider::{Offline, OpenAiChat, OpenAiConfig};
use chitin_records::Records;
use chitin_registry::{Catalog, GrantFiles, Home, HomeKey, Installer};

use crate::{
    approve::Terminal,
    args::Global,
    config::{Config, ProviderChoice},
    error::{CliError, Exit},
    home, output,
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

    pub(crate) fn catalog(&self) -> Result<Arc<Catalog>, CliError> {
        if let Some(catalog) = self.catalog.get() {
            return Ok(Arc::clone(catalog));
        }
        let catalog = Arc::new(Catalog::new(self.home.clone(), Arc::clone(&self.clock) as Arc<dyn Clock>)?);
        Ok(Arc::clone(self.catalog.get_or_init(|| catalog)))
    }

    pub(crate) fn grants(&self, records: &Arc<Records>) -> Result<GrantFiles, CliError> {
        Ok(GrantFiles::new(self.home.clone(), Arc::clone(records) as Arc<dyn Audit>)?)
    }

    pub(crate) fn installer(&self, records: &Arc<Records>) -> Result<Installer, CliError> {
        let host = self.host(records, &self.catalog()?, Roots::default())?;
        let (audit, clock) = (Arc::clone(records) as Arc<dyn Audit>, Arc::clone(&self.clock) as Arc<dyn Clock>);
        Ok(Installer::new(self.home.clone(), host, audit, clock)?)
    }

    pub(crate) fn agent(&self, records: &Arc<Records>) -> Result<Agent, CliError> {
        // Beside the rest of the start, on a thread of its own.
        drop(tokio::task::spawn_blocking(chitin_agent::prepare_schemas));
        let config = self.config()?;
        let catalog = self.catalog()?;
        let host = self.host(records, &catalog, Roots::open(config.roots)?)?;
        let ports = Ports {
            provider: provider(config.provider)?,
            history: Arc::clone(records) as _,
            audit: Arc::clone(records) as _,
            toolbox: catalog,
            invoke: host,
            approve: Arc::new(Terminal { person: output::person_is_there(&self.global) }),
            clock: Arc::clone(&self.clock) as _,
            ids: Arc::new(TimedIds),
        };
        Ok(Agent::new(ports, Settings::default()))
    }

    fn host(&self, records: &Arc<Records>, catalog: &Arc<Catalog>, roots: Roots) -> Result<Arc<Host>, CliError> {
        let parts = HostParts {
            slots: Slots::Command,
            cache: CodeCache::new(self.root().join("cache/compiled"), *self.key.bytes()),
            roots,
            egress: Egress::default(),
            audit: Arc::clone(records) as Arc<dyn Audit>,
            source: Arc::clone(catalog) as Arc<dyn ComponentSource>,
        };
        Ok(Arc::new(Host::new(parts)?))
    }
}

/// The model that the configuration names.
fn provider(choice: ProviderChoice) -> Result<Arc<dyn Provider>, CliError> {
    match choice {
        ProviderChoice::Offline => Ok(Arc::new(Offline)),
        ProviderChoice::OpenaiChat { base_url, model, api_key, .. } => {
            let config = OpenAiConfig { base_url, model, api_key };
            let provider = OpenAiChat::new(config, Egress::default())
                .map_err(|e| CliError::new(Exit::Config, format!("[provider] base_url: {e}")))?;
            Ok(Arc::new(provider))
        }
    }
}
