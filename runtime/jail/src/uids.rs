//! As whom does a program run when the daemon is root? As a user that nobody else is, for the time of one call.
//!
//! The range is the one that systemd keeps for users without an entry anywhere (61184 to 65519), so no file of the
//! machine belongs to one of them and no login has it.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    sync::{Arc, Mutex, PoisonError},
};

/// The users that calls of this process hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Uids(Arc<Mutex<BTreeSet<u32>>>);

/// One user, until dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    uid: u32,
    of: Uids,
}

impl Uids {
    /// A user that no call and no process of this machine is; `None` when the range is exhausted.
    pub(crate) fn take(&self) -> Option<Lease> {
        let running = running();
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let span = LAST - FIRST + 1;
        // Two daemons on one machine start their search at different places.
        let start = std::process::id() % span;
        let uid = (0..span)
            .map(|step| FIRST + (start + step) % span)
            .find(|uid| !held.contains(uid) && !running.contains(uid))?;
        held.insert(uid);
        Some(Lease { uid, of: self.clone() })
    }
}

impl Lease {
    /// The number; the group has the same.
    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.of.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.uid);
    }
}

/// Users of the range that run something.
fn running() -> BTreeSet<u32> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return BTreeSet::new();
    };
    processes
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
        .filter_map(|entry| entry.metadata().ok().map(|of| of.uid()))
        .filter(|uid| (FIRST..=LAST).contains(uid))
        .collect()
}

/// First and last user of the range.
const FIRST: u32 = 61_184;
const LAST: u32 = 65_519;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_calls_never_share_a_user_and_a_finished_one_gives_it_back() {
        let uids = Uids::default();
        let one = uids.take().expect("a user");
        let two = uids.take().expect("a user");
        assert_ne!(one.uid(), two.uid());
        assert!((FIRST..=LAST).contains(&one.uid()));
        let first = one.uid();
        drop(one);
        assert_eq!(uids.take().expect("a user").uid(), first);
    }
}
