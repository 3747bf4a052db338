//! The channel `chitin/webhook`: a message comes in as a signed HTTP request, its answer leaves as one.
//!
//! `hear` reads what came in, `tell` writes what goes out; both are pure. The signature is the host's to check, by the recipe
//! in `component.toml`, and so is the address to which answers may go.
//!
//! Never: a secret, and a decision about who may write.

mod bindings;
mod hear;
mod tell;

use std::time::{SystemTime, UNIX_EPOCH};

use bindings::{
    chitin::channel::{inbox, types::Address, types::Inbound},
    exports::chitin::channel::core::{Guest, InboundHttp, Outbound, Receipt, ReplyHttp, SocketEvent},
    wasi::config::store,
};
use chitin_sdk::{Failure, FailureKind, http::HttpRequest, http::Url};
use hear::{Heard, Problem};
use serde_json::json;

struct Webhook;

impl Guest for Webhook {
    fn start() -> Result<(), Failure> {
        reply_url().map(|_| ())
    }

    fn on_http(request: InboundHttp) -> ReplyHttp {
        match hear::message(&request.body).and_then(store_message) {
            Ok(id) => reply(202, &json!({ "accepted": true, "id": id })),
            Err(Problem { status, error }) => reply(status, &json!({ "error": error })),
        }
    }

    fn on_tick(_cursor: Option<String>) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    fn on_socket(socket: String, _event: SocketEvent) -> Result<(), Failure> {
        Err(Failure::not_found(format!("this channel has no socket {socket:?}")))
    }

    fn send(message: Outbound) -> Result<Receipt, Failure> {
        let url = reply_url()?.ok_or_else(|| {
            let text = "the setting reply_url is missing: where answers go is said under [config] in its grant";
            Failure::other(text).with_code("needs-config")
        })?;
        let mut request = HttpRequest::new("POST", url)
            .header("content-type", "application/json")
            .body(tell::body(&message)?)
            .timeout(WAIT_MAX);
        if let Some(id) = &message.in_reply_to {
            request = request.header("idempotency-key", &tell::idempotency_key(id));
        }
        let response = request.send(ANSWER_BYTES_MAX)?;
        tell::receipt(&response, message.in_reply_to.as_deref()).map(|id| Receipt { id })
    }
}

/// Where answers go, if it is said.
fn reply_url() -> Result<Option<Url>, Failure> {
    let setting = store::get("reply_url").map_err(|error| {
        Failure::internal(format!("the setting reply_url cannot be read: {error:?}")).with_code("config")
    })?;
    let Some(text) = setting else { return Ok(None) };
    let url = Url::parse(&text).map_err(|bad| {
        Failure::invalid_input(format!("the setting reply_url is no address: {bad}")).with_code("bad-config")
    })?;
    Ok(Some(url))
}

/// Has the host keep a message. One that it has seen before is dropped there, and counts as taken here.
fn store_message(heard: Heard) -> Result<String, Problem> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let id = heard.id.clone();
    let message = Inbound {
        id: heard.id,
        reply_to: Address { target: heard.conversation.unwrap_or_else(|| heard.from.clone()), thread: heard.thread },
        sender: heard.from,
        interruption_scope: None,
        text: heard.text,
        attachments: Vec::new(),
        sent_at_ms: u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX),
        group: false,
        extras: Vec::new(),
    };
    match inbox::emit(vec![message], None) {
        Ok(()) => Ok(id),
        Err(failure) => {
            let status = if failure.kind == FailureKind::InvalidInput { 422 } else { 503 };
            Err(Problem { status, error: failure.message })
        }
    }
}

fn reply(status: u16, body: &serde_json::Value) -> ReplyHttp {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    ReplyHttp { status, headers, body: body.to_string().into_bytes() }
}

/// The longest wait for a connection and between bytes; less than a call may take by default, so that it can say so.
const WAIT_MAX: std::time::Duration = std::time::Duration::from_secs(20);
/// What is read of an answer: an id and no more.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

#[cfg(target_arch = "wasm32")]
#[expect(unsafe_code, reason = "what wit-bindgen exports")]
mod exported {
    use crate::{Webhook, bindings};

    bindings::export!(Webhook with_types_in bindings);
}

/// On other targets the exports are only named, so that the parts that need no host are tested there.
#[cfg(not(target_arch = "wasm32"))]
const _: fn(InboundHttp) -> ReplyHttp = <Webhook as Guest>::on_http;
