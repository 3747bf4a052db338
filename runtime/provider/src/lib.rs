//! How a model is asked: a neutral request goes in, text as it comes and then the whole reply come out.
//!
//! ```text
//!   ChatRequest ─┬─ openai_chat ─ request ─→ egress ─→ status? ─→ one reply, or a stream of pieces ─┬─→ ChatReply
//!                └─ offline ──── words ─→ steps ─→ the next call, or the answer ────────────────────┘
//! ```
//!
//! Never: that tools run in wasm, what a turn is, which HTTP library the bytes travel through.

pub mod offline;
pub mod openai_chat;
pub mod sse;

pub use offline::Offline;
pub use openai_chat::{OpenAiChat, OpenAiConfig};
