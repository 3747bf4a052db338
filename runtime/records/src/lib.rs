//! What happened, what was said and what is kept: it goes in, and comes back after a crash as it was.
//!
//! ```text
//!   Audit::append ───┐
//!   History::append ─┤
//!   Inbox::emit ─────┼─ bounded queue ─→ one writer thread ─ one transaction a batch ─→ state.db ─→ receipts
//!   KeyValue::set ───┤                                                              └→ audit.anchor
//!   Recall::remember ┘
//!   recent, waiting, get, query, tail, verify ─→ one read connection
//!   Secrets::set, reveal ─→ one connection of their own ─→ secrets.db, encrypted
//! ```
//!
//! Never: what a turn means, which tool a record is about, where the home key lies.

pub mod anchor;
pub mod audit;
pub mod chain;
pub mod dialogue;
pub mod error;
#[cfg(test)]
mod fixture;
pub mod history;
pub mod inbox;
pub mod kv;
pub mod memory;
pub mod open;
pub mod records;
pub mod schema;
pub mod secrets;
pub mod verify;
pub mod words;
pub mod writer;

pub use audit::AuditRecord;
pub use dialogue::TranscriptMessage;
pub use error::RecordsError;
pub use records::Records;
pub use secrets::SecretStore;
pub use verify::{AuditFault, AuditReport, ChainPart, FaultKind};
