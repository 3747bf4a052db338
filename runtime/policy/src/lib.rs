//! What may happen: grant text goes in, a decision about one call comes out.
//!
//! ```text
//!   request (signed) ─┐
//!   grant file ───────┼─ Grants::intersect ─→ Grants ── authorize(call) ─→ Allow(Authorized)
//!   signer ceiling ───┤                                                 ├→ Ask(Pending) ── approve ─→ Authorized
//!   default limits ───┘                                                 └→ Deny(rule)
//! ```
//!
//! Every document can only take away. [`Authorized`] is made here and nowhere else:
//!
//! ```compile_fail
//! # use std::sync::Arc;
//! let forged = chitin_policy::Authorized { digest: todo!(), call: todo!(), grants: todo!(), rule: todo!() };
//! ```
//!
//! ```compile_fail
//! fn twice(one: &chitin_policy::Authorized) -> chitin_policy::Authorized {
//!     one.clone()
//! }
//! ```
//!
//! The same path with the one thing that is allowed, looking at it, compiles:
//!
//! ```
//! fn once(one: &chitin_policy::Authorized) -> String {
//!     one.rule().to_owned()
//! }
//! ```
//!
//! Never: where a grant file lies, what time it is, how a call runs.

pub mod authorize;
pub mod effective;
pub mod explain;
pub mod grant;
pub mod roots;

pub use authorize::{Approval, Authorized, Call, CallDigest, Pending, Verdict, authorize};
pub use chitin_types::HttpTarget;
pub use effective::{Decision, Grants, Mount};
pub use explain::{Answer, Query, can, explain};
pub use grant::{Accept, Ask, CallRule, Defaults, FsGrant, Grant, HttpGrant, Inject, KvGrant, Pin, RecallGrant};
pub use roots::{RootError, RootPlace, check_root, could_be_root};
