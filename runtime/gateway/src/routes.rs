//! Which paths are there, and what must a request to each of them show? One router for each door.
//!
//! A path that is named nowhere stands behind the token like the rest, so that a stranger does not learn what there is.

use std::sync::Arc;

use axum::{
    Extension, Json, Router,
    extract::State,
    http::StatusCode,
    middleware::{from_fn, from_fn_with_state},
    response::IntoResponse as _,
    routing::{MethodFilter, get, on, post},
};

use crate::{
    Gateway, approvals, chat,
    door::{self, Pass, Ways},
    health,
    problem::{Problem, harden},
    webhook, ws,
};

/// Behind the loopback address with this port.
pub(crate) fn tcp(gateway: &Arc<Gateway>, port: u16) -> Router {
    let header = from_fn_with_state((Arc::clone(gateway), Ways::Header), door::token);
    let subprotocol = from_fn_with_state((Arc::clone(gateway), Ways::HeaderOrSubprotocol), door::token);
    open()
        .merge(signed())
        .merge(socket().layer(subprotocol))
        .merge(owned().layer(header))
        .layer(from_fn_with_state((Arc::clone(gateway), port), door::address))
        .layer(from_fn(harden))
        .with_state(Arc::clone(gateway))
}

/// Behind the Unix socket.
pub(crate) fn owner(gateway: &Arc<Gateway>) -> Router {
    open()
        .merge(signed())
        .merge(socket())
        .merge(owned())
        .layer(Extension(Pass::owner()))
        .layer(from_fn(harden))
        .with_state(Arc::clone(gateway))
}

/// For anybody on this machine.
fn open() -> Router<Arc<Gateway>> {
    let alive = get(|| async { health::alive() });
    let ready = get(|State(gateway): State<Arc<Gateway>>| async move { health::ready(&gateway) });
    Router::new()
        .route("/health", alive.clone())
        .route("/healthz", alive)
        .route("/ready", ready.clone())
        .route("/readyz", ready)
        .method_not_allowed_fallback(wrong_method)
}

/// For whoever signs as the channel's manifest says.
fn signed() -> Router<Arc<Gateway>> {
    let methods = MethodFilter::GET.or(MethodFilter::POST).or(MethodFilter::PUT);
    Router::new()
        .route("/webhook/{channel}", on(methods, webhook::own))
        .route("/webhook/{channel}/{route}", on(methods, webhook::named))
        .method_not_allowed_fallback(wrong_method)
}

/// The owner's socket.
fn socket() -> Router<Arc<Gateway>> {
    Router::new().route("/ws/chat", get(ws::open)).method_not_allowed_fallback(wrong_method)
}

/// For the owner: everything else, and everything that is not there.
fn owned() -> Router<Arc<Gateway>> {
    let status = get(|State(gateway): State<Arc<Gateway>>| async move { Json((gateway.parts.status)()) });
    let metrics = get(|State(gateway): State<Arc<Gateway>>| async move { health::metrics(&gateway) });
    let approvals = get(|State(gateway): State<Arc<Gateway>>| async move { approvals::list(&gateway) });
    Router::new()
        .route("/api/chat", post(chat::post))
        .route("/api/stop", post(approvals::stop))
        .route("/api/status", status)
        .route("/api/approvals", approvals)
        .route("/api/approvals/{id}", post(approvals::answer))
        .route("/metrics", metrics)
        .method_not_allowed_fallback(wrong_method)
        .fallback(nothing)
}

fn nothing() -> std::future::Ready<axum::response::Response> {
    std::future::ready(Problem::new(StatusCode::NOT_FOUND, "there is nothing here").into_response())
}

fn wrong_method() -> std::future::Ready<axum::response::Response> {
    std::future::ready(Problem::new(StatusCode::METHOD_NOT_ALLOWED, "not with this method").into_response())
}
