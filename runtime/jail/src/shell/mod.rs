//! What is the tool `chitin/shell`? The one tool that is no component: its function `run` is a command in the jail.
//!
//! ```text
//!   permit ─ redeem ─ arguments ─ mounts of the grant ─ audit "start" (durable) ─ Spawn ─ audit end ─ outcome
//! ```
//!
//! It goes through the same policy as every component: a grant names the directories and the limits, a person is asked by
//! default, and the permit is bound to the exact arguments. No decision is taken on the text of a command: what a command
//! can do is decided by the walls around it.

mod args;
mod lines;
mod outcome;
mod spec;
mod tool;

pub use tool::Shell;
