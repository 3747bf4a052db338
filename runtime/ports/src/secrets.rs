//! Where is a secret kept? Only egress and the check of a webhook ask for its text.

use async_trait::async_trait;
use chitin_types::Secret;

use crate::PortError;

/// The secrets of a home, encrypted at rest. Names are 1 to 48 of a-z, 0-9 and hyphen.
#[async_trait]
pub trait Secrets: Send + Sync {
    /// The text of a secret, or nothing when none of this name is set.
    async fn reveal(&self, name: &str) -> Result<Option<Secret>, PortError>;
    /// Sets or replaces a secret.
    async fn set(&self, name: &str, secret: &Secret) -> Result<(), PortError>;
    /// Removes a secret; whether there was one.
    async fn remove(&self, name: &str) -> Result<bool, PortError>;
    /// Names in order, with the milliseconds since 1970 at which each was set.
    async fn names(&self) -> Result<Vec<(String, u64)>, PortError>;
}
