//! Who stands before a channel's instance? Requests from outside are checked here, on the task of whoever brought them, and
//! only what is let in takes a place in the queue.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chitin_package::ChannelAsk;
use chitin_ports::{AuditEntry, AuditKind, ChannelError, ChannelStatus, HttpIn, HttpOut, Outbound};
use chitin_types::Secret;
use tokio::sync::{mpsc, oneshot};

use super::{
    check,
    door::{ChannelConfig, Shared},
    live::{Did, Work},
    replay::{Claim, Replays, Stamp},
    standing::Standing,
};

/// Work for the instance, and where its result goes.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) reply: oneshot::Sender<Result<Did, ChannelError>>,
}

/// One channel, seen from outside.
pub(super) struct Desk {
    config: ChannelConfig,
    shared: Arc<Shared>,
    standing: Arc<Standing>,
    jobs: mpsc::Sender<Job>,
    memory: Mutex<Memory>,
}

/// What is remembered from one request to the next.
#[derive(Default)]
struct Memory {
    replays: Replays,
    refusals: Refusals,
}

/// Refusals that were written into the audit in one minute.
#[derive(Debug, Default)]
struct Refusals {
    minute: u64,
    written: u32,
    unwritten: u64,
}

impl Desk {
    /// The desk, and the end of the queue from which its actor takes.
    pub(super) fn new(
        config: ChannelConfig,
        shared: Arc<Shared>,
        standing: Arc<Standing>,
    ) -> (Self, mpsc::Receiver<Job>) {
        let (jobs, queue) = mpsc::channel(JOBS_MAX);
        (Self { config, shared, standing, jobs, memory: Mutex::default() }, queue)
    }

    /// The channel's line of `status`.
    pub(super) fn status(&self) -> ChannelStatus {
        self.standing.read()
    }

    /// Checks a request and hands it over.
    pub(super) async fn on_http(&self, mut request: HttpIn) -> Result<HttpOut, ChannelError> {
        let tool = self.shared.parts.source.channel(&self.config.tool).await.map_err(|error| {
            // Not louder: strangers decide how often, and the actor has warned.
            tracing::debug!(channel = %self.config.name, %error, "a request came for a channel that cannot run");
            unavailable()
        })?;
        let claimed = match self.check(&tool.ask, &mut request).await {
            Ok(claimed) => claimed,
            Err(refusal) => {
                self.note_refusal(&request.route, &refusal);
                return Err(refusal);
            }
        };
        let rule = format!("webhook:{}", request.route);
        self.shared.note(AuditEntry::new(AuditKind::Auth, &self.config.name, "allow").rule(rule));
        match self.hand_over(Work::Http(request)).await? {
            Did::Answered(reply) => {
                if reply.status < 500 {
                    claimed.keep();
                }
                Ok(reply)
            }
            Did::Ticked(_) | Did::Sent(_) => Err(ChannelError::Refused("it did something else".to_owned())),
        }
    }

    /// Hands an answer over.
    pub(super) async fn send(&self, message: Outbound) -> Result<String, ChannelError> {
        match self.hand_over(Work::Send(message)).await? {
            Did::Sent(id) => Ok(id),
            Did::Ticked(_) | Did::Answered(_) => Err(ChannelError::Refused("it did something else".to_owned())),
        }
    }

