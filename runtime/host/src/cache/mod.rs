//! Where is compiled code kept between processes? Verified bytes go in, a loaded component comes out, compiled at most
//! once.
//!
//! ```text
//!   digest + engine ─→ <key>.cwasm (0400) and <key>.mac
//!                        │ opened once, MAC checked through that descriptor, loaded through the same inode
//!                        └ anything wrong ─→ compile again, replace by rename
//! ```
//!
//! A compiled file is machine code. Only a file that this home wrote, for this component and this engine, is loaded.

mod load;

use std::{
    fs::{self, File},
    hash::{Hash, Hasher},
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use chitin_types::Digest;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use wasmtime::{Engine, component::Component};

use crate::HostError;

/// The directory of compiled files, and the key of this home.
pub struct CodeCache {
    dir: PathBuf,
    key: [u8; 32],
}

impl CodeCache {
    /// A cache below `dir`, which is made when the first file is written. `key` is the home's own.
    pub fn new(dir: impl Into<PathBuf>, key: [u8; 32]) -> Self {
        Self { dir: dir.into(), key }
    }

    /// Loads a component, compiling it when there is no good file for it. `bytes` is asked for only then.
    ///
    /// # Errors
    /// The bytes are not there or are no component; the compiled file cannot be written.
    pub fn load(
        &self,
        engine: &Engine,
        digest: &Digest,
        bytes: impl FnOnce() -> Option<std::sync::Arc<Vec<u8>>>,
    ) -> Result<Component, HostError> {
        let path = self.path(engine, digest);
        if let Some(component) = self.open(engine, &path) {
            return Ok(component);
        }
        let bytes = bytes().ok_or_else(|| HostError::NotRunnable("its bytes were not verified".to_owned()))?;
        tracing::info!(component = %digest, "compiling");
        let code = engine.precompile_component(&bytes).map_err(|e| HostError::NotRunnable(format!("{e:#}")))?;
        self.store(&path, &code)?;
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

    fn store(&self, path: &Path, code: &[u8]) -> Result<(), HostError> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        fs::set_permissions(&self.dir, fs::Permissions::from_mode(0o700))?;
        let mac = self.mac(path).chain_update(code).finalize().into_bytes();
        // The code first: a MAC without its code only means compiling again, and so does the other way round.
        write(&self.dir, path, code)?;
        write(&self.dir, &path.with_extension("mac"), &mac)
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
