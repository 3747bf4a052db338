//! Who owns a channel's instance? One task, which starts it, gives it one callback after another, and starts it again when it
//! broke.
//!
//! ```text
//!              ┌─────────── found, granted, start said yes ───────────┐
//!   Stopped ───┤                                                      ├─→ Running ─ reached a limit, upgraded ─→ started
//!      ▲       └─ start said no, or broke ─→ BackedOff ─ time is up ──┘      │        anew before the next callback
//!      └── not found, no grant, no secret ─────────────────────────────────── ┴─ trapped, too late ─→ BackedOff
//! ```
//!
//! What it is and what it may do is asked for before each callback, so an upgrade or another grant needs no restart.

use std::{sync::Arc, time::Duration};

use chitin_ports::{AuditEntry, AuditKind, ChannelError, ChannelState, ChannelTool};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::{
    Side,
    backoff::Failures,
    desk::Job,
    door::{ChannelConfig, Shared},
    inbox::checked_cursor,
    live::{self, Did, Ended, Live, Work},
    standing::Standing,
};
use crate::capability::plain::plain;

/// What an actor is made from.
pub(super) struct Cast {
    pub(super) config: ChannelConfig,
    pub(super) shared: Arc<Shared>,
    pub(super) side: Arc<Side>,
    pub(super) standing: Arc<Standing>,
    pub(super) jobs: mpsc::Receiver<Job>,
    pub(super) closing: watch::Receiver<bool>,
}

/// The owner of one channel's instance.
pub(super) struct Actor {
    cast: Cast,
    live: Option<Live>,
    started_at: Instant,
    starts: u64,
    failures: Failures,
    /// Nothing is started before this, whoever asks.
    held_until: Option<Instant>,
    /// When it acts by itself: to start where there is no instance, else to tick.
    alarm: Option<Instant>,
}

enum Next {
    Close,
    Alarm,
    Job(Job),
}

impl Actor {
    /// An actor whose instance is not started yet.
    pub(super) fn new(cast: Cast) -> Self {
        let (now, failures) = (Instant::now(), Failures::none(cast.shared.backoff));
        Self { cast, live: None, started_at: now, starts: 0, failures, held_until: None, alarm: Some(now) }
    }

    /// Serves until the channels are closed or nobody can ask any more.
    pub(super) async fn serve(mut self) {
        loop {
            match self.next().await {
                Next::Close => return,
                Next::Alarm if self.live.is_some() => self.tick().await,
                Next::Alarm => self.start().await,
                Next::Job(job) => self.serve_job(job).await,
            }
        }
    }

