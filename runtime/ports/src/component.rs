//! Where do the bytes of a component come from? Only from whoever verified them in this process.

use std::sync::Arc;

use chitin_types::Digest;

/// Gives verified bytes, and nothing else.
pub trait ComponentSource: Send + Sync {
    /// The bytes with this digest, if their signature was verified since the process started.
    fn verified(&self, component: &Digest) -> Option<Arc<Vec<u8>>>;
}
