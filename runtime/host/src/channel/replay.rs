//! Was this very request taken before? Signatures of checked requests, each kept until its signed time is too old anyway.
//!
//! Only requests whose signature is right come this far, so nobody without the secret can fill it. It lives in memory: after
//! a restart the inbox still drops a message whose id it has seen.

use std::collections::HashMap;

/// What a checked request with a signed time is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Its signature, which covers time and body.
    pub(super) signature: [u8; 32],
    /// Milliseconds since 1970 from which the time itself is too old.
    pub(super) expires_ms: u64,
}

/// What is known about a stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// Never seen; it is now.
    Fresh,
    /// Seen before.
    Seen,
    /// There is no room to remember it, so it must not be taken.
    Full,
}

/// The requests of one channel that were taken.
#[derive(Debug, Default)]
pub(super) struct Replays {
    seen: HashMap<[u8; 32], u64>,
    sweep_at_ms: u64,
}

impl Replays {
    /// Takes a request, once.
    pub(super) fn claim(&mut self, stamp: &Stamp, now_ms: u64) -> Claim {
        if now_ms >= self.sweep_at_ms || self.seen.len() >= STAMPS_MAX {
            self.seen.retain(|_, expires_ms| *expires_ms > now_ms);
            self.sweep_at_ms = now_ms.saturating_add(SWEEP_MS);
        }
        if self.seen.contains_key(&stamp.signature) {
            return Claim::Seen;
        }
        if self.seen.len() >= STAMPS_MAX {
            return Claim::Full;
        }
        self.seen.insert(stamp.signature, stamp.expires_ms);
        Claim::Fresh
    }

    /// Gives a request back that was not taken after all, so that it can be sent again as it is.
    pub(super) fn release(&mut self, stamp: &Stamp) {
        self.seen.remove(&stamp.signature);
    }
}

/// Requests remembered for one channel, 3 MiB; dropping one to make room would let it be replayed.
const STAMPS_MAX: usize = 65_536;
/// Between two looks at all of them: a look at every request would make the work grow with their number.
const SWEEP_MS: u64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(number: u32, expires_ms: u64) -> Stamp {
        let mut signature = [0; 32];
        signature[..4].copy_from_slice(&number.to_be_bytes());
        Stamp { signature, expires_ms }
    }

    #[test]
    fn the_same_request_is_taken_once_and_another_one_is_taken() {
        let mut replays = Replays::default();
        assert_eq!(replays.claim(&stamp(1, 600), 0), Claim::Fresh);
        assert_eq!(replays.claim(&stamp(1, 600), 1), Claim::Seen);
        assert_eq!(replays.claim(&stamp(2, 600), 1), Claim::Fresh);
    }

    #[test]
    fn a_request_that_was_not_taken_can_come_again() {
        let mut replays = Replays::default();
        assert_eq!(replays.claim(&stamp(1, 600), 0), Claim::Fresh);
        replays.release(&stamp(1, 600));
        assert_eq!(replays.claim(&stamp(1, 600), 0), Claim::Fresh);
    }

    #[test]
    fn memory_is_bounded_and_nothing_that_still_counts_is_forgotten() {
        let mut replays = Replays::default();
        for number in 0..u32::try_from(STAMPS_MAX).expect("the limit fits") {
            assert_eq!(replays.claim(&stamp(number, 600), 0), Claim::Fresh);
        }
        assert_eq!(replays.claim(&stamp(u32::MAX, 600), 1), Claim::Full);
        assert_eq!(replays.claim(&stamp(0, 600), 1), Claim::Seen);
        assert_eq!(replays.claim(&stamp(u32::MAX, 9_999), 600), Claim::Fresh, "what expired made room");
        assert_eq!(replays.seen.len(), 1);
    }
}
