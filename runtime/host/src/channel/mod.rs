//! How does a chat platform reach the agent through a component? One warm instance for each configured channel, called by
//! the host alone; whoever calls from outside is checked before the component hears of it.
//!
//! ```text
//!   on_http ─ desk ─ route, size, HMAC, time, replay ─┐
//!   send ──── desk ───────────────────────────────────┴─→ queue ─→ actor ─→ one callback ─→ guest
//!                                                                    │                        │ inbox.emit
//!                                                tick, start, back-off                        ▼
//!                                                                                    Inbox, then the dispatcher wakes
//!
//!   stopped ──found──→ running ──trap, limit, failed start──→ backed off (2 s, 4 s … 60 s) ──→ running
//! ```
//!
//! In reading order: the door that `cli` makes, the desk of one channel with its checks, the actor that owns the
//! instance, the instance itself, and what the guest may call.

pub mod wit;

mod actor;
mod backoff;
mod check;
mod desk;
mod door;
mod inbox;
mod live;
mod replay;
mod standing;
mod translate;

pub use backoff::Backoff;
pub use door::{ChannelConfig, ChannelParts, Channels};
pub(crate) use inbox::Side;
