//! `/webhook/{channel}`: how does a platform reach its channel? The request goes to the channel's door, which checks
//! the signature; what the channel answers goes back.
//!
//! No token is asked for. Whoever has no valid signature never reaches the component, and is written into the audit.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{Path, Request, State, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header::AUTHORIZATION, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
};
use chitin_ports::{ChannelError, HttpIn, HttpOut};
use tokio::time::timeout;

use crate::{Gateway, body, door, problem::Problem, refusal::request_line};

/// The channel's own path.
pub(crate) async fn own(
    State(gateway): State<Arc<Gateway>>,
    path: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    let names = path.ok().map(|Path(channel)| (channel, OWN_ROUTE.to_owned()));
    answer(gateway, names, request).await
}

/// A route that the channel's manifest names.
pub(crate) async fn named(
    State(gateway): State<Arc<Gateway>>,
    path: Result<Path<(String, String)>, PathRejection>,
    request: Request,
) -> Response {
    answer(gateway, path.ok().map(|Path(names)| names), request).await
}

async fn answer(gateway: Arc<Gateway>, names: Option<(String, String)>, request: Request) -> Response {
    let line = request_line(&request);
    // What is no name is not written into the audit as one; the request line has it.
    let names = names.filter(|(channel, route)| is_name(channel) && is_name(route));
    let subject = names.as_ref().map_or("webhook", |(channel, _)| channel.as_str()).to_owned();
    match handle(&gateway, names, request).await {
        Ok(response) => {
            gateway.parts.metrics.webhook("accepted");
            response
        }
        Err(refusal) => {
            gateway.refusals.webhook(&subject, refusal.rule, line);
            *refusal.response
        }
    }
}

struct Refused {
    rule: &'static str,
    response: Box<Response>,
}

impl Refused {
    fn new(rule: &'static str, problem: Problem) -> Self {
        Self { rule, response: Box::new(problem.into_response()) }
    }
}

async fn handle(
    gateway: &Arc<Gateway>,
    names: Option<(String, String)>,
    request: Request,
) -> Result<Response, Refused> {
    let Some((channel, route)) = names else { return Err(ChannelError::NoRoute.into()) };
    // From the head alone: whoever names no channel need not send a body.
    if !gateway.parts.channels.status().iter().any(|known| known.name == channel) {
        return Err(ChannelError::NoRoute.into());
    }
    let inbound = {
        let _reading = gateway.readers.try_acquire().map_err(|_| busy())?;
        read(gateway, route, request).await?
    };
    let place = Arc::clone(&gateway.webhooks).try_acquire_owned().map_err(|_| busy())?;
    let door = Arc::clone(gateway);
    // A task of its own: a platform that hangs up must not break off what its component is doing, and a component's
    // door that panics takes nothing else with it.
    let task = tokio::spawn(async move {
        let late = |_| Err(ChannelError::NotReady { reason: "it takes too long".to_owned(), retry_after_ms: 1000 });
        let out = timeout(ANSWER_MAX, door.parts.channels.on_http(&channel, inbound)).await.unwrap_or_else(late);
        if out.as_ref().is_ok_and(|out| out.status < 300) {
            door.parts.delivered.notify_one();
        }
        drop(place);
        out
    });
    let out = task.await.unwrap_or_else(|error| {
        tracing::warn!(%error, "a webhook broke off");
        Err(ChannelError::NotReady { reason: "it broke".to_owned(), retry_after_ms: 1000 })
    })?;
    reply(out)
}

fn busy() -> Refused {
    let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many webhooks at once; send it again");
    Refused::new("webhook:not-ready", problem.retry_after(1))
}

