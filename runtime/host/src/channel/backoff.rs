//! How long does a channel that broke wait? Twice as long each time, up to a limit, and short again once it was healthy.

/// The waits of a channel that breaks again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// After the first time, in milliseconds.
    pub first_ms: u64,
    /// The longest wait, in milliseconds.
    pub max_ms: u64,
    /// An instance that lived this long, in milliseconds, was healthy: the count begins anew.
    pub healthy_ms: u64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first_ms: FIRST_MS, max_ms: MAX_MS, healthy_ms: HEALTHY_MS }
    }
}

/// How often a channel broke in a row.
#[derive(Debug)]
pub(super) struct Failures {
    backoff: Backoff,
    in_a_row: u32,
}

impl Failures {
    /// None so far.
    pub(super) fn none(backoff: Backoff) -> Self {
        Self { backoff, in_a_row: 0 }
    }

    /// It broke after living for `lived_ms`; the milliseconds to wait.
    pub(super) fn broke(&mut self, lived_ms: u64) -> u64 {
        if lived_ms >= self.backoff.healthy_ms {
            self.in_a_row = 0;
        }
        let wait_ms = self.backoff.first_ms.saturating_mul(1_u64 << self.in_a_row.min(DOUBLINGS_MAX));
        self.in_a_row = self.in_a_row.saturating_add(1);
        wait_ms.min(self.backoff.max_ms)
    }
}

/// A platform that is restarted is back after a few seconds.
const FIRST_MS: u64 = 2_000;
/// A component that cannot run must not use up a processor by starting, and a platform that is back must not wait long.
const MAX_MS: u64 = 60_000;
/// Shorter than this and a component that breaks every few seconds would count as healthy.
const HEALTHY_MS: u64 = 60_000;
/// Keeps the shift inside of 64 bits, whatever the first wait is.
const DOUBLINGS_MAX: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_begin_anew_after_a_healthy_life() {
        let mut failures = Failures::none(Backoff::default());
        let waits: Vec<u64> = (0..7).map(|_| failures.broke(0)).collect();
        assert_eq!(waits, [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(failures.broke(HEALTHY_MS - 1), 60_000, "not quite a healthy life");
        assert_eq!([failures.broke(HEALTHY_MS), failures.broke(0)], [2_000, 4_000]);
    }

    #[test]
    fn no_number_of_failures_overflows() {
        let mut failures = Failures::none(Backoff { first_ms: u64::MAX / 2, max_ms: u64::MAX, healthy_ms: u64::MAX });
        for _ in 0..100 {
            assert!(failures.broke(0) >= u64::MAX / 2);
        }
    }
}
