//! How does a call reach the component? A permit and the call go in, an outcome comes out, whatever happens.

use std::sync::Arc;

use async_trait::async_trait;
use chitin_policy::Authorized;
use chitin_types::{Digest, FunctionName, SessionId, ToolName, ToolOutcome};
use serde_json::Value;
use tokio::sync::watch;

/// Takes one line for the person who waits.
pub type Progress = Arc<dyn Fn(String) + Send + Sync>;

/// The call that the permit is for.
#[derive(Clone)]
pub struct Invocation {
    /// The tool pack.
    pub tool: ToolName,
    /// Digest of its verified component.
    pub component: Digest,
    /// The function.
    pub function: FunctionName,
    /// The arguments, which already satisfied the schema.
    pub args: Value,
    /// The session, for the audit.
    pub session: Option<SessionId>,
    /// Becomes true once somebody asks to stop.
    pub cancelled: watch::Receiver<bool>,
    /// Takes progress lines of the tool; a line that nobody wants is dropped.
    pub progress: Option<Progress>,
}

/// Runs calls.
#[async_trait]
pub trait Invoke: Send + Sync {
    /// Runs one authorized call. A trap, a limit, a denial are outcomes; there is no error.
    async fn invoke(&self, permit: Authorized, call: Invocation) -> ToolOutcome;
}
