//! Ways for a tool to say no: one constructor for each kind a guest may use, and a code that programs can match on.

use std::fmt;

use crate::{Failure, FailureKind};

impl Failure {
    /// A failure of any kind. The constructors below name the usual ones.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, code: None, message: cut(message.into()), retry_after_ms: None }
    }

    /// The arguments are wrong; the message says which one and what is expected.
    pub fn invalid_input(message: impl Into<String>) -> Self {
        Self::new(FailureKind::InvalidInput, message)
    }

    /// Something below the tool refused: a host interface, or a service that knows the caller.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Denied, message)
    }

    /// A credential is missing or no longer accepted.
    pub fn needs_auth(message: impl Into<String>) -> Self {
        Self::new(FailureKind::NeedsAuth, message)
    }

    /// What was asked for does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(FailureKind::NotFound, message)
    }

    /// The thing changed since it was read.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Conflict, message)
    }

    /// A quota, rate or size limit was reached.
    pub fn limited(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Limited, message)
    }

    /// The service behind the tool failed.
    pub fn upstream(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Upstream, message)
    }

    /// The tool itself is broken.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Internal, message)
    }

    /// Anything else.
    pub fn other(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Other, message)
    }

    /// Adds a stable code: lower-case words joined by hyphens, at most 64 bytes.
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Says after how many milliseconds trying again makes sense.
    pub fn retry_after_ms(mut self, wait_ms: u64) -> Self {
        self.retry_after_ms = Some(wait_ms);
        self
    }
}

/// The name of a kind as it stands in `wit/types`, for results that carry it as text.
impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidInput => "invalid-input",
            Self::Denied => "denied",
            Self::NeedsAuth => "needs-auth",
            Self::NotFound => "not-found",
            Self::Conflict => "conflict",
            Self::Limited => "limited",
            Self::Upstream => "upstream",
            Self::Internal => "internal",
            Self::Cancelled => "cancelled",
            Self::Other => "other",
        })
    }
}

/// Shortens on a character boundary: a message may quote input of any size, and the host refuses longer ones.
fn cut(mut message: String) -> String {
    if message.len() > MESSAGE_BYTES_MAX {
        let end = message.floor_char_boundary(MESSAGE_BYTES_MAX - ELLIPSIS.len());
        message.truncate(end);
        message.push_str(ELLIPSIS);
    }
    message
}

/// What `wit/types` allows for a message.
const MESSAGE_BYTES_MAX: usize = 2048;
const ELLIPSIS: &str = "…";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let failure = Failure::other("é".repeat(2000));
        assert!(failure.message.len() <= MESSAGE_BYTES_MAX);
        assert!(failure.message.ends_with("é…"));
    }
}
