//! How bytes leave: the only outbound HTTP of the whole runtime.
//!
//! ```text
//!   text of a URL ─ target::parse ─→ one canonical target ─ Grants::http ─→ Permit ─ send ─→ response
//!                     refuses what two parsers           policy's rule       │ the resolver gives the client
//!                     could read differently                                 └ checked addresses only
//! ```
//!
//! A secret that the rule names is put in here, after the decision, and taken out of whatever comes back.
//!
//! A request that is not permitted never opens a socket. Redirects are not followed: the caller sees the 3xx and asks
//! again, so that every hop passes the same checks.
//!
//! Never: what a tool is, why a request is made, where a secret is kept.

pub mod address;
pub mod client;
pub mod error;
pub mod permit;
mod redact;
mod secret;
pub mod target;

pub use client::{Body, Egress, Request, Response};
pub use error::EgressError;
pub use permit::{Endpoint, Permit};
