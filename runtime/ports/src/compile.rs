//! How does an install learn what a component offers? Verified bytes go in; compiled code lands in the cache, and the
//! component's own description of itself comes out.

use async_trait::async_trait;
use chitin_types::{Effects, FunctionName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::PortError;

/// One function, as the component describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PackFunction {
    /// Its name in the pack.
    pub name: FunctionName,
    /// A short display name.
    pub title: String,
    /// What the model reads.
    pub summary: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// What it claims to do.
    pub effects: Effects,
}

/// Everything that `describe` answered, and what the component imports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PackDescription {
    /// In the component's own order.
    pub functions: Vec<PackFunction>,
    /// Names of the interfaces that the component imports: what it could ask for.
    pub imports: Vec<String>,
}

/// Why a component cannot be taken in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescribeError {
    /// The bytes are no component, or none that this host can run.
    #[error("{0}")]
    NotRunnable(String),
    /// It ran and gave an answer that cannot be accepted.
    #[error("{0}")]
    BadAnswer(String),
    /// The host itself failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Compiles a component into the cache and asks it what it offers, in an instance that is granted nothing.
#[async_trait]
pub trait Describe: Send + Sync {
    /// `component` are the verified bytes themselves, not a path to them.
    async fn describe(&self, component: &[u8]) -> Result<PackDescription, DescribeError>;
}
