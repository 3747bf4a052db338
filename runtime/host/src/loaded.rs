//! Which components are ready to run? A digest goes in, a prepared instance comes out; code is loaded at the first call.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use chitin_ports::ComponentSource;
use chitin_types::Digest;
use wasmtime::{
    Engine,
    component::{Component, Linker},
};

use crate::{
    CodeCache, HostError,
    state::CallState,
    wit::{ToolWithEverything, ToolWithEverythingPre},
};

/// Everything needed to start an instance.
pub type Prepared = ToolWithEverythingPre<CallState>;

/// The prepared components of this process.
pub struct LoadedSet {
    cache: CodeCache,
    linker: Linker<CallState>,
    ready: Mutex<HashMap<Digest, Arc<Prepared>>>,
}

impl LoadedSet {
    pub(crate) fn new(cache: CodeCache, linker: Linker<CallState>) -> Self {
        Self { cache, linker, ready: Mutex::default() }
    }

    /// The prepared component; loads or compiles it at the first call.
    pub(crate) fn prepared(
        &self,
        engine: &Engine,
        digest: &Digest,
        source: &dyn ComponentSource,
    ) -> Result<Arc<Prepared>, HostError> {
        if let Some(ready) = self.lock().get(digest) {
            return Ok(Arc::clone(ready));
        }
        let component = self.cache.load(engine, digest, || source.verified(digest))?;
        let prepared = Arc::new(self.prepare(&component)?);
        self.lock().insert(*digest, Arc::clone(&prepared));
        Ok(prepared)
    }

    /// Compiles and prepares bytes whose digest is known to the caller, for a first look at them.
    pub(crate) fn compile(&self, engine: &Engine, bytes: &[u8]) -> Result<(Component, Arc<Prepared>), HostError> {
        let digest = Digest::of(bytes);
        let component = self.cache.load(engine, &digest, || Some(Arc::new(bytes.to_vec())))?;
        let prepared = self.prepare(&component)?;
        Ok((component, Arc::new(prepared)))
    }

    fn prepare(&self, component: &Component) -> Result<Prepared, HostError> {
        let pre = self.linker.instantiate_pre(component).map_err(|e| HostError::NotRunnable(format!("{e:#}")))?;
        ToolWithEverythingPre::new(pre)
            .map_err(|_| HostError::NotRunnable("it does not export chitin:tool/guest@0.1.0".to_owned()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, Arc<Prepared>>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The started component.
pub type Instance = ToolWithEverything;
