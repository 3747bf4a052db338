//! What tests share: real components, real servers on loopback, and a host around them.
//!
//! In: the artifacts that `cargo xtask setup` built. Out: fixtures; nothing here is linked into the product.
//!
//! Never: a mock of a part that can run here.

pub mod guests;
pub mod hosting;
pub mod server;
