//! What equals need from each other: one trait a file, and the values that pass through it.
//!
//! A crate that owns a door (SQLite, the network, wasm) implements a trait; a crate that decides takes it as
//! `Arc<dyn Trait>`; only `cli` knows which is which. The traits stand apart from `agent` so that `egress`, `host` and
//! `registry` can speak of the audit or the clock without importing the orchestrator.
//!
//! Never: an implementation, a file, a socket, a thread.

pub mod approve;
pub mod audit;
pub mod clock;
pub mod compile;
pub mod component;
pub mod history;
pub mod ids;
pub mod invoke;
pub mod provider;
pub mod toolbox;

pub use approve::{Answer, Approve, Question};
pub use audit::{Audit, AuditEntry, AuditKind, Receipt};
pub use clock::Clock;
pub use compile::{Describe, DescribeError, PackDescription, PackFunction};
pub use component::ComponentSource;
pub use history::{History, SessionKey, SessionSummary};
pub use ids::Ids;
pub use invoke::{Invocation, Invoke, Progress};
pub use provider::{ChatReply, ChatRequest, Delivery, Provider, ProviderError, StopReason, TextSink, Usage};
pub use toolbox::{Installed, Toolbox};

/// A door that failed: the disk is full, the database is locked. The text fits after "failed to ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PortError(pub String);
