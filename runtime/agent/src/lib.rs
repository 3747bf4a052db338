//! What happens to a message: the walk from what a person wrote to the answer, the same for every way in.
//!
//! ```text
//!   Inbound ─→ route ─→ lane ─→ turn ─→ recall ─→ prompt ─→ dialect ─→ Provider ─→ text ─→ reply ─→ TurnEnd
//!                                ↑                             │
//!                                │                           calls
//!                                │                             ↓
//!                             results ←────── step ──→ call ──→ arguments ──→ authorize ──→ approve ──→ Invoke
//! ```
//!
//! Each word is a module; `turn` is the only one that runs the sequence. What is stored, recorded and shown on the way
//! goes through the ports in [`Ports`] and the [`EventSink`] of the caller, who learns the end exactly once.
//!
//! A daemon has two parts beside the walk: [`Dispatch`] brings the messages of channels onto it and their answers back,
//! and [`Board`] holds the questions that nobody sits in front of.
//!
//! Never: a socket, a file, SQL, wasm, the wall clock, a random number, a spawned task. The caller drives the future
//! that [`Agent::handle`] gives and may drop it; a turn that was dropped has no call without its result in the history.

mod approve;
mod arguments;
mod board;
mod call;
mod cut;
mod dialect;
mod dispatch;
mod error;
mod lane;
mod near;
mod progress;
mod prompt;
mod recall;
mod record;
mod reply;
mod route;
mod scope;
mod step;
mod turn;

#[cfg(test)]
mod testing;

use std::sync::Arc;

use chitin_ports::{Approve, Audit, Clock, Delivery, History, Ids, Invoke, Provider, Recall, SessionKey, Toolbox};
use chitin_types::{Event, SessionId, ToolCall, ToolOutcome};

use crate::{
    approve::Approvals,
    error::TurnError,
    lane::{LaneGuard, Lanes},
    route::Route,
    scope::Scope,
};
pub use crate::{
    arguments::prepare as prepare_schemas,
    board::{AnswerError, Board, OpenQuestion},
    dispatch::{Dispatch, Senders},
    route::Inbound,
};
use tokio::sync::watch;

/// The doors to everything outside, made by `cli`.
pub struct Ports {
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// The store of dialogues.
    pub history: Arc<dyn History>,
    /// The audit log.
    pub audit: Arc<dyn Audit>,
    /// The installed tools.
    pub toolbox: Arc<dyn Toolbox>,
    /// What runs a call.
    pub invoke: Arc<dyn Invoke>,
    /// What asks a person.
    pub approve: Arc<dyn Approve>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn Ids>,
    /// What is remembered, where there is a memory.
    pub recall: Option<Arc<dyn Recall>>,
}

/// What a configuration may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Requests with tools in one turn; 10. At 0 no tool is ever called; a high number lets a confused model go on and
    /// on at the user's cost.
    pub steps_max: usize,
    /// Whole older turns that a model reads; 50. At 0 it remembers nothing.
    pub turns_max: usize,
    /// Messages of one session that wait while a turn runs; 100. One more is refused, so that a sender who never stops
    /// cannot fill the memory.
    pub waiting_max: usize,
    /// How long a person may think about a question, in milliseconds; 120,000. At 0 every question is a no.
    pub answer_ms_max: u64,
    /// The scopes of the memory from which entries are shown to the model with each message; none. Whoever may send a
    /// message can learn what is in them.
    pub recall_scopes: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { steps_max: 10, turns_max: 50, waiting_max: 100, answer_ms_max: 120_000, recall_scopes: vec![] }
    }
}

/// Shows events to whoever waits: a terminal, a socket, a channel. It must not block.
pub trait EventSink: Send + Sync {
    /// One event, in order.
    fn event(&self, event: Event);
}

/// A closure that takes events is enough for whoever keeps them elsewhere.
impl<F: Fn(Event) + Send + Sync> EventSink for F {
    fn event(&self, event: Event) {
        self(event);
    }
}

/// How the handling of one message ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// With this answer, which is stored.
    Answered(String),
    /// It was a command, and this says what it did.
    Commanded(String),
    /// Somebody asked to stop; this sentence says so.
    Stopped(String),
    /// Without an answer; one sentence with a next step.
    Failed(String),
}

/// Handles every message of every way in.
pub struct Agent {
    ports: Ports,
    settings: Settings,
    lanes: Lanes,
}

