//! How a call runs: a permit goes in, a component is called inside its limits, an outcome comes out.
//!
//! ```text
//!   permit ─ invoke ─ redeem ─ load (compile cache, MAC) ─ fresh Store ─ instantiate ─ call ─ outcome
//!                                                            │
//!                                                            ├ limits      memory, tables, CPU, wall, host calls
//!                                                            └ capability/ fs · http · run · stdio · denied
//! ```
//!
//! One engine for the process, one linker for the world, one `InstancePre` for each component, one store for each call.
//!
//! Never: that a model exists, what a grant file looks like, where a store directory lies.

pub mod cache;
pub mod capability;
pub mod describe;
pub mod engine;
pub mod error;
pub mod invoke;
pub mod limits;
pub mod linker;
pub mod loaded;
pub mod meter;
pub mod outcome;
pub mod roots;
pub mod state;
pub mod ticker;
pub mod wit;

pub use cache::CodeCache;
pub use engine::{Slots, engine, engine_with};
pub use error::HostError;
pub use invoke::{Host, HostParts};
pub use roots::Roots;
