//! HTTP and WebSocket in front of the agent: chat, webhooks, approvals, health.
//!
//! ```text
//!   TCP on loopback ─→ serve ─→ door: Host, Origin, token ─→ routes ─→ chat ─→ turns ─→ Agent::handle
//!   Unix socket ─────→ serve ─→ the owner's ───────────────→ routes    ws ───↗
//!                                                                      webhook ─→ ChannelDoor::on_http
//!                                                                      approvals, health, metrics
//! ```
//!
//! A request costs at most what the limits of `serve`, `body`, `turns` and `ws` say, whoever sends it. A refusal is
//! counted, written into the audit, and has no effect.
//!
//! Never: state that a restart would lose, what a policy says, SQL, wasm.

mod approvals;
mod body;
mod chat;
mod crowd;
mod door;
mod error;
mod health;
mod metrics;
mod problem;
mod refusal;
mod routes;
mod serve;
mod session;
mod sse;
mod stall;
mod token;
mod turns;
mod webhook;
mod ws;

#[cfg(test)]
mod testing;

use std::sync::Arc;

use chitin_agent::{Agent, Board};
use chitin_ports::{Audit, ChannelDoor, Clock};
use tokio::sync::{Notify, Semaphore, watch};

use crate::refusal::Refusals;
pub use crate::{error::GatewayError, metrics::Metrics, token::TokenFile};

/// What the gateway stands in front of, made by `cli`.
pub struct GatewayParts {
    /// What handles messages.
    pub agent: Arc<Agent>,
    /// The questions that wait for a person.
    pub board: Arc<Board>,
    /// What webhooks are handed to.
    pub channels: Arc<dyn ChannelDoor>,
    /// Where refusals are recorded.
    pub audit: Arc<dyn Audit>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Which token is the owner's.
    pub token: TokenFile,
    /// What `/api/status` answers. It must not block.
    pub status: Arc<dyn Fn() -> serde_json::Value + Send + Sync>,
    /// The counters; ways in that do not pass through the gateway count here, too.
    pub metrics: Arc<Metrics>,
    /// Notified once for each webhook that a channel accepted: there may be a new message.
    pub delivered: Arc<Notify>,
}

/// The gateway of one daemon.
pub struct Gateway {
    parts: GatewayParts,
    refusals: Refusals,
    turns: Arc<Semaphore>,
    sockets: Arc<Semaphore>,
    webhooks: Arc<Semaphore>,
    readers: Semaphore,
    closing: watch::Sender<bool>,
    began_ms: u64,
}

impl Gateway {
    /// A gateway that listens nowhere yet.
    pub fn new(parts: GatewayParts) -> Self {
        let refusals = Refusals::new(Arc::clone(&parts.audit), Arc::clone(&parts.clock), Arc::clone(&parts.metrics));
        Self {
            refusals,
            turns: Arc::new(Semaphore::new(TURNS_MAX)),
            sockets: Arc::new(Semaphore::new(SOCKETS_MAX as usize)),
            webhooks: Arc::new(Semaphore::new(WEBHOOKS_MAX)),
            readers: Semaphore::new(READERS_MAX),
            closing: watch::Sender::new(false),
            began_ms: parts.clock.now_ms(),
            parts,
        }
    }
}

/// Turns at once over all clients. Each holds a dialogue in memory and a request to a provider that costs money.
const TURNS_MAX: usize = 64;
/// WebSockets at once. They stay open without saying anything, so they are counted apart from connections.
const SOCKETS_MAX: u32 = 64;
/// Webhooks whose body is still coming. Half of the connections, so that slow ones leave room for everybody else; they
/// hold none of the places below, so that a signed one never waits for one that is not.
const READERS_MAX: usize = 128;
/// Webhooks at once. They come without a token, and each may hold a body of a MiB before its signature is checked.
const WEBHOOKS_MAX: usize = 32;
