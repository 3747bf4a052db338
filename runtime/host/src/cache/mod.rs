//! Where is compiled code kept between processes? Verified bytes go in, a loaded component comes out, compiled at most
//! once.
//!
//! ```text
//!   digest + engine ─→ <key>.cwasm (0400) and <key>.mac
//!                        │ opened once, MAC checked through that descriptor, loaded through the same inode
//!                        └ anything wrong ─→ the `Compile` port ─→ replace by rename ─→ open
//! ```
//!
//! A compiled file is machine code. Only a file that this home wrote, for this component and this engine, is loaded.

mod load;

use std::{
    collections::HashMap,
    fs::{self, File},
    hash::{Hash, Hasher},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use chitin_ports::Compile;
use chitin_types::Digest;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use wasmtime::{Engine, component::Component};

use crate::HostError;

/// The directory of compiled files, and the key of this home.
pub struct CodeCache {
    dir: PathBuf,
    key: [u8; 32],
    // Held by whoever loads a component, so that two calls at once do not compile it twice.
    turns: Mutex<HashMap<Digest, Weak<tokio::sync::Mutex<()>>>>,
}

impl CodeCache {
    /// A cache below `dir`, which is made when the first file is written. `key` is the home's own.
    pub fn new(dir: impl Into<PathBuf>, key: [u8; 32]) -> Self {
        Self { dir: dir.into(), key, turns: Mutex::default() }
    }

    /// Loads a component, having it compiled when there is no good file for it. `bytes` is asked for only then.
    ///
    /// # Errors
    /// The bytes are not there or are refused, the compiler could not work, or the compiled file cannot be written.
    pub async fn load(
        &self,
        engine: &Engine,
        digest: &Digest,
        compiler: &dyn Compile,
        bytes: impl FnOnce() -> Option<Arc<Vec<u8>>>,
    ) -> Result<Component, HostError> {
        let turn = self.turn(digest);
        let _mine = turn.lock().await;
        let path = self.path(engine, digest);
        if let Some(component) = self.open(engine, &path) {
            return Ok(component);
        }
        let bytes = bytes().ok_or_else(|| HostError::NotRunnable("its bytes were not verified".to_owned()))?;
        tracing::info!(component = %digest, "compiling");
        let code = compiler.compile(&bytes).await?;
        self.store(&path, code).await?;
        self.open(engine, &path)
            .ok_or_else(|| HostError::Engine("the code just compiled could not be loaded".to_owned()))
    }

    /// Whether a good file exists; for `doctor`.
    pub fn holds(&self, engine: &Engine, digest: &Digest) -> bool {
        self.open(engine, &self.path(engine, digest)).is_some()
    }

    /// The name covers everything that the code depends on, so a file of another engine is never looked at.
    fn path(&self, engine: &Engine, digest: &Digest) -> PathBuf {
        let mut hasher = std::hash::DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        self.dir.join(format!("{}-{:016x}.cwasm", digest.hex(), hasher.finish()))
    }

    fn open(&self, engine: &Engine, path: &Path) -> Option<Component> {
        let open = |path: &Path| {
            let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
            fs::OpenOptions::new().read(true).custom_flags(no_follow).open(path)
        };
        let file = open(path).ok()?;
        let expected = fs::read(path.with_extension("mac")).ok()?;
        let mut mac = self.mac(path);
        load::each_piece(&file, |piece| mac.update(piece)).ok()?;
        if mac.verify_slice(&expected).is_err() {
            tracing::warn!(file = %path.display(), "a compiled file is not the one that was written; compiling again");
            return None;
        }
        load::component(engine, &file).map_err(|error| tracing::warn!(%error, "a compiled file cannot be loaded")).ok()
    }

    // Megabytes are hashed, written and synced: not on a thread that answers others.
    async fn store(&self, path: &Path, code: Vec<u8>) -> Result<(), HostError> {
        let (dir, path, mac) = (self.dir.clone(), path.to_owned(), self.mac(path));
        let store = move || -> Result<(), HostError> {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
            fs::set_permissions(&dir, fs::Permissions::from_mode(0o700))?;
            let mac = mac.chain_update(&code).finalize().into_bytes();
            // The code first: a MAC without its code only means compiling again, and so does the other way round.
            write(&dir, &path, &code)?;
            write(&dir, &path.with_extension("mac"), &mac)
        };
        tokio::task::spawn_blocking(store).await.map_err(|e| HostError::Cache(io::Error::other(e)))?
    }

    fn turn(&self, digest: &Digest) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = turns.get(digest).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::new(tokio::sync::Mutex::new(()));
        turns.insert(*digest, Arc::downgrade(&turn));
        turn
    }

    /// Over the name, which holds component and engine, and then the code.
    fn mac(&self, path: &Path) -> Hmac<Sha256> {
        // A key of any length is accepted by HMAC.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes a key of any length");
        mac.update(b"chitin-cwasm-v1\0");
        mac.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        mac.update(b"\0");
        mac
    }
}

fn write(dir: &Path, path: &Path, bytes: &[u8]) -> Result<(), HostError> {
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o400))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| HostError::Cache(e.error))?;
    File::open(dir)?.sync_all()?;
    Ok(())
}
