//! How does a user without files own a workspace? By a mount that shows the owner's files as that user's.
//!
//! A mount can be given a user namespace in which "owner on disk" stands for "dropped user"; whatever the dropped user
//! makes through it belongs to the owner on disk. Nothing on disk changes hands, and nothing outside the mount is
//! touched. The namespace only exists as a file of a process that does nothing.

use std::{
    fs, io,
    os::fd::OwnedFd,
    process::{Command, Stdio},
};

use super::entry::{HELPER_ARG, HOLD};
use crate::raw;

/// Owner and group of something on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub user: u32,
    pub group: u32,
}

/// A user namespace in which `owner` on disk is `to` for the program.
///
/// # Errors
/// The kernel refuses user namespaces or their maps.
pub(super) fn namespace(owner: Owner, to: u32) -> io::Result<OwnedFd> {
    let mut command = Command::new("/proc/self/exe");
    command.args([HELPER_ARG, HOLD]).env_clear().stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    raw::before_exec(&mut command, raw::own_users);
    let mut holder = command.spawn()?;
    let pid = holder.id();
    let mapped = fs::write(format!("/proc/{pid}/uid_map"), format!("{} {to} 1", owner.user))
        .and_then(|()| fs::write(format!("/proc/{pid}/gid_map"), format!("{} {to} 1", owner.group)))
        .and_then(|()| fs::File::open(format!("/proc/{pid}/ns/user")));
    // Closing its input ends the holder; the descriptor keeps the namespace.
    drop(holder.stdin.take());
    holder.wait()?;
    Ok(mapped?.into())
}

/// Waits until standard input ends.
///
/// # Errors
/// It cannot be read.
pub(super) fn hold() -> io::Result<()> {
    io::copy(&mut io::stdin().lock(), &mut io::sink()).map(|_| ())
}
