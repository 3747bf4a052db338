//! What may a guest know about its own call? Its id, the time left, whether it should stop; always granted.

use std::{sync::PoisonError, time::Instant};

use super::plain::plain;
use crate::{
    state::CallState,
    wit::{chitin::host::run, wire::Part},
};

/// Longest progress line in bytes that is passed on; the rest is cut.
const PROGRESS_BYTES_MAX: usize = 1_024;

impl run::Host for CallState {
    async fn call_id(&mut self) -> wasmtime::Result<String> {
        Ok(self.call.id.to_string())
    }

    async fn remaining_ms(&mut self) -> wasmtime::Result<u64> {
        let left = self.call.deadline.saturating_duration_since(Instant::now());
        Ok(u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
    }

    async fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(*self.call.cancelled.borrow())
    }

    async fn progress(&mut self, message: String, _done: Option<f32>) -> wasmtime::Result<()> {
        self.call.charge()?;
        if let Some(progress) = &self.call.progress {
            progress(plain(&message, PROGRESS_BYTES_MAX));
        }
        Ok(())
    }

    async fn partial(&mut self, piece: Part) -> wasmtime::Result<()> {
        self.call.charge()?;
        let part = self.part_from_guest(piece)?;
        self.call.partial.lock().unwrap_or_else(PoisonError::into_inner).push(part);
        Ok(())
    }
}