    async fn next(&mut self) -> Next {
        let at = self.alarm;
        let alarm = async move {
            match at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let Cast { jobs, closing, .. } = &mut self.cast;
        tokio::select! {
            biased;
            () = closed(closing) => Next::Close,
            () = alarm => Next::Alarm,
            job = jobs.recv() => job.map_or(Next::Close, Next::Job),
        }
    }

    async fn serve_job(&mut self, job: Job) {
        let Job { work, reply } = job;
        // Whoever asked and went away asks again; doing it for nobody would only do it twice.
        if reply.is_closed() {
            return;
        }
        let result = self.work(work).await;
        if reply.send(result).is_err() {
            tracing::debug!(channel = %self.cast.config.name, "whoever asked did not wait for the answer");
        }
    }

    async fn start(&mut self) {
        match self.ready().await {
            Ok(live) => self.live = Some(live),
            Err(error) => tracing::debug!(channel = %self.cast.config.name, %error, "it was not started"),
        }
    }

    async fn tick(&mut self) {
        let name = self.cast.config.name.clone();
        self.set_tick(self.live.as_ref().and_then(Live::tick_s));
        let cursor = match self.cast.side.inbox.cursor(&name).await {
            Ok(cursor) => cursor,
            Err(error) => return self.cast.standing.complains(&format!("cannot read its cursor: {error}")),
        };
        match self.work(Work::Tick(cursor)).await {
            Ok(Did::Ticked(Some(cursor))) => self.cast.keep_cursor(&cursor).await,
            Ok(Did::Ticked(None) | Did::Answered(_) | Did::Sent(_)) => {}
            Err(error) => {
                tracing::warn!(channel = %name, %error, "a tick failed");
                // Without an instance the status already says why.
                if self.live.is_some() {
                    self.cast.standing.complains(&error.to_string());
                }
            }
        }
    }

    /// One callback, in an instance of what is installed and granted now.
    async fn work(&mut self, work: Work) -> Result<Did, ChannelError> {
        let live = self.ready().await?;
        let (live, ended) = live::callback(&self.cast.shared, &self.cast.side, live, work).await;
        let broke = matches!(ended, Ended::Broke(_));
        if live.is_none() && !broke {
            // It went on after a limit: what it did counts, and the next callback gets a new instance at once.
            self.note("replaced", &json!({ "reason": "it reached a limit" }));
            self.alarm = Some(Instant::now());
        }
        self.live = live;
        match ended {
            Ended::Did(did) => Ok(did),
            Ended::No(error) => Err(error),
            Ended::Broke(reason) => Err(self.broke(&reason)),
        }
    }

    /// The instance to call now, started if need be.
    async fn ready(&mut self) -> Result<Live, ChannelError> {
        let tool = match self.cast.find().await {
            Ok(tool) => tool,
            Err(reason) => return Err(self.stop(&reason)),
        };
        if let Some(live) = self.live.take() {
            if live.is_of(&tool) {
                return Ok(live);
            }
            self.note("replaced", &json!({ "reason": "its component or its grant changed" }));
        } else if let Some(left) = self.held_until.map(|until| until.saturating_duration_since(Instant::now()))
            && !left.is_zero()
        {
            return Err(not_ready("it broke and is started again later", left));
        }
        if let Err(reason) = self.cast.shared.check_secret(&self.cast.config, &tool).await {
            return Err(self.stop(&reason));
        }
        let component = tool.component;
        self.started_at = Instant::now();
        let live = match live::start(&self.cast.shared, &self.cast.side, tool).await {
            Ok(live) => live,
            Err(reason) => return Err(self.broke(&format!("it does not start: {reason}"))),
        };
        self.cast.standing.runs(self.starts);
        self.starts = self.starts.saturating_add(1);
        self.note("started", &json!({ "component": component.to_string(), "starts": self.starts }));
        (self.started_at, self.held_until) = (Instant::now(), None);
        self.set_tick(live.tick_s());
        Ok(live)
    }

    /// It cannot run until somebody changes something; looked at again now and then, and when somebody asks.
    fn stop(&mut self, reason: &str) -> ChannelError {
        self.live = None;
        self.held_until = None;
        self.alarm = Some(Instant::now() + LOOK_AGAIN);
        if self.cast.standing.stands_still(ChannelState::Stopped, reason) {
            self.note("stopped", &json!({ "reason": plain(reason, REASON_BYTES_MAX) }));
            tracing::warn!(channel = %self.cast.config.name, reason, "the channel cannot run");
        }
        not_ready("it cannot run; `chitin status` says why", LOOK_AGAIN)
    }

    /// It broke: it waits before it is started again.
    fn broke(&mut self, reason: &str) -> ChannelError {
        self.live = None;
        if *self.cast.closing.borrow() {
            return not_ready("the daemon is stopping", Duration::from_secs(1));
        }
        let lived_ms = u64::try_from(self.started_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let wait_ms = self.failures.broke(lived_ms);
        let wait = Duration::from_millis(wait_ms);
        let again = Instant::now() + wait;
        (self.held_until, self.alarm) = (Some(again), Some(again));
        let next_start_ms = self.cast.shared.parts.clock.now_ms().saturating_add(wait_ms);
        self.cast.standing.stands_still(ChannelState::BackedOff { next_start_ms }, reason);
        self.note("broke", &json!({ "reason": plain(reason, REASON_BYTES_MAX) }));
        self.note("backed-off", &json!({ "wait_ms": wait_ms }));
        tracing::warn!(channel = %self.cast.config.name, reason, wait_ms, "the channel broke");
        not_ready(reason, wait)
    }

    fn set_tick(&mut self, tick_s: Option<u32>) {
        self.alarm = tick_s.map(|s| Instant::now() + Duration::from_secs(u64::from(s)));
    }

    fn note(&self, verdict: &str, detail: &Value) {
        let Cast { config, shared, .. } = &self.cast;
        let detail = json!({ "tool": config.tool.to_string(), "what": detail });
        shared.note(AuditEntry::new(AuditKind::Channel, &config.name, verdict).detail(detail));
    }
}

// What waits here borrows no instance: a store cannot be shared between threads.
impl Cast {
    async fn find(&self) -> Result<ChannelTool, String> {
        let Self { config, shared, .. } = self;
        let tool = shared.parts.source.channel(&config.tool).await.map_err(|e| e.to_string())?;
        if tool.grants.component() != Some(tool.component) {
            return Err(format!("the grant of {} is bound to another component", config.tool));
        }
        Ok(tool)
    }

    async fn keep_cursor(&self, cursor: &str) {
        let (name, side) = (&self.config.name, &self.side);
        let kept = match checked_cursor(cursor) {
            Ok(()) => side.inbox.emit(name, &[], Some(cursor)).await.map(|_| ()).map_err(|e| e.to_string()),
            Err(why) => Err(why),
        };
        if let Err(why) = kept {
            tracing::warn!(channel = %name, why, "a cursor could not be kept");
            self.standing.complains(&why);
        }
    }
}

fn not_ready(reason: &str, wait: Duration) -> ChannelError {
    let retry_after_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    ChannelError::NotReady { reason: reason.to_owned(), retry_after_ms }
}

/// Ends when the channels are closed, also by being dropped.
async fn closed(closing: &mut watch::Receiver<bool>) {
    if closing.wait_for(|closed| *closed).await.is_err() {
        tracing::debug!("the channels were dropped without being closed");
    }
}

/// Between two looks at a channel that cannot run, for example because it is not installed.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// Longest reason in the audit; a component chooses its words.
const REASON_BYTES_MAX: usize = 512;
