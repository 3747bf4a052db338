//! How is a path below a directory reached without leaving it? Step by step, by descriptor, following no link.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fchown, openat, renameat_with, statat},
    io::Errno,
    process::{Gid, Uid},
};

/// One entry of a directory.
pub(super) struct Entry {
    pub name: PathBuf,
    pub kind: FileType,
}

/// Opens the directory `path` below `root`; an empty path is `root` again.
///
/// # Errors
/// It is not there, or a part of it is a link.
pub(super) fn directory(root: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    let mut here = openat(root, ".", OPEN_DIRECTORY, Mode::empty())?;
    for part in path.components() {
        let Component::Normal(name) = part else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        here = openat(&here, name, OPEN_DIRECTORY, Mode::empty())?;
    }
    Ok(here)
}

/// The directory that holds the last part of `path`, and that part.
///
/// # Errors
/// As for [`directory`].
pub(super) fn parent<'p>(root: BorrowedFd<'_>, path: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((directory(root, path.parent().unwrap_or(Path::new("")))?, name))
}

/// The entries of a directory, at most `most`; the flag tells that there are more.
///
/// # Errors
/// It cannot be read.
pub(super) fn entries(dir: BorrowedFd<'_>, most: usize) -> io::Result<(Vec<Entry>, bool)> {
    let mut found = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if bytes == b"." || bytes == b".." {
            continue;
        }
        if found.len() == most {
            return Ok((found, true));
        }
        let name = PathBuf::from(OsStr::from_bytes(bytes));
        let kind = match entry.file_type() {
            FileType::Unknown => FileType::from_raw_mode(stat(dir, &name)?.st_mode),
            kind => kind,
        };
        found.push(Entry { name, kind });
    }
    Ok((found, false))
}

/// What stands at `name`, links not followed.
///
/// # Errors
/// Nothing stands there.
pub(super) fn stat(dir: BorrowedFd<'_>, name: &Path) -> io::Result<Stat> {
    Ok(statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// The content of a regular file, when it is no longer than `most`.
///
/// # Errors
/// It is no regular file, or cannot be read.
pub(super) fn read(dir: BorrowedFd<'_>, name: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    // Without blocking: a pipe of that name must not hold the helper.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(dir, name, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((u64::try_from(bytes.len()).unwrap_or(u64::MAX) <= most).then_some(bytes))
}

/// Makes a file that was not there, with the owner of its directory.
///
/// # Errors
/// Something stands there, or the disk refuses.
pub(super) fn write_new(dir: BorrowedFd<'_>, name: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(dir, name, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(bytes)?;
    fchmod(&file, Mode::from_raw_mode(mode & 0o777))?;
    give_to_owner_of(dir, file.as_fd())
}

/// Gives a file to whoever has the directory; only root can, and only root needs to.
///
/// # Errors
/// The disk refuses.
pub(super) fn give_to_owner_of(dir: BorrowedFd<'_>, file: BorrowedFd<'_>) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        let about = rustix::fs::fstat(dir)?;
        fchown(file, Some(Uid::from_raw(about.st_uid)), Some(Gid::from_raw(about.st_gid)))?;
    }
    Ok(())
}

/// Renames `name` to `name.blocked`, or the next free number, and says which.
///
/// # Errors
/// The disk refuses, or all numbers are taken.
pub(super) fn put_aside(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<PathBuf> {
    for number in 1..=ASIDE_MAX {
        let mut aside = name.to_os_string();
        aside.push(if number == 1 { ".blocked".to_owned() } else { format!(".blocked.{number}") });
        match renameat_with(dir, name, dir, &aside, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(aside.into()),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// How a directory is opened: itself, never what a link in its place points to.
pub(super) const OPEN_DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Names that are tried for one file that is put aside; a program could make them all beforehand.
const ASIDE_MAX: u32 = 200;
