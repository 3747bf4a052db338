//! The tests that need more than one crate: one binary, one module for each question.

#[path = "suites/host.rs"]
mod host;
