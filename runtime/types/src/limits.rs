//! How much may one call use? Numbers with units; the smaller of two documents wins.

use serde::{Deserialize, Serialize};

/// Ceilings of one call. Every field is an upper bound; the effective value is the least that any document gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Wall time in milliseconds, waiting in the host included. At 0 every call ends before it starts.
    pub wall_ms: u64,
    /// Time in milliseconds that the guest itself computes.
    pub cpu_ms: u64,
    /// Memory and tables of all instances of the call together, in MiB.
    pub memory_mib: u64,
    /// Result, partial results, standard output and error together, in KiB.
    pub output_kib: u64,
    /// Calls from the guest into the host that cost the host something (files, requests, random bytes).
    pub host_calls: u64,
    /// Calls of this tool that run at the same time; the next one waits.
    pub parallel: u32,
}

impl Limits {
    /// The lesser value of each field.
    #[must_use]
    pub fn least(self, other: Self) -> Self {
        Self {
            wall_ms: self.wall_ms.min(other.wall_ms),
            cpu_ms: self.cpu_ms.min(other.cpu_ms),
            memory_mib: self.memory_mib.min(other.memory_mib),
            output_kib: self.output_kib.min(other.output_kib),
            host_calls: self.host_calls.min(other.host_calls),
            parallel: self.parallel.min(other.parallel),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { wall_ms: 30_000, cpu_ms: 5_000, memory_mib: 64, output_kib: 256, host_calls: 2_000, parallel: 2 }
    }
}
