//! What equals need from each other: one trait a file, and the values that pass through it.
//!
//! A crate that owns a door (SQLite, the network, wasm) implements a trait; a crate that decides takes it as
//! `Arc<dyn Trait>`; only `cli` knows which is which. The traits stand apart from `agent` so that `egress`, `host` and
//! `registry` can speak of the audit or the clock without importing the orchestrator.
//!
//! Never: an implementation, a file, a socket, a thread.

pub mod approve;
pub mod audit;
pub mod channel;
pub mod clock;
pub mod compile;
pub mod component;
pub mod history;
pub mod ids;
pub mod inbox;
pub mod invoke;
pub mod kv;
pub mod memory;
pub mod provider;
pub mod secrets;
pub mod spawn;
pub mod toolbox;

pub use approve::{Answer, Approve, Question};
pub use audit::{Audit, AuditEntry, AuditKind, Receipt};
pub use channel::{
    ChannelDoor, ChannelError, ChannelSource, ChannelState, ChannelStatus, ChannelTool, HttpIn, HttpOut, Outbound,
};
pub use clock::Clock;
pub use compile::{Compile, CompileError, Describe, DescribeError, LeftOut, PackDescription, PackFunction, PackKind};
pub use component::ComponentSource;
pub use history::{History, SessionKey, SessionSummary};
pub use ids::Ids;
pub use inbox::{Inbound, Inbox, Letter, Waiting};
pub use invoke::{Invocation, Invoke, Progress};
pub use kv::{Cas, KeyValue, KvError};
pub use memory::{Memory, Origin, Recall};
pub use provider::{ChatReply, ChatRequest, Delivery, Provider, ProviderError, StopReason, TextSink, Usage};
pub use secrets::Secrets;
pub use spawn::{Ended, Order, Outlet, Spawn, SpawnError, SpawnMount, Stopped};
pub use toolbox::{Installed, Toolbox};

/// A door that failed: the disk is full, the database is locked. The text fits after "failed to ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PortError(pub String);
