//! How does everything end that a program started? The helper is the reaper of all orphans below it, so it kills and reaps
//! until it has no child left.
//!
//! A kill of the process group would miss whoever called `setsid`; a process namespace ends with its first process, and
//! this waits for that end too.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait},
};

/// Takes one ended child off the kernel's list.
///
/// # Errors
/// `ECHILD`: there is none, alive or ended.
pub(super) fn reap() -> Result<Option<(Pid, WaitStatus)>, Errno> {
    wait(WaitOptions::NOHANG)
}

/// Ends everything below this process and returns when nothing is left; gives the status of `main` if it ends here.
pub(super) fn sweep(main: Pid) -> (Option<WaitStatus>, Swept) {
    let until = Instant::now() + SWEEP_MAX;
    let mut status = None;
    while Instant::now() < until {
        for pid in below(getpid()) {
            // Gone meanwhile is as good.
            let _ = kill_process(pid, Signal::KILL);
        }
        loop {
            match reap() {
                Ok(Some((pid, ended))) if pid == main => status = Some(ended),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return (status, Swept::Clean),
            }
        }
        std::thread::sleep(PAUSE);
    }
    (status, Swept::Survivors)
}

/// Whether anything outlived the sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swept {
    /// Nothing is left.
    Clean,
    /// Something could not be killed in time: it hangs in the kernel.
    Survivors,
}

/// Every process below `top`, at any depth.
fn below(top: Pid) -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok) {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if let Some(parent) = fs::read_to_string(entry.path().join("stat")).ok().as_deref().and_then(parent_of) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![top.as_raw_nonzero().get()];
    while let Some(parent) = open.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            open.push(child);
            found.extend(Pid::from_raw(child));
        }
    }
    found
}

/// The parent in a line of `/proc/<pid>/stat`. The name in brackets may hold anything, brackets and spaces too.
fn parent_of(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Between two rounds, so that killed processes can die.
const PAUSE: Duration = Duration::from_millis(1);
/// After this the helper reports survivors instead of waiting for ever for a process that hangs in the kernel.
const SWEEP_MAX: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_hide_the_parent() {
        let check = |stat: &str, expected: Option<i32>| assert_eq!(parent_of(stat), expected);
        check("12 (sh) S 7 12 12 0", Some(7));
        check("12 (a) S 1 (b) R 9 1 1", Some(9));
        check("12 (sh", None);
        check("", None);
    }
}
