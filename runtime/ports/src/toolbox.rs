//! Which tools are there? The list for a model, and for each its verified component and what is granted to it.

use std::sync::Arc;

use async_trait::async_trait;
use chitin_policy::Grants;
use chitin_types::{Digest, ToolOutcome, ToolSpec};

use crate::PortError;

/// One function that can be called, with everything that a decision needs.
#[derive(Debug, Clone)]
pub struct Installed {
    /// The function, as pinned at install.
    pub spec: ToolSpec,
    /// Digest of the component bytes that were verified in this process.
    pub component: Digest,
    /// What is granted.
    pub grants: Arc<Grants>,
}

/// The installed tools.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// Every function of every tool, by wire name, sorted. Reads the lock only: nothing is hashed or compiled.
    async fn specs(&self) -> Result<Vec<ToolSpec>, PortError>;
    /// The function with this wire name, its component verified in this process before this returns.
    /// `Ok(None)` when there is none; `Err` holds the outcome for the model when its files are not the verified ones.
    async fn resolve(&self, wire_name: &str) -> Result<Option<Installed>, ToolOutcome>;
}
