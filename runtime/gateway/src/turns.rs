//! How does a turn run for a client? As a task of its own; its events wait for the client, who may be slow or gone.
//!
//! ```text
//!   begin ─→ task: Agent::handle ─→ feed (bounded) ─→ next ─→ JSON, server-sent events, WebSocket
//!              │ panics, takes too long                 │ dropped by a client who is gone
//!              └→ the feed ends with Failed             └→ the task is aborted, and with it what it called
//! ```

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::http::StatusCode;
use chitin_agent::{EventSink, Inbound, TurnEnd};
use chitin_types::Event;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit},
    task::AbortHandle,
    time::timeout,
};

use crate::{Gateway, metrics::Metrics, problem::Problem};

/// A turn that runs. Dropping it ends it.
pub(crate) struct Turn {
    feed: Arc<Feed>,
    task: AbortHandle,
}

/// What a turn gives next.
#[derive(Debug)]
pub(crate) enum Step {
    /// An event, never the last one.
    Event(Event),
    /// Its end; from then on always this.
    End(TurnEnd),
}

impl Turn {
    /// Starts a turn.
    pub(crate) fn begin(gateway: &Gateway, inbound: Inbound) -> Result<Self, Problem> {
        let full = || Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many turns are running").retry_after(1);
        let place = Arc::clone(&gateway.turns).try_acquire_owned().map_err(|_| full())?;
        let feed = Arc::new(Feed::new(Arc::clone(&gateway.parts.metrics)));
        let seat = Seat { feed: Arc::clone(&feed), _place: place };
        let agent = Arc::clone(&gateway.parts.agent);
        let task = tokio::spawn(async move {
            let late = |_| TurnEnd::Failed(format!("the turn took longer than {} s; ask for less", TURN_MAX.as_secs()));
            let end = timeout(TURN_MAX, agent.handle(inbound, &*seat.feed)).await.unwrap_or_else(late);
            seat.feed.end(end);
        });
        Ok(Self { feed, task: task.abort_handle() })
    }

    /// What comes next.
    pub(crate) async fn next(&self) -> Step {
        loop {
            let changed = self.feed.changed.notified();
            if let Some(step) = self.feed.take() {
                return step;
            }
            changed.await;
        }
    }

    /// Ends it where it stands, unless it has ended.
    pub(crate) fn abandon(&self) {
        self.feed.end(TurnEnd::Stopped("stopped before it began".to_owned()));
        self.task.abort();
    }

