//! What time is it? The only way for pure crates to know.

/// The wall clock.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970 UTC.
    fn now_ms(&self) -> u64;
}
