//! How is a person asked? An exact call goes out, a yes or no bound to its digest comes back.

use async_trait::async_trait;
use chitin_policy::{Approval, CallDigest};
use chitin_types::SessionId;

/// What a person is shown. They see these arguments, and these are what runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its own id: the digest and the call, so that two equal calls are two questions.
    pub id: String,
    /// What an answer is bound to.
    pub digest: CallDigest,
    /// The tool pack and function, as `publisher/name function`.
    pub title: String,
    /// The arguments as JSON text, complete.
    pub arguments: String,
    /// The rule that asks.
    pub rule: String,
    /// The session in which the call is made, where there is one.
    pub session: Option<SessionId>,
    /// Whether a yes covers this rule for the rest of the session.
    pub covers_session: bool,
    /// Milliseconds since 1970 after which no answer counts.
    pub expires_at_ms: u64,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes, to this digest.
    Yes(Approval),
    /// No, or nobody was there; the reason is for the model and the audit.
    No(String),
}

/// Asks the owner.
#[async_trait]
pub trait Approve: Send + Sync {
    /// Waits for the answer at most until the question expires. An error of the way of asking is a no.
    async fn ask(&self, question: &Question) -> Answer;
}
