//! How can a request fail? One variant for each thing that a caller does differently.

use chitin_types::Denial;

/// A request that was not made, or whose answer did not come whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// A rule refused it.
    #[error("{}", .0.reason)]
    Denied(Denial),
    /// The URL can be read in two ways, or in none.
    #[error("{0}")]
    BadUrl(String),
    /// No answer: the name does not resolve, nobody listens, TLS failed, the connection broke.
    #[error("{0}")]
    Unreachable(String),
    /// Nothing came in time.
    #[error("{0}")]
    Timeout(String),
    /// More came than is accepted.
    #[error("{0}")]
    TooLarge(String),
}

impl EgressError {
    /// A refusal by egress itself, which no grant can lift.
    pub(crate) fn denied(rule: &str, reason: String) -> Self {
        Self::Denied(Denial { rule: rule.to_owned(), reason, help: None })
    }
}
