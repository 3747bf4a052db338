//! Which component do both sides call? The name of an artifact goes in; its bytes, its compiled code and a place for
//! records come out, so that the two sides differ in nothing but the host around it.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context, Result};
use chitin_host::{CodeCache, compile::InProcess};
use chitin_testkit::guests;
use chitin_types::Digest;
use tempfile::TempDir;
use wasmtime::{Engine, component::Component};

use crate::ground::two_workers;

/// One component, with a temporary directory around it.
pub(crate) struct Guest {
    bytes: Arc<Vec<u8>>,
    digest: Digest,
    dir: TempDir,
}

impl Guest {
    /// The component that cargo built under this name.
    ///
    /// # Errors
    /// There is no room for temporary files.
    ///
    /// # Panics
    /// The guests were not built.
    pub(crate) fn new(artifact: &str) -> Result<Self> {
        let bytes = Arc::new(guests::bytes(artifact));
        let digest = Digest::of(&bytes);
        let dir = tempfile::tempdir().context("make a temporary directory")?;
        Ok(Self { bytes, digest, dir })
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &Arc<Vec<u8>> {
        &self.bytes
    }

    /// Its digest.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// The cache of its code, the same directory for whoever asks.
    pub(crate) fn code(&self) -> CodeCache {
        CodeCache::new(self.dir.path().join("compiled"), KEY)
    }

    /// The component, loaded from the cache as the host loads it.
    ///
    /// # Errors
    /// It cannot be compiled or loaded.
    pub(crate) fn component(&self, engine: &Engine) -> Result<Component> {
        let bytes = Arc::clone(&self.bytes);
        two_workers()?
            .block_on(self.code().load(engine, &self.digest, &InProcess, || Some(bytes)))
            .context("load the component")
    }

    /// Where records of its calls are written.
    pub(crate) fn database(&self) -> PathBuf {
        self.dir.path().join("state.db")
    }
}

/// Stands for the home's key. It protects nothing here: the directory lives as long as one figure.
pub(crate) const KEY: [u8; 32] = [7; 32];
