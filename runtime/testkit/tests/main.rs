//! The tests that need more than one crate: one binary, one module for each question.

#![expect(clippy::panic, clippy::indexing_slicing, reason = "a fixture that cannot be made fails its test")]

#[path = "suites/channel.rs"]
mod channel;
#[path = "suites/cli.rs"]
mod cli;
#[path = "suites/daemon.rs"]
mod daemon;
#[path = "suites/demo.rs"]
mod demo;
#[path = "suites/flips.rs"]
mod flips;
#[path = "suites/foreign.rs"]
mod foreign;
#[path = "suites/host.rs"]
mod host;
#[path = "suites/kills.rs"]
mod kills;
#[path = "suites/memory.rs"]
mod memory;
#[path = "suites/stores.rs"]
mod stores;
#[path = "suites/sweep.rs"]
mod sweep;
#[path = "suites/tidy.rs"]
mod tidy;
#[path = "suites/tour.rs"]
mod tour;
#[path = "suites/wit.rs"]
mod wit;
