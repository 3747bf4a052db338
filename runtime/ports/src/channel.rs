//! How does the outside reach a channel's component, and how does an answer leave through it?
//!
//! ```text
//!   webhook ─→ HttpIn ─→ ChannelDoor::on_http ─ host checks the signature ─ guest translates ─→ Inbox
//!   Inbox ─→ the agent ─→ Outbound ─→ ChannelDoor::send ─ guest translates ─→ the platform
//! ```

use std::sync::Arc;

use async_trait::async_trait;
use chitin_package::ChannelAsk;
use chitin_policy::Grants;
use chitin_types::{Digest, ToolName};

use crate::PortError;

/// A request to a webhook, as it came in. Nothing about it is checked yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpIn {
    /// The route's name in the signed manifest; `in` for the channel's own path.
    pub route: String,
    /// Upper case.
    pub method: String,
    /// The path as it came.
    pub path: String,
    /// The query without its question mark.
    pub query: Option<String>,
    /// Lower-case names, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The whole body, already bounded by the gateway.
    pub body: Vec<u8>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOut {
    /// 100 to 599.
    pub status: u16,
    /// Lower-case names.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// An answer on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbound {
    /// Room, chat or conversation.
    pub target: String,
    /// Thread, where there are threads.
    pub thread: Option<String>,
    /// The text.
    pub text: String,
    /// The platform's id of the message that this answers. The same answer is sent with the same id when it is sent
    /// again after a crash, so that a platform can drop the second.
    pub in_reply_to: Option<String>,
}

/// Why a channel did not do it; each variant is something that the caller answers differently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// No channel has this name, or it has no such route or method.
    #[error("there is no such route")]
    NoRoute,
    /// The signature is missing or wrong.
    #[error("the signature is missing or wrong")]
    BadSignature,
    /// The signed time lies too far from now, or this very request was seen before.
    #[error("the request is a replay")]
    Replay,
    /// The body is larger than the route takes.
    #[error("the body is larger than {bytes_max} bytes")]
    TooLarge {
        /// The most that the route takes.
        bytes_max: usize,
    },
    /// The component broke or is being started again; nothing was lost, trying later makes sense.
    #[error("the channel is not ready: {reason}")]
    NotReady {
        /// One sentence.
        reason: String,
        /// Milliseconds until it is started again.
        retry_after_ms: u64,
    },
    /// The component or the platform said no.
    #[error("the channel refused: {0}")]
    Refused(String),
}

/// How a channel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelState {
    /// Its instance is alive.
    Running,
    /// It broke and is started again at `next_start_ms`.
    BackedOff {
        /// Milliseconds since 1970.
        next_start_ms: u64,
    },
    /// It cannot start: not installed, not granted, no secret.
    Stopped,
}

/// One line of `status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelStatus {
    /// The channel's name in the configuration.
    pub name: String,
    /// The tool that it is.
    pub tool: String,
    /// How it is.
    pub state: ChannelState,
    /// Why it last broke, or cannot start.
    pub last_error: Option<String>,
    /// How often it was started again since the daemon began.
    pub restarts: u64,
}

/// An installed channel, verified in this process.
#[derive(Debug, Clone)]
pub struct ChannelTool {
    /// Digest of its component.
    pub component: Digest,
    /// What is granted to it.
    pub grants: Arc<Grants>,
    /// What its signed manifest asks of the host.
    pub ask: ChannelAsk,
}

/// Finds installed channels.
#[async_trait]
pub trait ChannelSource: Send + Sync {
    /// The channel of this name, its component verified in this process before this returns.
    ///
    /// # Errors
    /// It is not installed, is no channel, its files are not the verified ones, or its grant is refused; one sentence.
    async fn channel(&self, tool: &ToolName) -> Result<ChannelTool, PortError>;
}

/// The configured channels.
#[async_trait]
pub trait ChannelDoor: Send + Sync {
    /// Checks a request by the recipe in the signed manifest and hands it to the component. When this returns with a
    /// status below 300, what the component emitted survives a crash.
    async fn on_http(&self, channel: &str, request: HttpIn) -> Result<HttpOut, ChannelError>;
    /// Sends an answer through the component; the platform's id of what was sent.
    async fn send(&self, channel: &str, message: Outbound) -> Result<String, ChannelError>;
    /// Every configured channel, by name.
    fn status(&self) -> Vec<ChannelStatus>;
}