    /// Lets a request in, without its credentials, or says why not.
    async fn check(&self, ask: &ChannelAsk, request: &mut HttpIn) -> Result<Claimed<'_>, ChannelError> {
        let route = check::route(ask, request)?;
        let secret = self.secret().await?;
        let now_ms = self.shared.parts.clock.now_ms();
        let stamp = check::verify(&route.hmac, &secret, request, now_ms)?;
        if let Some(stamp) = &stamp {
            match lock(&self.memory).replays.claim(stamp, now_ms) {
                Claim::Fresh => {}
                Claim::Seen => return Err(ChannelError::Replay),
                Claim::Full => return Err(busy("it takes too many requests at once")),
            }
        }
        request.headers = check::without_credentials(&route.hmac, std::mem::take(&mut request.headers));
        Ok(Claimed { memory: &self.memory, stamp })
    }

    async fn secret(&self) -> Result<Secret, ChannelError> {
        self.shared.secret(&self.config).await.map_err(|reason| {
            tracing::debug!(channel = %self.config.name, reason, "a request came that cannot be checked");
            unavailable()
        })
    }

    async fn hand_over(&self, work: Work) -> Result<Did, ChannelError> {
        let (reply, result) = oneshot::channel();
        let job = Job { work, reply };
        match tokio::time::timeout(PLACE_WAIT, self.jobs.send(job)).await {
            Ok(Ok(())) => result.await.unwrap_or_else(|_| Err(busy("the daemon is stopping"))),
            Ok(Err(_)) => Err(busy("the daemon is stopping")),
            Err(_) => Err(busy("its queue is full")),
        }
    }

    fn note_refusal(&self, route: &str, refusal: &ChannelError) {
        let rule = match refusal {
            ChannelError::NoRoute => "webhook:route",
            ChannelError::BadSignature => "webhook:signature",
            ChannelError::Replay => "webhook:replay",
            ChannelError::TooLarge { .. } => "webhook:size",
            ChannelError::NotReady { .. } | ChannelError::Refused(_) => "webhook:ready",
        };
        let now_ms = self.shared.parts.clock.now_ms();
        let Some(unwritten) = lock(&self.memory).refusals.take(now_ms) else { return };
        let route = crate::capability::plain::plain(route, ROUTE_BYTES_MAX);
        let detail =
            serde_json::json!({ "route": route, "reason": refusal.to_string(), "unwritten_before": unwritten });
        self.shared.note(AuditEntry::new(AuditKind::Auth, &self.config.name, "deny").rule(rule).detail(detail));
    }
}

/// A request that was let in. Dropped, it was not taken after all and may come again as it is: its sender saw no answer, or
/// one that asks to come back. A message that was stored all the same is told by its id.
struct Claimed<'a> {
    memory: &'a Mutex<Memory>,
    stamp: Option<Stamp>,
}

impl Claimed<'_> {
    /// It was taken: the same request is a replay from now on.
    fn keep(mut self) {
        self.stamp = None;
    }
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        if let Some(stamp) = &self.stamp {
            lock(self.memory).replays.release(stamp);
        }
    }
}

fn lock(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Refusals {
    /// Whether one more is written, and how many were not since the last that was.
    fn take(&mut self, now_ms: u64) -> Option<u64> {
        let minute = now_ms / 60_000;
        if minute != self.minute {
            (self.minute, self.written) = (minute, 0);
        }
        if self.written >= REFUSALS_EACH_MINUTE {
            self.unwritten = self.unwritten.saturating_add(1);
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.unwritten))
    }
}

/// Says to somebody who has not proven who they are only that it is not their fault.
fn unavailable() -> ChannelError {
    let reason = "it cannot run; `chitin status` says why".to_owned();
    ChannelError::NotReady { reason, retry_after_ms: UNAVAILABLE_MS }
}

fn busy(reason: &str) -> ChannelError {
    ChannelError::NotReady { reason: reason.to_owned(), retry_after_ms: BUSY_MS }
}

/// Callbacks that wait for one instance; more would be answered after their senders gave up.
const JOBS_MAX: usize = 64;
/// The longest wait for a place in the queue.
const PLACE_WAIT: std::time::Duration = std::time::Duration::from_secs(10);
/// When to come back to a channel that somebody has to set up first.
const UNAVAILABLE_MS: u64 = 60_000;
/// When to come back to a channel that is busy.
const BUSY_MS: u64 = 1_000;
/// Refused requests of one minute in the audit; a flood of bad signatures must not fill the disk. The rest is counted.
const REFUSALS_EACH_MINUTE: u32 = 60;
/// Longest name of a route in the audit; a stranger chooses it.
const ROUTE_BYTES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_is_counted_and_not_written() {
        let mut refusals = Refusals::default();
        let written = (0..1_000).filter(|_| refusals.take(60_000).is_some()).count();
        assert_eq!(written, 60);
        assert_eq!(refusals.take(120_000), Some(940), "the next minute tells how many there were");
        assert_eq!(refusals.take(120_001), Some(0));
    }
}
