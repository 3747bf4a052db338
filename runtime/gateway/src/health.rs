//! Is the daemon there, is it ready, what has it done? Three answers for programs that watch.

use axum::{
    Json,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
};
use chitin_ports::ChannelState;
use serde_json::json;

use crate::{Gateway, metrics::Gauges, problem::Problem};

/// It is there.
pub(crate) fn alive() -> Response {
    Json(json!({ "status": "ok" })).into_response()
}

/// It takes messages; not any more once it was asked to stop.
pub(crate) fn ready(gateway: &Gateway) -> Response {
    if *gateway.closing.borrow() {
        return Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the daemon stops").into_response();
    }
    Json(json!({ "status": "ready" })).into_response()
}

/// What it has done, for Prometheus.
pub(crate) fn metrics(gateway: &Gateway) -> Response {
    let channels = gateway.parts.channels.status();
    let in_state = |wanted: fn(&ChannelState) -> bool| channels.iter().filter(|c| wanted(&c.state)).count();
    let gauges = Gauges {
        channels_running: in_state(|state| matches!(state, ChannelState::Running)),
        channels_backed_off: in_state(|state| matches!(state, ChannelState::BackedOff { .. })),
        channels_stopped: in_state(|state| matches!(state, ChannelState::Stopped)),
        open_approvals: gateway.parts.board.pending().len(),
        uptime_s: gateway.parts.clock.now_ms().saturating_sub(gateway.began_ms) / 1000,
    };
    ([(CONTENT_TYPE, PROMETHEUS)], gateway.parts.metrics.render(&gauges)).into_response()
}

/// The text format's own type.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

#[cfg(test)]
#[path = "health_tests.rs"]
mod tests;
