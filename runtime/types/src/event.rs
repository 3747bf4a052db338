//! What happens while a turn runs? The events that a terminal, a socket or a channel shows.

use serde::{Deserialize, Serialize};

/// One event of a turn, in order. `Done` or `Error` is always the last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// More text of the answer.
    Chunk {
        /// The text.
        text: String,
    },
    /// A tool is about to be called.
    ToolCall {
        /// The call's id in the audit.
        call: String,
        /// The wire name.
        name: String,
        /// The arguments as JSON text.
        arguments: String,
    },
    /// A tool call ended.
    ToolResult {
        /// The call's id in the audit.
        call: String,
        /// How it ended: the word of the outcome.
        outcome: String,
        /// What the model reads.
        text: String,
        /// The command that would allow it, after a denial.
        help: Option<String>,
    },
    /// A person must agree before a call is made; whoever waits can answer with the id.
    ApprovalRequest {
        /// The question's id, of the call's digest and the call's id; used once.
        id: String,
        /// The tool and function.
        title: String,
        /// The arguments as JSON text, complete.
        arguments: String,
        /// The rule that asks.
        rule: String,
        /// Milliseconds since 1970 after which no answer counts.
        expires_at_ms: u64,
    },
    /// Something the user should know that is not part of the answer.
    Notice {
        /// The sentence.
        text: String,
    },
    /// The turn ended with this answer.
    Done {
        /// The whole answer.
        text: String,
    },
    /// The turn ended without an answer.
    Error {
        /// One sentence with a next step.
        text: String,
    },
}
