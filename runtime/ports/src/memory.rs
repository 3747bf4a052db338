//! What does the assistant remember? Texts go in by scope; the closest to a query come back.

use async_trait::async_trait;

use crate::PortError;

/// One thing that is remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// Its id.
    pub id: String,
    /// The scope.
    pub scope: String,
    /// What was stored, as it was stored.
    pub text: String,
    /// Milliseconds since 1970.
    pub stored_at_ms: u64,
    /// Higher is closer to the query; comparable only inside one answer. 0 in a list without a query.
    pub score: f32,
    /// Which tool stored it; `owner` for a person at the terminal.
    pub origin: String,
}

/// Who stores something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The tool, or `owner`.
    pub who: String,
    /// The call, where there is one.
    pub call: Option<String>,
}

/// The memory.
#[async_trait]
pub trait Recall: Send + Sync {
    /// The closest to `text` in these scopes, best first, at most `limit`. Texts in any script are found by their words,
    /// and by pairs of characters where a script writes no spaces.
    async fn query(&self, text: &str, scopes: &[String], limit: usize) -> Result<Vec<Memory>, PortError>;
    /// Everything in these scopes, oldest first, after the entry `after`, at most `limit`.
    async fn entries(&self, scopes: &[String], after: Option<&str>, limit: usize) -> Result<Vec<Memory>, PortError>;
    /// Stores a text and gives its id. The same text in the same scope is stored once.
    async fn remember(&self, text: &str, scope: &str, origin: &Origin) -> Result<String, PortError>;
    /// Removes an entry of these scopes from text and index; succeeds also when there is none. Whether there was one.
    async fn forget(&self, id: &str, scopes: &[String]) -> Result<bool, PortError>;
}
