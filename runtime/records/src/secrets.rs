//! Where does a secret lie? In a file of its own, encrypted with a key that is not in it; its name lies open.
//!
//! ```text
//!   home key ─ HMAC, own label ─→ key ─┐
//!   text ──────────────────────────────┼─ XChaCha20-Poly1305, the name bound to it, a fresh nonce ─→ row of secrets.db
//!   name ──────────────────────────────┘
//! ```
//!
//! Whoever can write the file but not read the home key can remove secrets, or put an older one back in its own place;
//! neither reading one, nor making one, nor moving one to another name.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use chitin_ports::{PortError, Secrets};
use chitin_types::Secret;
use rusqlite::{Connection, OptionalExtension};

use crate::{RecordsError, chain, open, schema};

/// The secrets of one home. Clones share one file.
#[derive(Clone)]
pub struct SecretStore {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    cipher: XChaCha20Poly1305,
    connection: Mutex<Connection>,
}

impl SecretStore {
    /// Opens the file at `path`, and makes it where there is none; its folder must exist. `home_key` is the secret of
    /// the home. Another key opens the file all the same, and no secret in it.
    ///
    /// # Errors
    /// The file cannot be used, is not ours, or is newer than this program.
    pub fn open(path: &Path, home_key: [u8; 32]) -> Result<Self, RecordsError> {
        let connection = Mutex::new(open::open_secrets(path)?);
        let cipher = XChaCha20Poly1305::new(&chain::derived(&home_key, KEY_LABEL).into());
        Ok(Self { inner: Arc::new(Inner { path: path.to_owned(), cipher, connection }) })
    }

    async fn run<T, F>(&self, action: F) -> Result<T, PortError>
    where
        T: Send + 'static,
        F: FnOnce(&Inner, &Connection) -> Result<T, RecordsError> + Send + 'static,
    {
        let inner = Arc::clone(&self.inner);
        let done = tokio::task::spawn_blocking(move || {
            // Each action is one statement, so one that panicked left nothing half done.
            let connection = inner.connection.lock().unwrap_or_else(PoisonError::into_inner);
            action(&inner, &connection)
        });
        Ok(done.await.map_err(|_| RecordsError::Stopped)??)
    }
}

#[async_trait]
impl Secrets for SecretStore {
    async fn reveal(&self, name: &str) -> Result<Option<Secret>, PortError> {
        let name = checked(name)?;
        self.run(move |inner, connection| inner.reveal(connection, &name)).await
    }

    async fn set(&self, name: &str, secret: &Secret) -> Result<(), PortError> {
        let (name, secret) = (checked(name)?, secret.clone());
        self.run(move |inner, connection| inner.set(connection, &name, &secret)).await
    }

    async fn remove(&self, name: &str) -> Result<bool, PortError> {
        let name = checked(name)?;
        self.run(move |_, connection| Ok(connection.execute("DELETE FROM secrets WHERE name = ?1", [name])? > 0)).await
    }

    async fn names(&self) -> Result<Vec<(String, u64)>, PortError> {
        self.run(|_, connection| {
            let mut select = connection.prepare("SELECT name, set_ms FROM secrets ORDER BY name")?;
            let rows = select.query_map([], |row| Ok((row.get(0)?, schema::from_sql(row.get(1)?))))?;
            Ok(rows.collect::<Result<Vec<(String, u64)>, _>>()?)
        })
        .await
    }
}

impl fmt::Debug for SecretStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretStore").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

impl Inner {
    fn reveal(&self, connection: &Connection, name: &str) -> Result<Option<Secret>, RecordsError> {
        let row: Option<(Vec<u8>, Vec<u8>)> = connection
            .query_row("SELECT nonce, sealed FROM secrets WHERE name = ?1", [name], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        let Some((nonce, sealed)) = row else { return Ok(None) };
        let locked = || RecordsError::Locked { name: name.to_owned() };
        let nonce = <[u8; NONCE_BYTES]>::try_from(nonce).map_err(|_| locked())?;
        let payload = Payload { msg: &sealed, aad: name.as_bytes() };
        let opened = self.cipher.decrypt(&XNonce::from(nonce), payload).map_err(|_| locked())?;
        let text = String::from_utf8(opened).map_err(|_| locked())?;
        Ok(Some(Secret::new(text)))
    }

    fn set(&self, connection: &Connection, name: &str, secret: &Secret) -> Result<(), RecordsError> {
        let text = secret.expose().as_bytes();
        if text.len() > SECRET_BYTES_MAX {
            let why = format!("{name} has {} bytes and {SECRET_BYTES_MAX} are allowed", text.len());
            return Err(RecordsError::NoSecret(why));
        }
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|error| RecordsError::Random(error.to_string()))?;
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), Payload { msg: text, aad: name.as_bytes() })
            .map_err(|_| RecordsError::NoSecret(format!("{name} cannot be encrypted")))?;
        connection.execute(
            "INSERT OR REPLACE INTO secrets (name, nonce, sealed, set_ms) VALUES (?1, ?2, ?3, ?4)",
            (name, nonce, sealed, schema::to_sql(now_ms())),
        )?;
        Ok(())
    }
}

// The name is not in the error: whoever mixes up the two may have given the secret itself.
fn checked(name: &str) -> Result<String, RecordsError> {
    let fits = (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if fits {
        Ok(name.to_owned())
    } else {
        Err(RecordsError::NoSecret(format!("its name has 1 to {NAME_BYTES_MAX} of a-z, 0-9 and hyphen")))
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

const KEY_LABEL: &str = "secrets-v1";
/// Long enough to be drawn at random for every write without ever meeting an earlier one.
const NONCE_BYTES: usize = 24;
/// One secret: a chain of certificates with its key fits; a file given by accident does not.
const SECRET_BYTES_MAX: usize = 64 * 1024;
/// A name stands in policies and in the audit.
const NAME_BYTES_MAX: usize = 48;

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
