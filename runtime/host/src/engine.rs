//! How is the engine set? Constants with their reasons go in; one engine for the whole process comes out.

use std::sync::OnceLock;

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

use crate::HostError;

/// How many components may be alive at once. Making a slot costs a guarded stack and takes time at start, so each process
/// says what it needs before its first call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slots {
    /// A command that makes its calls one after another.
    Command,
    /// A process that serves: 64 calls in flight and room for bursts.
    Server,
}

impl Slots {
    const fn count(self) -> u32 {
        match self {
            Self::Command => 8,
            Self::Server => 256,
        }
    }
}

/// A Rust, Go or C component is three or four core instances (main, shim, fixups).
const CORE_INSTANCES_EACH: u32 = 4;
/// Largest linear memory in bytes; the limiter of each call goes lower.
const MEMORY_BYTES_MAX: usize = 1 << 30;
/// Memory kept in a slot between calls. Zeroing this much is cheaper than giving it back to the kernel, as long as
/// `pagemap_scan` finds the dirty pages.
const KEEP_RESIDENT_BYTES: usize = 512 * 1024;
/// The guest's own stack; recursion deeper than this traps.
const WASM_STACK_BYTES_MAX: usize = 512 * 1024;

/// The engine of this process, made at the first use with the slots that [`engine_with`] asked for, else a server's.
///
/// # Errors
/// The platform refuses the configuration.
pub fn engine() -> Result<&'static Engine, HostError> {
    engine_with(Slots::Server)
}

/// The engine of this process; the first caller decides how many slots it has.
///
/// # Errors
/// The platform refuses the configuration.
pub fn engine_with(slots: Slots) -> Result<&'static Engine, HostError> {
    static ENGINE: OnceLock<Result<Engine, String>> = OnceLock::new();
    ENGINE
        .get_or_init(|| Engine::new(&config(slots)).map_err(|e| format!("{e:#}")))
        .as_ref()
        .map_err(|e| HostError::Engine(e.clone()))
}

/// An engine that compiles and runs nothing: no slot is reserved, so it starts in a process with little memory. What it
/// compiles loads in the engine of any process of the same build on the same kind of processor.
///
/// # Errors
/// The platform refuses the configuration.
pub(crate) fn compiling_engine() -> Result<Engine, HostError> {
    Engine::new(&settings()).map_err(|e| HostError::Engine(format!("{e:#}")))
}

fn config(slots: Slots) -> Config {
    let mut config = settings();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(slots.count())));
    config
}

// Everything that machine code depends on. How instances are allocated is no part of it: wasmtime's compatibility hash
// covers target, compiler flags, tunables and features, and of these the pool changes none.
fn settings() -> Config {
    let mut config = Config::new();
    config.wasm_component_model(true);
    // What no guest needs stays off: each is attack surface that the advisories keep returning to.
    config.wasm_memory64(false);
    config.epoch_interruption(true);
    config.cranelift_opt_level(OptLevel::Speed);
    config.max_wasm_stack(WASM_STACK_BYTES_MAX);
    config.memory_reservation(u64::try_from(MEMORY_BYTES_MAX).unwrap_or(u64::MAX));
    config
}

fn pool(components: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(components);
    pool.total_core_instances(components * CORE_INSTANCES_EACH);
    pool.total_tables(components * CORE_INSTANCES_EACH);
    pool.total_memories(components * 2);
    pool.total_stacks(components);
    pool.max_memory_size(MEMORY_BYTES_MAX);
    pool.linear_memory_keep_resident(KEEP_RESIDENT_BYTES);
    pool.table_keep_resident(KEEP_RESIDENT_BYTES);
    // Kernels from 6.7 tell which pages are dirty; older ones fall back.
    pool.pagemap_scan(Enabled::Auto);
    pool
}
