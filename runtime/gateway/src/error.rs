//! Why does the gateway not open? Each variant is something that the operator does differently.

use std::{io, net::SocketAddr};

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The listener can be reached from other machines.
    #[error("listen on {0}: the gateway speaks to this machine only; use 127.0.0.1 or [::1]")]
    NotLoopback(SocketAddr),
    /// The system does not say where the listener listens.
    #[error("read the address of the listener: {0}")]
    Listener(#[source] io::Error),
}
