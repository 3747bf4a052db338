//! The provider that is no model: a few plain requests, matched word by word, become real tool calls on the real path,
//! so that a fresh install does something useful and can be tried and tested without a key.
//!
//! ```text
//!   prompt ─ words ─→ intent ─→ steps ─┐
//!   results of the calls so far ───────┴─ plan ─→ the next call, or the answer
//! ```
//!
//! It decides from the messages alone. The same dialogue gives the same reply, and what a tool returns is only ever
//! quoted or written to a file: nothing in it is read as a request.

mod answer;
mod intent;
mod plan;
mod provider;
mod step;
mod vocabulary;
mod words;

pub use provider::Offline;
