//! Where do the bytes of installed tools lie? `store/sha256/<hex>/`, by the digest of the component.
//!
//! An entry appears as a whole by a rename. One that the lock does not name is harmless: nothing looks for it, and the
//! next change sweeps it away.

use std::{collections::BTreeSet, fs, io, os::unix::fs::PermissionsExt as _, path::Path};

use chitin_package::{BUNDLE_BYTES_MAX, COMPONENT_BYTES_MAX, LockFile};
use chitin_types::Digest;

use crate::{
    Home, RegistryError,
    disk::{Privacy, TEMPORARY, read_below, sync_dir, write_file},
};

/// The bytes of one entry, read once.
pub(crate) struct Stored {
    pub(crate) component: Vec<u8>,
    pub(crate) bundle: Vec<u8>,
}

/// Reads an entry. `None` when a file of it is not there.
pub(crate) fn read(home: &Home, component: &Digest) -> Result<Option<Stored>, RegistryError> {
    let hex = component.hex();
    let read =
        |file, bytes_max| read_below(home.root(), &["store", "sha256", &hex, file], bytes_max, Privacy::OwnedDocument);
    let Some(component) = read(COMPONENT, COMPONENT_BYTES_MAX)? else { return Ok(None) };
    let Some(bundle) = read(BUNDLE, BUNDLE_BYTES_MAX)? else { return Ok(None) };
    Ok(Some(Stored { component, bundle }))
}

/// Writes an entry. One that is there already is repaired in place, file by file: until the lock names the new bundle,
/// a crash in between leaves a tool that is disabled, never one that is half of each.
pub(crate) fn write(home: &Home, digest: &Digest, component: &[u8], bundle: &[u8]) -> Result<(), RegistryError> {
    let (store, entry) = (home.store(), home.store().join(digest.hex()));
    if fs::symlink_metadata(&entry).is_ok_and(|found| found.is_dir()) {
        write_file(&entry, COMPONENT, component)?;
        return write_file(&entry, BUNDLE, bundle);
    }
    let doing = || format!("write {}", entry.display());
    let fresh = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir_in(&store)
        .map_err(RegistryError::io(doing()))?;
    write_file(fresh.path(), COMPONENT, component)?;
    write_file(fresh.path(), BUNDLE, bundle)?;
    let publish = || -> io::Result<()> {
        // Whatever else has the name is no entry: a link or a file that somebody put there.
        remove(&entry)?;
        fs::rename(fresh.path(), &entry)?;
        sync_dir(&store)
    };
    publish().map_err(RegistryError::io(doing()))?;
    let _moved = fresh.keep();
    Ok(())
}

/// Removes what no tool of the lock refers to, and what a crash left. Call it only while holding the writer's lock.
/// While the lock file has damaged blocks, entries stay: one of them may belong to a block that a backup will bring
/// back.
pub(crate) fn sweep(home: &Home, lock: &LockFile) -> Result<(), RegistryError> {
    let wanted: BTreeSet<String> = lock.entries.iter().map(|entry| entry.component.hex()).collect();
    let sweep_all = || -> io::Result<()> {
        for found in fs::read_dir(home.store())? {
            let found = found?;
            let name = found.file_name().to_string_lossy().into_owned();
            if name.starts_with(TEMPORARY) || (lock.damaged.is_empty() && !wanted.contains(&name)) {
                remove(&found.path())?;
            }
        }
        for dir in [home.root().to_owned(), home.policies(), home.trust(), home.keys()] {
            for found in fs::read_dir(dir)? {
                let found = found?;
                if found.file_name().to_string_lossy().starts_with(TEMPORARY) {
                    remove(&found.path())?;
                }
            }
        }
        sync_dir(&home.store())
    };
    sweep_all().map_err(RegistryError::io("sweep the store"))
}

// A link is removed, never what it points to.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

const COMPONENT: &str = "component.wasm";
const BUNDLE: &str = "bundle.json";
