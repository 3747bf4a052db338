//! How is a channel? What `status` shows of it, written by its actor and read by anybody.

use std::sync::{Mutex, MutexGuard, PoisonError};

use chitin_ports::{ChannelState, ChannelStatus};

use super::door::ChannelConfig;

/// One channel's line of `status`.
pub(super) struct Standing(Mutex<ChannelStatus>);

impl Standing {
    /// A channel that was not started yet.
    pub(super) fn new(config: &ChannelConfig) -> Self {
        Self(Mutex::new(ChannelStatus {
            name: config.name.clone(),
            tool: config.tool.to_string(),
            state: ChannelState::Stopped,
            last_error: None,
            restarts: 0,
        }))
    }

    /// What `status` shows.
    pub(super) fn read(&self) -> ChannelStatus {
        self.lock().clone()
    }

    /// It runs, after so many starts before. Why it last broke stays to be read.
    pub(super) fn runs(&self, restarts: u64) {
        let mut status = self.lock();
        status.state = ChannelState::Running;
        status.restarts = restarts;
    }

    /// It does not run, for this reason. Whether that is news.
    pub(super) fn stands_still(&self, state: ChannelState, reason: &str) -> bool {
        let mut status = self.lock();
        let news = status.state != state || status.last_error.as_deref() != Some(reason);
        status.state = state;
        status.last_error = Some(reason.to_owned());
        news
    }

    /// It runs, and something went wrong all the same.
    pub(super) fn complains(&self, reason: &str) {
        self.lock().last_error = Some(reason.to_owned());
    }

    fn lock(&self) -> MutexGuard<'_, ChannelStatus> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
