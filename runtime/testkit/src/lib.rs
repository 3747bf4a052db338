//! What tests share: real components, real servers on loopback, the built binary, and a host around a guest.
//!
//! In: the artifacts that `cargo xtask setup` built. Out: fixtures; nothing here is linked into the product.
//!
//! Never: a mock of a part that can run here.

#![expect(clippy::panic, clippy::indexing_slicing, reason = "a fixture that cannot be made fails its test")]

pub mod chitin;
pub mod daemon;
pub mod daemon_story;
pub mod guests;
pub mod hosting;
pub mod model;
pub mod rows;
pub mod server;
pub mod story;
