//! How is a file read so that it is the one that was meant, and written so that a crash leaves the old or the new one?
//!
//! Below the home, no link is followed on the way: each directory is opened from the one before it, so that nobody can
//! swap a directory for a link between a check and a read. What is read is read once, into memory, up to a limit.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
};

use rustix::fs::{Mode, OFlags, open, openat};

use crate::{RegistryError, Said};

/// Who may have written a file that is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Privacy {
    /// Anyone but "others": editors leave group bits, a world-writable file is nobody's word.
    OwnedDocument,
    /// The owner alone may even read it.
    Secret,
}

/// Reads `parts` below the home. `None` when the last part is not there.
pub(crate) fn read_below(
    root: &Path,
    parts: &[&str],
    bytes_max: usize,
    privacy: Privacy,
) -> Result<Option<Vec<u8>>, RegistryError> {
    let name = parts.join("/");
    let doing = || format!("read {name}");
    let file = match open_below(root, parts) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(RegistryError::io(doing()))?,
    };
    let mode = file.metadata().map_err(RegistryError::io(doing()))?.mode();
    let (open_to_others, what) = match privacy {
        Privacy::OwnedDocument => (mode & 0o002 != 0, "anyone may write it"),
        Privacy::Secret => (mode & 0o077 != 0, "others may read it"),
    };
    if open_to_others {
        let path = root.join(&name);
        let help = format!("chmod go-rwx {}", path.display());
        return Err(RegistryError::Untrusted(Said::new(format!("{name} is not used: {what}")).help(help)));
    }
    read_all(file, &name, bytes_max).map(Some)
}

/// Reads a file that the user named, through links as the user would expect. `None` when it is not there.
pub(crate) fn read_named(path: &Path, bytes_max: usize) -> Result<Option<Vec<u8>>, RegistryError> {
    let shown = path.display().to_string();
    // Not blocking: a pipe without a writer would otherwise wait for ever.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match open(path, flags, Mode::empty()).map_err(io::Error::from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => File::from(other.map_err(RegistryError::io(format!("open {shown}")))?),
    };
    read_all(file, &shown, bytes_max).map(Some)
}

/// Replaces `name` in `dir`: all of it, or nothing after a crash. Only the owner can read it.
pub(crate) fn write_file(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), RegistryError> {
    write_with_mode(dir, name, bytes, 0o600)
}

/// Replaces `name` in `dir`, readable as the umask says: for what is meant to be published.
pub(crate) fn write_published_file(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), RegistryError> {
    write_with_mode(dir, name, bytes, 0o644)
}

fn write_with_mode(dir: &Path, name: &str, bytes: &[u8], mode: u32) -> Result<(), RegistryError> {
    let write = || -> io::Result<()> {
        let temporary = temporary_with(dir, bytes, mode)?;
        temporary.persist(dir.join(name)).map_err(|e| e.error)?;
        sync_dir(dir)
    };
    write().map_err(RegistryError::io(format!("write {}", dir.join(name).display())))
}

/// Writes `name` in `dir` unless it is there, and tells whether it wrote.
pub(crate) fn write_new_file(dir: &Path, name: &str, bytes: &[u8]) -> Result<bool, RegistryError> {
    let write = || -> io::Result<bool> {
        let temporary = temporary_with(dir, bytes, 0o600)?;
        match temporary.persist_noclobber(dir.join(name)) {
            Ok(_) => sync_dir(dir).map(|()| true),
            Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(e) => Err(e.error),
        }
    };
    write().map_err(RegistryError::io(format!("write {}", dir.join(name).display())))
}

/// Removes `name` from `dir` and tells whether it was there.
pub(crate) fn remove_file(dir: &Path, name: &str) -> Result<bool, RegistryError> {
    let doing = || format!("remove {}", dir.join(name).display());
    match fs::remove_file(dir.join(name)) {
        Ok(()) => sync_dir(dir).map(|()| true).map_err(RegistryError::io(doing())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(RegistryError::io(doing())(error)),
    }
}

/// Makes renames and removals in `dir` survive a power loss.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Begins the name of everything that is not yet, or no longer, part of the home; what a crash leaves is swept.
pub(crate) const TEMPORARY: &str = ".tmp-";

fn open_below(root: &Path, parts: &[&str]) -> io::Result<File> {
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let (name, folders) = parts.split_last().ok_or(io::ErrorKind::InvalidInput)?;
    let mut dir = open(root, directory, Mode::empty())?;
    for folder in folders {
        dir = openat(&dir, *folder, directory | OFlags::NOFOLLOW, Mode::empty())?;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(openat(&dir, *name, flags, Mode::empty())?))
}

fn read_all(file: File, name: &str, bytes_max: usize) -> Result<Vec<u8>, RegistryError> {
    let found = file.metadata().map_err(RegistryError::io(format!("read {name}")))?;
    if !found.is_file() {
        return Err(RegistryError::Usage(Said::new(format!("{name} is no regular file"))));
    }
    let mut bytes = Vec::new();
    // One byte past the limit tells "too large" from "exactly the limit", whatever the size claimed to be.
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut bytes).map_err(RegistryError::io(format!("read {name}")))?;
    if bytes.len() > bytes_max {
        return Err(RegistryError::Limit(Said::new(format!("{name} has more than {bytes_max} bytes"))));
    }
    Ok(bytes)
}

fn temporary_with(dir: &Path, bytes: &[u8], mode: u32) -> io::Result<tempfile::NamedTempFile> {
    let permissions = fs::Permissions::from_mode(mode);
    let mut temporary = tempfile::Builder::new().prefix(TEMPORARY).permissions(permissions).tempfile_in(dir)?;
    temporary.write_all(bytes)?;
    temporary.as_file().sync_all()?;
    Ok(temporary)
}
