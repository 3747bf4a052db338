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

/// Which kind of component it is, by what it exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PackKind {
    /// It exports `chitin:tool/guest` and describes itself.
    Pack,
    /// It exports ordinary typed functions; each is a tool.
    Typed,
    /// It exports `chitin:channel/core`; it may offer no function at all.
    Channel,
}

/// An export that is no tool, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The export, as `interface#function` or `function`.
    pub export: String,
    /// One sentence.
    pub reason: String,
}

/// Everything that a component offers, and what it imports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PackDescription {
    /// What it is.
    pub kind: PackKind,
    /// In the component's own order; for typed exports in the order of the component's type.
    pub functions: Vec<PackFunction>,
    /// Exports that are not offered.
    pub left_out: Vec<LeftOut>,
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

/// Turns verified bytes into machine code, somewhere where untrusted bytes can do no harm: compiling is slow, takes
/// memory, and its cost is the publisher's to choose.
#[async_trait]
pub trait Compile: Send + Sync {
    /// The machine code of a component for the engine of this process.
    ///
    /// # Errors
    /// The bytes are no component, or a limit of time or memory was reached; the text says which.
    async fn compile(&self, component: &[u8]) -> Result<Vec<u8>, CompileError>;
}

/// Why there is no machine code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The bytes are no component that this engine runs, or they exceed a limit.
    #[error("{0}")]
    Refused(String),
    /// The child that compiles could not be started or gave nothing that can be used.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Compiles a component into the cache and asks it what it offers, in an instance that is granted nothing.
#[async_trait]
pub trait Describe: Send + Sync {
    /// `component` are the verified bytes themselves, not a path to them.
    async fn describe(&self, component: &[u8]) -> Result<PackDescription, DescribeError>;
}