async fn read(gateway: &Gateway, route: String, request: Request) -> Result<HttpIn, Refused> {
    let (parts, body) = request.into_parts();
    let shows_ours = door::shows_token(&parts.headers, &gateway.parts.token);
    let headers = headers(&parts.headers, shows_ours.then_some(AUTHORIZATION.as_str()))?;
    let body = body::of_stranger(body).await.map_err(|problem| match problem.status {
        StatusCode::PAYLOAD_TOO_LARGE => Refused::new("webhook:too-large", problem),
        _ => Refused::new("webhook:unreadable", problem),
    })?;
    Ok(HttpIn {
        route,
        method: parts.method.as_str().to_owned(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        headers,
        body,
    })
}

/// Every header as text, but for the one that holds our own token: a component is never shown it.
fn headers(map: &HeaderMap, without: Option<&str>) -> Result<Vec<(String, String)>, Refused> {
    let kept = map.iter().filter(|(name, _)| Some(name.as_str()) != without);
    kept.map(|(name, value)| {
        let value = String::from_utf8(value.as_bytes().to_vec()).map_err(|_| {
            let detail = format!("the header {name} is not text");
            Refused::new("webhook:unreadable", Problem::new(StatusCode::BAD_REQUEST, detail))
        })?;
        Ok((name.as_str().to_owned(), value))
    })
    .collect()
}

/// What a component answers, as far as it may: its status, its body, and a type that no browser runs.
fn reply(out: HttpOut) -> Result<Response, Refused> {
    let status = StatusCode::from_u16(out.status).ok().filter(|status| !status.is_informational());
    let Some(status) = status.filter(|_| out.body.len() <= REPLY_BYTES_MAX) else {
        let problem = Problem::new(StatusCode::BAD_GATEWAY, "the channel gave an answer that cannot be passed on");
        return Err(Refused::new("webhook:answer", problem));
    };
    let bodiless = matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED);
    let body = if bodiless { Body::empty() } else { Body::from(out.body) };
    let named = out.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(CONTENT_TYPE.as_str()));
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = content_type(named.map(|(_, value)| value.as_str()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if status.is_client_error() || status.is_server_error() {
        return Err(Refused { rule: "webhook:refused", response: Box::new(response) });
    }
    Ok(response)
}

fn content_type(named: Option<&str>) -> &'static str {
    let essence = named.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
    let passed = PASSED_TYPES.iter().find(|(name, _)| essence.eq_ignore_ascii_case(name));
    passed.map_or("application/octet-stream", |(_, whole)| *whole)
}

fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.bytes().all(plain)
}

impl From<ChannelError> for Refused {
    fn from(error: ChannelError) -> Self {
        let status_of = |status, rule| Self::new(rule, Problem::new(status, error.to_string()));
        match &error {
            ChannelError::NoRoute => status_of(StatusCode::NOT_FOUND, "webhook:no-route"),
            ChannelError::BadSignature => status_of(StatusCode::UNAUTHORIZED, "webhook:signature"),
            ChannelError::Replay => status_of(StatusCode::CONFLICT, "webhook:replay"),
            ChannelError::TooLarge { .. } => status_of(StatusCode::PAYLOAD_TOO_LARGE, "webhook:too-large"),
            // Why it broke is for `status`, not for whoever comes by.
            ChannelError::NotReady { retry_after_ms, .. } => {
                let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the channel is not ready");
                Self::new("webhook:not-ready", problem.retry_after(retry_after_ms.div_ceil(1000).max(1)))
            }
            ChannelError::Refused(_) => status_of(StatusCode::UNPROCESSABLE_ENTITY, "webhook:refused"),
        }
    }
}

/// The route of a channel's own path.
const OWN_ROUTE: &str = "in";
/// What a platform may be answered with. None of it is a page, and the policy in every response keeps one from running.
const PASSED_TYPES: [(&str, &str); 4] = [
    ("application/json", "application/json"),
    ("application/xml", "application/xml; charset=utf-8"),
    ("text/plain", "text/plain; charset=utf-8"),
    ("text/xml", "text/xml; charset=utf-8"),
];
/// From the whole request to the component's answer. A platform gives up earlier; a component that hangs must not keep
/// a place.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// The body of an answer; no platform reads more, and a component may be broken.
const REPLY_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of a channel's or a route's name.
const NAME_BYTES_MAX: usize = 64;

#[cfg(test)]
#[path = "webhook_tests.rs"]
mod tests;
