//! Which requests may a guest make? Those that its grant's rules allow, through `egress` and nothing else.
//!
//! Grant: `[[http]]`. Linked: `wasi:http/outgoing-handler`. For one call: the hooks below. A request is decided before a
//! socket is opened; one that changes something is in the audit, durably, before it leaves.

use std::{future::Future, sync::Arc};

use bytes::Bytes;
use chitin_egress::{Body, Egress, EgressError, Request};
use futures::StreamExt;
use http_body::Body as _;
use http_body_util::{BodyExt, BodyStream, StreamBody};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use crate::state::CallContext;

/// The hooks of one call.
pub struct Requests {
    call: Arc<CallContext>,
    egress: Egress,
}

impl Requests {
    pub(crate) fn new(call: Arc<CallContext>, egress: Egress) -> Self {
        Self { call, egress }
    }
}

type Answer = Result<(http::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

impl WasiHttpHooks for Requests {
    // Egress sets the header itself, from the URL that was decided on.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        _options: Option<RequestOptions>,
        _fut: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Answer> + Send> {
        let (call, egress) = (Arc::clone(&self.call), self.egress.clone());
        Box::new(async move { send(&call, &egress, request).await })
    }
}

async fn send(call: &CallContext, egress: &Egress, request: http::Request<WasiBody>) -> Answer {
    call.charge().map_err(|_| Error::ConnectionLimitReached)?;
    let request = to_egress(request)?;
    let permit = egress.authorize(&call.grants, &request).map_err(|e| refused(call, e))?;
    let (rule, detail) = (permit.rule().to_owned(), serde_json::json!({ "request": permit.line() }));
    if permit.only_looks() {
        call.look(&rule, detail);
    } else if let Err(denial) = call.effect(&rule, detail).await {
        call.deny(denial);
        return Err(Error::HttpRequestDenied);
    }
    let response = egress.send(permit, request).await.map_err(|e| refused(call, e))?;
    let mut answer = http::Response::builder().status(response.status);
    for (name, value) in &response.headers {
        answer = answer.header(name, value);
    }
    let frames = response.body.map(|piece| piece.map(http_body::Frame::data).map_err(|e| wire_error(&e)));
    let body = StreamBody::new(frames).boxed_unsync();
    let done: Box<dyn Future<Output = Result<(), Error>> + Send> = Box::new(std::future::ready(Ok(())));
    Ok((answer.body(body).map_err(|_| Error::HttpProtocolError)?, done))
}

fn to_egress(request: http::Request<WasiBody>) -> Result<Request, Error> {
    let (parts, body) = request.into_parts();
    let mut headers = Vec::new();
    for (name, value) in &parts.headers {
        let value = value.to_str().map_err(|_| Error::HttpRequestUriInvalid)?;
        if name != http::header::HOST && name != http::header::CONTENT_LENGTH {
            headers.push((name.as_str().to_owned(), value.to_owned()));
        }
    }
    let body = if body.size_hint().exact() == Some(0) { Body::Empty } else { Body::Stream(stream(body)) };
    Ok(Request { method: parts.method.as_str().to_owned(), url: parts.uri.to_string(), headers, body })
}

fn stream(body: WasiBody) -> futures::stream::BoxStream<'static, Result<Bytes, EgressError>> {
    let pieces = BodyStream::new(body).filter_map(|frame| {
        let piece = match frame {
            Ok(frame) => frame.into_data().ok().map(Ok),
            Err(error) => Some(Err(EgressError::Unreachable(format!("the guest's body ended early: {error:?}")))),
        };
        std::future::ready(piece)
    });
    pieces.boxed()
}

fn refused(call: &CallContext, error: EgressError) -> Error {
    let wire = wire_error(&error);
    match error {
        EgressError::Denied(denial) => call.deny(denial),
        EgressError::BadUrl(reason) => {
            call.deny(chitin_types::Denial { rule: "egress:url".to_owned(), reason, help: None });
        }
        EgressError::Unreachable(_) | EgressError::Timeout(_) | EgressError::TooLarge(_) => {}
    }
    wire
}

fn wire_error(error: &EgressError) -> Error {
    match error {
        EgressError::Denied(_) => Error::HttpRequestDenied,
        EgressError::BadUrl(_) => Error::HttpRequestUriInvalid,
        EgressError::Unreachable(_) => Error::DestinationUnavailable,
        EgressError::Timeout(_) => Error::ConnectionReadTimeout,
        EgressError::TooLarge(_) => Error::HttpResponseBodySize(None),
    }
}
