//! When is the store of secrets opened? At the first secret that somebody asks for: most commands never do, and opening a
//! database costs more than all else that they start.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use chitin_ports::{PortError, Secrets};
use chitin_records::SecretStore;
use chitin_types::Secret;

/// A store that is opened when it is needed.
pub(crate) struct LateSecrets {
    path: PathBuf,
    key: [u8; 32],
    opened: Mutex<Option<SecretStore>>,
}

impl LateSecrets {
    /// The store at this path, not opened.
    pub(crate) fn new(path: PathBuf, key: [u8; 32]) -> Self {
        Self { path, key, opened: Mutex::default() }
    }

    fn store(&self) -> Result<SecretStore, PortError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = &*opened {
            return Ok(store.clone());
        }
        let store = SecretStore::open(&self.path, self.key)?;
        *opened = Some(store.clone());
        Ok(store)
    }
}

#[async_trait]
impl Secrets for LateSecrets {
    async fn reveal(&self, name: &str) -> Result<Option<Secret>, PortError> {
        self.store()?.reveal(name).await
    }

    async fn set(&self, name: &str, secret: &Secret) -> Result<(), PortError> {
        self.store()?.set(name, secret).await
    }

    async fn remove(&self, name: &str) -> Result<bool, PortError> {
        self.store()?.remove(name).await
    }

    async fn names(&self) -> Result<Vec<(String, u64)>, PortError> {
        self.store()?.names().await
    }
}
