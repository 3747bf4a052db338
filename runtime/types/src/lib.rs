//! What things are called: the words every other crate speaks.
//!
//! In: nothing. Out: ids, digests, messages, tool calls and their outcomes, events, capabilities, limits, secrets.
//!
//! Never: async, time, files, sockets, environment, randomness.

pub mod canonical;
pub mod capability;
pub mod digest;
pub mod document;
pub mod event;
pub mod id;
pub mod limits;
pub mod message;
pub mod outcome;
pub mod pattern;
pub mod place;
pub mod secret;
pub mod tool;

pub use capability::{
    Capabilities, FsAsk, FsMode, HttpAsk, HttpTarget, KvAsk, RecallAsk, RecallMode, Scheme, is_scope,
};
pub use digest::Digest;
pub use document::DocumentError;
pub use event::Event;
pub use id::{CallId, FunctionName, NameError, SessionId, ToolName, TurnId, WireName};
pub use limits::Limits;
pub use message::{Message, Turn};
pub use outcome::{Attachment, Denial, Failure, FailureKind, Part, ToolOutcome};
pub use pattern::{HostPattern, PathPattern};
pub use place::Place;
pub use secret::Secret;
pub use tool::{Effects, ToolCall, ToolSpec};
