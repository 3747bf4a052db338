//! How does a message from a channel survive until it is answered?
//!
//! ```text
//!   emit ─→ waiting ─→ (the agent's turn) ─→ answered ─→ delivered
//!             │                                 └ sent again after a crash, under the same id
//!             └ run again after a crash; one that was seen before is dropped at `emit`
//! ```

use async_trait::async_trait;

use crate::PortError;

/// A message as a channel's component emitted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// The platform's id, unique in its channel.
    pub id: String,
    /// Who wrote it, by the platform's word.
    pub sender: String,
    /// Room, chat or conversation.
    pub target: String,
    /// Thread, where there are threads.
    pub thread: Option<String>,
    /// What was written.
    pub text: String,
    /// Milliseconds since 1970 by the platform's clock.
    pub sent_at_ms: u64,
}

/// A message that has no answer yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Its number in the inbox.
    pub number: i64,
    /// The channel, stamped by the host.
    pub channel: String,
    /// The message.
    pub message: Inbound,
}

/// An answer that is not delivered yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The number of the message that it answers.
    pub number: i64,
    /// The channel.
    pub channel: String,
    /// The message that it answers.
    pub message: Inbound,
    /// The text.
    pub text: String,
    /// How often it was tried to deliver.
    pub attempts: u32,
}

/// Messages of channels until they are answered.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// Stores all messages and the cursor in one transaction, or none of it; when this returns, they survive a power
    /// loss. A message whose id this channel emitted before is dropped. How many were new.
    async fn emit(&self, channel: &str, messages: &[Inbound], cursor: Option<&str>) -> Result<usize, PortError>;
    /// The cursor that this channel stored last.
    async fn cursor(&self, channel: &str) -> Result<Option<String>, PortError>;
    /// Messages without an answer, oldest first, at most `max`.
    async fn waiting(&self, max: usize) -> Result<Vec<Waiting>, PortError>;
    /// The message has its answer; an empty text means that there is nothing to send.
    async fn answer(&self, number: i64, text: &str) -> Result<(), PortError>;
    /// Answers that are not delivered, oldest first, at most `max`.
    async fn undelivered(&self, max: usize) -> Result<Vec<Letter>, PortError>;
    /// It was tried to deliver and failed; counts the attempt.
    async fn attempt_failed(&self, number: i64) -> Result<(), PortError>;
    /// The platform took the answer, or it is given up (`receipt` is then `None`).
    async fn delivered(&self, number: i64, receipt: Option<&str>) -> Result<(), PortError>;
}
