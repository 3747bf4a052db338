//! How is a model asked? Messages and tools go in; text as it comes, then the whole reply, come out.

use async_trait::async_trait;
use chitin_types::{Message, ToolCall, ToolSpec};

/// Whether text is wanted as it comes. The reply is the same; only the wire differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// In pieces.
    Streamed,
    /// At once.
    Whole,
}

/// One request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// Byte-stable within a session, so that provider caches stay warm.
    pub system: String,
    /// Oldest first; the last is the person's or a tool's.
    pub messages: Vec<Message>,
    /// What it may call.
    pub tools: Vec<ToolSpec>,
    /// How the answer travels.
    pub delivery: Delivery,
    /// The model that this session asked for; the configured one where it asked for none.
    pub model: Option<String>,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// It said everything.
    End,
    /// It wants tools called.
    ToolCalls,
    /// It reached its output limit.
    Length,
    /// The provider filtered the answer.
    Filtered,
}

/// Tokens, by the provider's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

/// The whole reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatReply {
    /// The text; equal to the pieces put together.
    pub text: String,
    /// The calls, in the order of the model.
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What it cost, where the provider says so.
    pub usage: Option<Usage>,
}

/// Why there is no reply; each variant is something the caller does differently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The dialogue is too long for the model.
    #[error("the dialogue is longer than the model's context")]
    Overflow,
    /// The key is missing or refused.
    #[error("the provider refused the key: {0}")]
    Unauthorized(String),
    /// Too many requests.
    #[error("the provider asks to slow down")]
    RateLimited {
        /// When it makes sense to try again.
        retry_after_ms: Option<u64>,
    },
    /// No connection, a timeout, a stream that broke off.
    #[error("the provider cannot be reached: {0}")]
    Unreachable(String),
    /// An answer that is no answer.
    #[error("the provider gave an answer that cannot be used: {0}")]
    BadAnswer(String),
}

/// Takes text as it comes.
pub trait TextSink: Send + Sync {
    /// One piece, in order.
    fn text(&self, piece: &str);
}

/// A model behind some wire.
#[async_trait]
pub trait Provider: Send + Sync {
    /// For the user and the audit, for example `openai-chat gpt-x`.
    fn name(&self) -> String;
    /// One line that is shown before the first answer, where the user should know something: the offline provider says
    /// here that it is no model.
    fn notice(&self) -> Option<String>;
    /// Whether the wire has tools of its own. Without them the agent declares tools in the prompt and reads calls from the
    /// text.
    fn native_tools(&self) -> bool {
        true
    }
    /// Whether another model can be asked for by name.
    fn takes_model(&self) -> bool {
        true
    }
    /// Asks once. Dropping the future stops the request.
    async fn complete(&self, request: &ChatRequest, sink: &dyn TextSink) -> Result<ChatReply, ProviderError>;
}