    /// How it ends, for a client that wants no events.
    pub(crate) async fn end(&self) -> TurnEnd {
        loop {
            match self.next().await {
                Step::Event(_) => {}
                Step::End(end) => return end,
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The one event that tells an end.
pub(crate) fn last_event(end: &TurnEnd) -> Event {
    match end {
        TurnEnd::Answered(text) | TurnEnd::Commanded(text) => Event::Done { text: text.clone() },
        TurnEnd::Stopped(text) | TurnEnd::Failed(text) => Event::Error { text: text.clone() },
    }
}

/// What the task holds; its feed has an end when it is gone, however that came about.
struct Seat {
    feed: Arc<Feed>,
    _place: OwnedSemaphorePermit,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.feed.end(TurnEnd::Failed("the turn broke off inside of chitin; the log says why".to_owned()));
    }
}

/// Events on their way to one client.
struct Feed {
    waiting: Mutex<Waiting>,
    changed: Notify,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<Event>,
    bytes: usize,
    left_out: usize,
    end: Option<TurnEnd>,
}

impl Feed {
    fn new(metrics: Arc<Metrics>) -> Self {
        Self { waiting: Mutex::default(), changed: Notify::new(), metrics }
    }

    /// Only the first end counts.
    fn end(&self, end: TurnEnd) {
        let mut waiting = self.waiting();
        if waiting.end.is_none() {
            self.metrics.observe(&last_event(&end));
            waiting.end = Some(end);
            self.changed.notify_one();
        }
    }

    fn take(&self) -> Option<Step> {
        let mut waiting = self.waiting();
        if let Some(event) = waiting.events.pop_front() {
            waiting.bytes = waiting.bytes.saturating_sub(size(&event));
            return Some(Step::Event(event));
        }
        match std::mem::take(&mut waiting.left_out) {
            0 => waiting.end.clone().map(Step::End),
            left_out => {
                let text = format!("{left_out} events were left out, because they were read too slowly");
                Some(Step::Event(Event::Notice { text }))
            }
        }
    }

    /// Nothing under this lock can be left half done.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSink for Feed {
    fn event(&self, event: Event) {
        if matches!(event, Event::Done { .. } | Event::Error { .. }) {
            // The end is told once, by the value that `handle` gives.
            return;
        }
        self.metrics.observe(&event);
        let mut waiting = self.waiting();
        let bytes = waiting.bytes.saturating_add(size(&event));
        if bytes > WAITING_BYTES_MAX {
            waiting.left_out += 1;
        } else {
            waiting.bytes = bytes;
            waiting.events.push_back(event);
        }
        self.changed.notify_one();
    }
}

/// About what an event takes in memory.
fn size(event: &Event) -> usize {
    let text = match event {
        Event::Chunk { text } | Event::Notice { text } | Event::Done { text } | Event::Error { text } => text.len(),
        Event::ToolCall { call, name, arguments } => call.len() + name.len() + arguments.len(),
        Event::ToolResult { call, outcome, text, help } => {
            call.len() + outcome.len() + text.len() + help.as_ref().map_or(0, String::len)
        }
        Event::ApprovalRequest { id, title, arguments, rule, .. } => {
            id.len() + title.len() + arguments.len() + rule.len()
        }
    };
    text + size_of::<Event>()
}

/// One turn from the first word to the last. A model that never ends would hold its place for ever.
const TURN_MAX: Duration = Duration::from_secs(1200);
/// Events that wait for one client. Someone who asks and does not read would otherwise fill the memory; the last event
/// has the whole answer, so that nothing of it is lost.
const WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(feed: &Feed) -> Vec<String> {
        let mut taken = Vec::new();
        loop {
            match feed.take() {
                Some(Step::Event(Event::Chunk { text })) => taken.push(format!("chunk {}", text.len())),
                Some(Step::Event(Event::Notice { text })) => taken.push(text),
                Some(Step::Event(other)) => panic!("{other:?}"),
                Some(Step::End(end)) => {
                    taken.push(format!("{end:?}"));
                    return taken;
                }
                None => return taken,
            }
        }
    }

    #[test]
    fn what_a_slow_reader_misses_is_bounded_and_said() {
        let feed = Feed::new(Arc::default());
        for _ in 0..5 {
            feed.event(Event::Chunk { text: "x".repeat(WAITING_BYTES_MAX / 3) });
        }
        feed.event(Event::Done { text: "whole".to_owned() });
        feed.end(TurnEnd::Answered("whole".to_owned()));
        feed.end(TurnEnd::Failed("later".to_owned()));
        let chunk = format!("chunk {}", WAITING_BYTES_MAX / 3);
        let notice = "3 events were left out, because they were read too slowly";
        assert_eq!(taken(&feed), [chunk.as_str(), chunk.as_str(), notice, "Answered(\"whole\")"]);
        assert_eq!(feed.waiting().bytes, 0);
    }

    #[test]
    fn a_task_that_breaks_ends_its_feed() {
        let places = Arc::new(tokio::sync::Semaphore::new(1));
        let feed = Arc::new(Feed::new(Arc::default()));
        let place = Arc::clone(&places).try_acquire_owned().expect("a place");
        drop(Seat { feed: Arc::clone(&feed), _place: place });
        assert!(matches!(feed.take(), Some(Step::End(TurnEnd::Failed(_)))));
        assert_eq!(places.available_permits(), 1);
    }
}
