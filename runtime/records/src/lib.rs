//! What happened and what was said: decisions and dialogues go in, and come back after a crash as they were.
//!
//! ```text
//!   Audit::append ──┐
//!   History::append ┼─ bounded queue ─→ one writer thread ─ one transaction a batch ─→ state.db ─→ receipts
//!   History::open ──┘                                                              └→ audit.anchor
//!   recent, tail, verify ─────────────→ one read connection
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
pub mod open;
pub mod records;
pub mod schema;
pub mod verify;
pub mod writer;

pub use audit::AuditRecord;
pub use dialogue::TranscriptMessage;
pub use error::RecordsError;
pub use records::Records;
pub use verify::{AuditFault, AuditReport, ChainPart, FaultKind};
