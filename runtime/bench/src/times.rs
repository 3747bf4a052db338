//! What is said about many times of one thing? The median, which stands for the run, and the least, which the machine's
//! other work disturbed least.

use std::time::Duration;

/// Times of one thing, in any order.
#[derive(Debug, Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    /// One more.
    pub(crate) fn add(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// The middle one; zero when there is none.
    pub(crate) fn median(&self) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }

    /// The least one; zero when there is none.
    pub(crate) fn least(&self) -> Duration {
        self.0.iter().min().copied().unwrap_or_default()
    }
}

/// Microseconds.
pub(crate) fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Milliseconds.
pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
