//! How a call runs: a permit goes in, a component is called inside its limits, an outcome comes out.
//!
//! ```text
//!   permit ─ invoke ─ redeem ─ load (compile cache, MAC) ─ fresh Store ─ instantiate ─ call ─ outcome
//!                                │                           │                          │
//!                                └ compile   in a child      │                          └ reflect   typed functions
//!                                                            ├ limits      memory, tables, CPU, wall, host calls
//!                                                            └ capability/ one file for each thing that a guest asks for
//!
//!   webhook, answer, tick ─ channel ─ one warm instance ─ callback ─ inbox
//! ```
//!
//! One engine for the process, one linker for each world, one `InstancePre` for each component, one store for each call.
//!
//! Never: that a model exists, what a grant file looks like, where a store directory lies.

pub mod cache;
pub mod capability;
pub mod channel;
pub mod compile;
pub mod describe;
pub mod engine;
pub mod error;
pub mod invoke;
pub mod limits;
pub mod linker;
pub mod loaded;
pub mod meter;
pub mod outcome;
pub mod reflect;
pub mod roots;
pub mod state;
pub mod ticker;
pub mod wit;

pub use cache::CodeCache;
pub use channel::{ChannelConfig, ChannelParts, Channels};
pub use engine::{Slots, engine, engine_with};
pub use error::HostError;
pub use invoke::{Host, HostParts};
pub use roots::Roots;
pub use state::Stores;
