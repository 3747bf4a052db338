//! How does a model call tools when its wire has none? Tools are declared in the system prompt, calls are read from the
//! text, and results go back as text.
//!
//! ```text
//!   specs ─→ speech ─→ system prompt, history as text ─→ Provider ─→ hold ─→ the person, without markup
//!                                                           │
//!                                                           └→ read ─→ scan ─→ block ─→ the same calls as native ones
//! ```
//!
//! Read in this order: `speech` (what goes out), `read` (a reply to a reply with calls), `scan` (where in a text a call
//! may stand), `block` (what stands between the tags), `tag` (the spellings), `hold` (what a person sees meanwhile).
//!
//! The rule of all of them: in doubt it is text. A text that is shown by mistake costs a question; a call that was only
//! quoted costs whatever the tool does. What is read here still goes through schema, policy and approval.

mod block;
mod hold;
mod read;
mod scan;
mod speech;
mod tag;

pub(crate) use hold::Hold;
pub(crate) use speech::Speech;
pub(crate) use tag::CALL_TAGS;
