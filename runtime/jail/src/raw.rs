//! Which steps cannot be said in safe Rust? All of them are in this file; each is one system call.

#![expect(unsafe_code, reason = "system calls that no safe wrapper offers, and the hook between fork and exec")]

use std::{
    io,
    os::{
        fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
        unix::process::CommandExt,
    },
    process::Command,
    ptr,
};

use rustix::{
    io::FdFlags,
    thread::{UnshareFlags, unshare_unsafe},
};

/// Closes every descriptor from `first` on, so that nothing that the daemon had open reaches the program.
///
/// # Errors
/// The kernel has no such call.
pub(crate) fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: the helper calls this first, before it opened or wrapped any descriptor from `first` on, so no owner of
    // one exists in this process. The call reads no memory of ours.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    check(result)
}

/// Takes a descriptor that this process inherited under a number it was told.
///
/// # Errors
/// It is not open.
pub(crate) fn adopt(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: `F_GETFD` reads and writes no memory.
    check(unsafe { libc::fcntl(fd, libc::F_GETFD) }.into())?;
    // SAFETY: it is open, as the line above showed, and the second start of the helper calls this once for each number
    // on its command line before it opens anything, so nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The flags of a descriptor by its number; `None` when it is not open.
pub(crate) fn flags_of(fd: RawFd) -> Option<FdFlags> {
    // SAFETY: `F_GETFD` reads and writes no memory, whatever the number is.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    u32::try_from(flags).ok().map(FdFlags::from_bits_retain)
}

/// Runs `step` in the child between fork and exec.
pub(crate) fn before_exec(command: &mut Command, step: impl FnMut() -> io::Result<()> + Send + Sync + 'static) {
    // SAFETY: the helper has one thread (its entry refuses to run otherwise), so no lock can be held by another thread
    // at the time of the fork, and the step may allocate.
    unsafe { command.pre_exec(step) };
}

/// Gives this process a mount namespace of its own.
///
/// # Errors
/// It may not.
pub(crate) fn own_mounts() -> io::Result<()> {
    // SAFETY: only the mount namespace is unshared; descriptors stay shared, which is what the call warns about.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.map_err(Into::into)
}

/// Gives this process a user namespace of its own.
///
/// # Errors
/// It may not.
pub(crate) fn own_users() -> io::Result<()> {
    // SAFETY: only the user namespace is unshared; descriptors stay shared, which is what the call warns about.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }.map_err(Into::into)
}

/// Makes a detached mount ignore set-user-id bits and devices, read-only unless told otherwise, and shifts its owners by
/// the user namespace when there is one.
///
/// # Errors
/// The file system does not know shifted owners, or the caller may not.
pub(crate) fn dress_mount(tree: BorrowedFd<'_>, dress: Dress, shift: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut set = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    if dress == Dress::ReadOnly {
        set |= libc::MOUNT_ATTR_RDONLY;
    }
    if shift.is_some() {
        set |= libc::MOUNT_ATTR_IDMAP;
    }
    let attr = libc::mount_attr {
        attr_set: set,
        attr_clr: 0,
        propagation: 0,
        userns_fd: shift.map_or(0, |fd| u64::from(fd.as_raw_fd().unsigned_abs())),
    };
    // SAFETY: the path is a literal that ends with NUL; `attr` lives until the call returns and its size is its own.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attr,
            size_of::<libc::mount_attr>(),
        )
    };
    check(result)
}

/// Whether a detached mount may be changed through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dress {
    /// Through it nothing can be changed.
    ReadOnly,
    /// Through it files can be changed as far as their modes allow.
    Writable,
}

/// The version of Landlock that the kernel speaks; 0 when it has none.
pub(crate) fn landlock_abi() -> u32 {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the kernel takes a null attribute of size 0 and answers a number.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u8>(), 0_usize, VERSION) };
    u32::try_from(version).unwrap_or(0)
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
