//! What stops a call that uses too much? The limit that was reached, kept until the outcome is made.

use std::sync::{Arc, OnceLock};

use chitin_types::Limits;
use wasmtime::ResourceLimiter;

/// The first limit that a call reached. Shared by everything that can stop it; the first to report wins.
#[derive(Debug, Clone, Default)]
pub struct Reached(Arc<OnceLock<String>>);

impl Reached {
    /// Reports a limit, with its number and unit, and gives the error that traps the guest.
    pub fn stop(&self, limit: String) -> wasmtime::Error {
        let error = LimitReached(limit.clone());
        // Only the first report matters: what follows is a consequence of it.
        let _ = self.0.set(limit);
        wasmtime::Error::new(error)
    }

    /// The limit, if one was reached.
    pub fn get(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// Traps the guest at a limit.
#[derive(Debug, thiserror::Error)]
#[error("limit of {0} reached")]
pub struct LimitReached(pub String);

/// Counts memory and tables of every instance of one call together.
#[derive(Debug)]
pub struct Memory {
    used_bytes: usize,
    max_mib: u64,
    reached: Reached,
}

/// Bytes that one table element occupies in the host.
const TABLE_ELEMENT_BYTES: usize = 16;
/// Elements of one table; the largest seen in a real component is 7,690.
const TABLE_ELEMENTS_MAX: usize = 100_000;

impl Memory {
    /// A count at zero.
    pub fn new(limits: &Limits, reached: Reached) -> Self {
        Self { used_bytes: 0, max_mib: limits.memory_mib, reached }
    }

    fn grow(&mut self, bytes: usize) -> wasmtime::Result<bool> {
        let wanted = self.used_bytes.saturating_add(bytes);
        let max = usize::try_from(self.max_mib).unwrap_or(usize::MAX).saturating_mul(1 << 20);
        if wanted > max {
            return Err(self.reached.stop(format!("memory ({} MiB)", self.max_mib)));
        }
        self.used_bytes = wanted;
        Ok(true)
    }
}

impl ResourceLimiter for Memory {
    fn memory_growing(&mut self, current: usize, desired: usize, _max: Option<usize>) -> wasmtime::Result<bool> {
        self.grow(desired.saturating_sub(current))
    }

    fn table_growing(&mut self, current: usize, desired: usize, _max: Option<usize>) -> wasmtime::Result<bool> {
        if desired > TABLE_ELEMENTS_MAX {
            return Err(self.reached.stop(format!("table size ({TABLE_ELEMENTS_MAX} elements)")));
        }
        self.grow(desired.saturating_sub(current).saturating_mul(TABLE_ELEMENT_BYTES))
    }
}
