//! Where does what lie? One directory goes in; the places below it, made private, come out.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use chitin_types::ToolName;

use crate::RegistryError;

/// The home directory, with every directory that this crate writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// Opens a home and makes what is missing, readable by its owner only.
    ///
    /// # Errors
    /// A directory cannot be made, or stands open to others and cannot be closed.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, RegistryError> {
        let home = Self { root: root.into() };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE_DIR)
            .create(&home.root)
            .map_err(RegistryError::io(format!("make {}", home.root.display())))?;
        for dir in [STORE, STORE_SHA256, TRUST, KEYS, POLICIES, RUN] {
            let path = home.root.join(dir);
            make_private(&path).map_err(RegistryError::io(format!("make {}", path.display())))?;
        }
        Ok(home)
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the entries of the store lie.
    pub fn store(&self) -> PathBuf {
        self.root.join(STORE_SHA256)
    }

    /// Where trust files lie.
    pub fn trust(&self) -> PathBuf {
        self.root.join(TRUST)
    }

    /// Where keys lie.
    pub fn keys(&self) -> PathBuf {
        self.root.join(KEYS)
    }

    /// Where grant files lie.
    pub fn policies(&self) -> PathBuf {
        self.root.join(POLICIES)
    }

    /// Where lock files lie.
    pub fn run(&self) -> PathBuf {
        self.root.join(RUN)
    }

    /// The name of a tool's grant file, below `policies`.
    pub fn grant_file(tool: &ToolName) -> String {
        format!("{}.toml", tool.file_stem())
    }
}

// An existing directory is closed too: an archive that was unpacked, or an older umask, may have left it open.
fn make_private(path: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(PRIVATE_DIR).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Err(_) | Ok(()) => {}
    }
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Err(io::Error::other("it is there and is no directory"));
    }
    if found.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(PRIVATE_DIR))?;
    }
    Ok(())
}

const STORE: &str = "store";
const STORE_SHA256: &str = "store/sha256";
pub(crate) const TRUST: &str = "trust";
pub(crate) const KEYS: &str = "keys";
pub(crate) const POLICIES: &str = "policies";
const RUN: &str = "run";
/// Nobody else may list or enter: names of tools and keys are nobody's business.
const PRIVATE_DIR: u32 = 0o700;
