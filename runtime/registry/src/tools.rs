//! Where does the lock lie, and how is it replaced? The file below the home; `package` knows what is in it.

use chitin_package::{LOCK_BYTES_MAX, LockFile};

use crate::{
    Home, HomeKey, RegistryError,
    disk::{Privacy, read_below, write_file},
};

/// Everything that `tools.lock` holds, damaged blocks set apart. A home without the file has no tools.
///
/// # Errors
/// The file cannot be read at all.
pub fn installed(home: &Home, key: &HomeKey) -> Result<LockFile, RegistryError> {
    Ok(LockFile::parse(&read_bytes(home)?, key.bytes()))
}

/// The bytes of the file; none when it is not there.
pub(crate) fn read_bytes(home: &Home) -> Result<Vec<u8>, RegistryError> {
    Ok(read_below(home.root(), &[FILE], LOCK_BYTES_MAX, Privacy::OwnedDocument)?.unwrap_or_default())
}

/// Replaces the file. Call it only while holding the writer's lock.
pub(crate) fn save(home: &Home, key: &HomeKey, lock: &LockFile) -> Result<(), RegistryError> {
    write_file(home.root(), FILE, &lock.to_bytes(key.bytes()))
}

const FILE: &str = "tools.lock";