impl Agent {
    /// An agent in which nothing runs yet.
    pub fn new(ports: Ports, settings: Settings) -> Self {
        let lanes = Lanes::new(settings.waiting_max);
        Self { ports, settings, lanes }
    }

    /// Handles one message to its end. Messages with the same key run one after another in the order in which these
    /// futures were first polled; others run in parallel.
    ///
    /// The last event is [`Event::Done`] or [`Event::Error`], exactly one of them, and says the same as the value.
    pub async fn handle(&self, inbound: Inbound, sink: &dyn EventSink) -> TurnEnd {
        let end = self.walk(inbound, sink).await.unwrap_or_else(TurnEnd::from);
        sink.event(end.event());
        end
    }

    /// Makes one call that a person asked for by name, on the same way as a model's: resolved, decided, audited. Nothing
    /// is added to a dialogue; `session` only marks the records.
    pub async fn call(&self, session: SessionId, asked: &ToolCall, sink: &dyn EventSink) -> ToolOutcome {
        let (_nobody_stops, cancelled) = watch::channel(false);
        let (turn, delivery) = (self.ports.ids.turn(), Delivery::Whole);
        let scope = Scope { ports: &self.ports, settings: &self.settings, session, turn, delivery, cancelled, sink };
        call::run(&scope, asked, &mut Approvals::default()).await.outcome
    }

    /// Asks the turn that runs under this key to stop, and with it the model's request, the tool's call and the
    /// question to a person. Messages that wait behind it then run. False when nothing ran.
    pub fn stop(&self, key: &SessionKey) -> bool {
        self.lanes.stop(key)
    }

    async fn walk(&self, inbound: Inbound, sink: &dyn EventSink) -> Result<TurnEnd, TurnError> {
        match route::read(&inbound.text)? {
            Route::Stop => {
                let done = if self.stop(&inbound.key) { "stopping" } else { "nothing is running" };
                Ok(TurnEnd::Commanded(done.to_owned()))
            }
            // It waits for its place, so that what was written before it stays in the old session.
            Route::New => {
                let _lane = self.lanes.enter(&inbound.key).await?;
                self.ports.history.start(&inbound.key, self.ports.ids.session()).await?;
                Ok(TurnEnd::Commanded("a new session has begun".to_owned()))
            }
            Route::ShowModel | Route::UseModel(_) if !self.ports.provider.takes_model() => {
                let name = self.ports.provider.name();
                Ok(TurnEnd::Commanded(format!("{name} has no models to choose from")))
            }
            Route::ShowModel => {
                let (mut lane, session) = self.session(&inbound.key).await?;
                let name = lane.memory_of(&session).model.clone();
                let name = name.unwrap_or_else(|| format!("the configured model, {}", self.ports.provider.name()));
                Ok(TurnEnd::Commanded(format!("this session is answered by {name}")))
            }
            Route::UseModel(name) => {
                let (mut lane, session) = self.session(&inbound.key).await?;
                let told = format!("this session is answered by {name} from now on");
                lane.memory_of(&session).model = Some(name);
                Ok(TurnEnd::Commanded(told))
            }
            Route::Message => {
                let (mut lane, session) = self.session(&inbound.key).await?;
                let scope = Scope {
                    ports: &self.ports,
                    settings: &self.settings,
                    session,
                    turn: self.ports.ids.turn(),
                    delivery: inbound.delivery,
                    cancelled: lane.cancelled(),
                    sink,
                };
                turn::run(&scope, inbound.text, lane.memory_of(&scope.session)).await
            }
        }
    }

    /// Waits for the turns before this one, and then finds the session that they have left.
    async fn session(&self, key: &SessionKey) -> Result<(LaneGuard, SessionId), TurnError> {
        let lane = self.lanes.enter(key).await?;
        let session = self.ports.history.open(key, self.ports.ids.session()).await?;
        Ok((lane, session))
    }
}

impl TurnEnd {
    /// The one event that tells it.
    fn event(&self) -> Event {
        match self {
            Self::Answered(text) | Self::Commanded(text) => Event::Done { text: text.clone() },
            Self::Stopped(text) | Self::Failed(text) => Event::Error { text: text.clone() },
        }
    }
}

impl From<TurnError> for TurnEnd {
    fn from(error: TurnError) -> Self {
        let text = error.for_user();
        if error == TurnError::Stopped { Self::Stopped(text) } else { Self::Failed(text) }
    }
}
