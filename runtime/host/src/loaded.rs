//! Which components are ready to run? A digest goes in, a prepared instance comes out; code is loaded at the first call.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use chitin_ports::{Compile, ComponentSource, PackKind};
use chitin_types::Digest;
use wasmtime::{
    Engine,
    component::{Component, Linker},
};

use crate::{CodeCache, HostError, reflect::Typed, state::CallState, wit::ToolWithEverythingPre};

/// Everything needed to start an instance.
pub(crate) enum Prepared {
    /// It describes itself and takes its arguments as JSON.
    Pack(ToolWithEverythingPre<CallState>),
    /// It has ordinary functions.
    Typed(Typed),
}

/// The prepared components of this process.
pub struct LoadedSet {
    cache: CodeCache,
    compiler: Arc<dyn Compile>,
    source: Arc<dyn ComponentSource>,
    linker: Linker<CallState>,
    ready: Mutex<HashMap<Digest, Arc<Prepared>>>,
}

impl LoadedSet {
    pub(crate) fn new(
        cache: CodeCache,
        compiler: Arc<dyn Compile>,
        source: Arc<dyn ComponentSource>,
        linker: Linker<CallState>,
    ) -> Self {
        Self { cache, compiler, source, linker, ready: Mutex::default() }
    }

    /// The prepared component; loads it, or has it compiled, at the first call.
    pub(crate) async fn prepared(&self, engine: &Engine, digest: &Digest) -> Result<Arc<Prepared>, HostError> {
        if let Some(ready) = self.known(digest) {
            return Ok(ready);
        }
        let component = self.component(engine, digest).await?;
        let prepared = Arc::new(self.prepare(engine, &component)?);
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).insert(*digest, Arc::clone(&prepared));
        Ok(prepared)
    }

    /// The code of a component that was verified in this process.
    pub(crate) async fn component(&self, engine: &Engine, digest: &Digest) -> Result<Component, HostError> {
        self.cache.load(engine, digest, self.compiler.as_ref(), || self.source.verified(digest)).await
    }

    /// The code of bytes that the caller verified, for a first look at them.
    pub(crate) async fn compile(&self, engine: &Engine, bytes: &[u8]) -> Result<Component, HostError> {
        let digest = Digest::of(bytes);
        self.cache.load(engine, &digest, self.compiler.as_ref(), || Some(Arc::new(bytes.to_vec()))).await
    }

    /// Links a component of functions that can be called; not a channel, whose callbacks are no functions.
    pub(crate) fn prepare(&self, engine: &Engine, component: &Component) -> Result<Prepared, HostError> {
        let kind = kind(engine, component);
        if kind == PackKind::Channel {
            return Err(HostError::NotRunnable("it is a channel, which has no functions to call".to_owned()));
        }
        let wrong = |error: wasmtime::Error| HostError::NotRunnable(format!("{error:#}"));
        let pre = self.linker.instantiate_pre(component).map_err(wrong)?;
        match kind {
            PackKind::Pack => ToolWithEverythingPre::new(pre).map(Prepared::Pack).map_err(wrong),
            PackKind::Typed | PackKind::Channel => Ok(Prepared::Typed(Typed::new(engine, pre))),
        }
    }

    fn known(&self, digest: &Digest) -> Option<Arc<Prepared>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).get(digest).map(Arc::clone)
    }
}

/// What a component is, by what it exports. One that is a channel and describes functions, too, is a channel: it imports
/// what only a channel is linked to.
pub(crate) fn kind(engine: &Engine, component: &Component) -> PackKind {
    let ty = component.component_type();
    let exports = |interface: &str| ty.exports(engine).any(|(name, _)| name.starts_with(interface));
    if exports(CHANNEL) {
        PackKind::Channel
    } else if exports(GUEST) {
        PackKind::Pack
    } else {
        PackKind::Typed
    }
}

/// Our interfaces, of any release of the 0.1 track.
pub(crate) const GUEST: &str = "chitin:tool/guest@0.1.";
const CHANNEL: &str = "chitin:channel/core@0.1.";
