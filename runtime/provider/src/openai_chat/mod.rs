//! The "chat completions" wire: what OpenAI began and most servers speak.
//!
//! Read in this order: `request` (neutral to wire), `provider` (one exchange), `refusal` (what a status means),
//! `stream` and `draft` (pieces to one reply), `whole` (a reply that comes at once).

mod draft;
mod provider;
mod refusal;
mod request;
mod stream;
mod whole;

pub use provider::{OpenAiChat, OpenAiConfig};
