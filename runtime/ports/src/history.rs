//! How is a dialogue kept? Whole turns go in and come back; what was acknowledged survives a crash.

use async_trait::async_trait;
use chitin_types::{Message, SessionId, Turn, TurnId};

use crate::PortError;

/// Who talks to whom, kept as parts so that no joined text is ambiguous.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionKey {
    /// The way in, `terminal` for example.
    pub channel: String,
    /// Room or conversation on that channel.
    pub reply_target: String,
    /// Thread, where the channel has threads.
    pub thread: Option<String>,
    /// The person.
    pub sender: String,
}

/// One line of a list of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// The session.
    pub id: SessionId,
    /// Its key.
    pub key: SessionKey,
    /// Milliseconds since 1970 of its newest message.
    pub updated_at_ms: u64,
    /// Turns in it.
    pub turns: u64,
}

/// The store of dialogues.
#[async_trait]
pub trait History: Send + Sync {
    /// The newest session with this key; `fresh` is stored as a new one when there is none.
    async fn open(&self, key: &SessionKey, fresh: SessionId) -> Result<SessionId, PortError>;
    /// Stores a new, empty session with this key, which [`History::open`] gives from now on.
    async fn start(&self, key: &SessionKey, fresh: SessionId) -> Result<SessionId, PortError>;
    /// Appends messages to a turn, creating it when it is new. When this returns, they survive a power loss.
    async fn append(&self, session: &SessionId, turn: &TurnId, messages: &[Message]) -> Result<(), PortError>;
    /// The newest `turns_max` whole turns, oldest first.
    async fn recent(&self, session: &SessionId, turns_max: usize) -> Result<Vec<Turn>, PortError>;
    /// Every session, newest first.
    async fn sessions(&self) -> Result<Vec<SessionSummary>, PortError>;
}
