//! How is a path below a directory reached without leaving it? Step by step, by descriptor, following no link.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat, chmod, fchmod, fchown, fstat, openat, renameat_with,
        statat,
    },
    io::Errno,
    process::{Gid, Uid, geteuid},
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

/// A directory that was opened, and the mode that it had if it had to be changed for that.
pub(super) struct Entered {
    pub dir: OwnedFd,
    pub was: Option<Mode>,
}

/// Opens the directory `name` in `dir`. One of our own that is closed to ourselves is opened up first: a program of the
/// same user can close a directory and open it again.
///
/// # Errors
/// It is not there, is a link, or stays closed.
pub(super) fn enter(dir: BorrowedFd<'_>, name: &Path) -> io::Result<Entered> {
    let handle = openat(dir, name, OPEN_DIRECTORY.union(OFlags::PATH), Mode::empty())?;
    let about = fstat(&handle)?;
    let mode = Mode::from_raw_mode(about.st_mode & 0o7777);
    let user = geteuid();
    let closed = !mode.contains(Mode::RUSR | Mode::XUSR);
    if user.is_root() || !closed || about.st_uid != user.as_raw() {
        return Ok(Entered { dir: openat(dir, name, OPEN_DIRECTORY, Mode::empty())?, was: None });
    }
    // By its descriptor, so that nothing put in its place meanwhile is changed instead.
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    chmod(path, mode | Mode::RWXU).map_err(|_| io::ErrorKind::PermissionDenied)?;
    Ok(Entered { dir: openat(&handle, ".", OPEN_DIRECTORY, Mode::empty())?, was: Some(mode) })
}

/// Makes a directory that is open already ours to read and change, when it is ours at all; gives the mode that it had.
///
/// # Errors
/// The disk refuses.
pub(super) fn open_up(dir: BorrowedFd<'_>) -> io::Result<Option<Mode>> {
    let about = fstat(dir)?;
    let mode = Mode::from_raw_mode(about.st_mode & 0o7777);
    let user = geteuid();
    if user.is_root() || mode.contains(Mode::RWXU) || about.st_uid != user.as_raw() {
        return Ok(None);
    }
    fchmod(dir, mode | Mode::RWXU)?;
    Ok(Some(mode))
}

/// Whether what stands at `name` is ours, so that a program of ours may have made it what it is.
pub(super) fn is_ours(dir: BorrowedFd<'_>, name: &Path) -> bool {
    let user = geteuid();
    // A server of files may refuse root what it grants to users.
    user.is_root() || stat(dir, name).is_ok_and(|about| about.st_uid == user.as_raw())
}

/// What may still be read in one look.
pub(super) struct Budget {
    /// Entries that are remembered.
    pub entries: usize,
    /// Names that are passed over.
    pub names: usize,
    /// True once there was more.
    pub cut: bool,
}

/// The entries of a directory that are directories or whose name is `wanted`, read without looking at the files.
///
/// # Errors
/// It cannot be read.
pub(super) fn entries(dir: BorrowedFd<'_>, wanted: fn(&[u8]) -> bool, budget: &mut Budget) -> io::Result<Vec<Entry>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if bytes == b"." || bytes == b".." {
            continue;
        }
        let path = Path::new(OsStr::from_bytes(bytes));
        let kind = match entry.file_type() {
            FileType::Unknown => FileType::from_raw_mode(stat(dir, path)?.st_mode),
            kind => kind,
        };
        let left = if kind == FileType::Directory || wanted(bytes) { &mut budget.entries } else { &mut budget.names };
        let Some(rest) = left.checked_sub(1) else {
            budget.cut = true;
            // What was found so far is looked at all the same.
            return Ok(found);
        };
        *left = rest;
        if kind == FileType::Directory || wanted(bytes) {
            found.push(Entry { name: path.to_path_buf(), kind });
        }
    }
    Ok(found)
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
    if geteuid().is_root() {
        let about = fstat(dir)?;
        fchown(file, Some(Uid::from_raw(about.st_uid)), Some(Gid::from_raw(about.st_gid)))?;
    }
    Ok(())
}

/// Renames `name` to `name.blocked`, or the next free number, and says which.
///
/// # Errors
/// The disk refuses, or all numbers are taken.
pub(super) fn put_aside(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<PathBuf> {
    // A program may have taken the right to change the directory away from its own user.
    open_up(dir)?;
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
