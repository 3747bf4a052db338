//! What was said? The messages of a dialogue, provider-neutral.

use serde::{Deserialize, Serialize};

use crate::{ToolCall, TurnId};

/// One message. A `Tool` message answers exactly one call of the `Assistant` message before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// A person.
    User {
        /// What they wrote.
        text: String,
    },
    /// The model.
    Assistant {
        /// What it wrote; may be empty when it only calls tools.
        text: String,
        /// The calls it asks for.
        calls: Vec<ToolCall>,
    },
    /// The result of one call.
    Tool {
        /// The id of the call.
        call_id: String,
        /// What the model reads.
        text: String,
        /// True when the call did not end with a result.
        is_error: bool,
    },
}

/// Everything from one message of a person to the answer. Kept or dropped as a whole, so that no call loses its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// The messages in order; the first is always the person's.
    pub messages: Vec<Message>,
}
