//! How a request travels through `wasi:http` and how its answer is read back, step by step and blocking.
//!
//! The order of drops matters: a stream is a child of its body and a body of its message, and the host traps when a
//! parent goes first. Locals are therefore declared from parent to child, or dropped by hand.

use super::bindings::wasi::http::outgoing_handler::handle;
use super::bindings::wasi::http::types::{
    ErrorCode, Fields, HeaderError, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
    RequestOptions, Scheme, http_error_code,
};
use super::bindings::wasi::io::streams::StreamError;
use super::{HttpError, HttpRequest, HttpResponse};

pub(super) fn send(request: &HttpRequest, body_bytes_max: usize) -> Result<HttpResponse, HttpError> {
    let message = OutgoingRequest::new(header_fields(request)?);
    let invalid = |what: &str| HttpError::Invalid(format!("the {what} of the request is not valid"));
    message.set_method(&method(&request.method)).map_err(|()| invalid("method"))?;
    let scheme = if request.url.is_https() { Scheme::Https } else { Scheme::Http };
    message.set_scheme(Some(&scheme)).map_err(|()| invalid("scheme"))?;
    message.set_authority(Some(request.url.authority())).map_err(|()| invalid("host"))?;
    message.set_path_with_query(Some(request.url.path_and_query())).map_err(|()| invalid("path"))?;

    // A body that is not taken is an empty one; one that is taken and left empty would be sent as chunks.
    let body = match &request.body {
        Some(bytes) => Some((message.body().map_err(|()| invalid("body"))?, bytes)),
        None => None,
    };
    let answer = handle(message, options(request))?;
    if let Some((outgoing, bytes)) = body {
        write_body(outgoing, bytes)?;
    }
    answer.subscribe().block();
    let response = match answer.get() {
        Some(Ok(result)) => result?,
        Some(Err(())) | None => return Err(ErrorCode::InternalError(None).into()),
    };
    read_response(&response, body_bytes_max)
}

fn header_fields(request: &HttpRequest) -> Result<Fields, HttpError> {
    let fields = Fields::new();
    for (name, value) in &request.headers {
        fields.append(name, value).map_err(|error| {
            HttpError::Invalid(match error {
                HeaderError::InvalidSyntax => format!("the header `{name}` is not valid"),
                HeaderError::Forbidden => format!("the header `{name}` is set by the host and may not be given"),
                HeaderError::Immutable => format!("the header `{name}` cannot be set"),
            })
        })?;
    }
    if let Some(body) = &request.body {
        // A length that the caller gave stays, since two would be refused; the host counts the bytes in any case.
        let length = body.len().to_string().into_bytes();
        if !fields.has("content-length") {
            fields
                .append("content-length", &length)
                .map_err(|_| HttpError::Invalid("the length of the body cannot be set".to_owned()))?;
        }
    }
    Ok(fields)
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "CONNECT" => Method::Connect,
        "OPTIONS" => Method::Options,
        "TRACE" => Method::Trace,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

fn options(request: &HttpRequest) -> Option<RequestOptions> {
    let wait_ns = u64::try_from(request.timeout?.as_nanos()).unwrap_or(u64::MAX);
    let options = RequestOptions::new();
    // A host may support none of the three; the call's own time limit then ends a slow request.
    let _unsupported = options.set_connect_timeout(Some(wait_ns));
    let _unsupported = options.set_first_byte_timeout(Some(wait_ns));
    let _unsupported = options.set_between_bytes_timeout(Some(wait_ns));
    Some(options)
}

fn write_body(outgoing: OutgoingBody, bytes: &[u8]) -> Result<(), HttpError> {
    let stream = outgoing.write().map_err(|()| HttpError::Invalid("the body cannot be written".to_owned()))?;
    for piece in bytes.chunks(WRITE_BYTES) {
        match stream.blocking_write_and_flush(piece) {
            Ok(()) => {}
            // The server stopped reading, which it may do: its answer says why, so go on to that.
            Err(StreamError::Closed) => break,
            Err(error @ StreamError::LastOperationFailed(_)) => return Err(broken(&error)),
        }
    }
    drop(stream);
    Ok(OutgoingBody::finish(outgoing, None)?)
}

fn read_response(response: &IncomingResponse, body_bytes_max: usize) -> Result<HttpResponse, HttpError> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let headers = response
        .headers()
        .entries()
        .into_iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), text(value)))
        .collect();
    let unreadable = |()| HttpError::Upstream("http-protocol-error", None);
    let incoming = response.consume().map_err(unreadable)?;
    let (body, body_was_cut) = read_body(&incoming, body_bytes_max)?;
    Ok(HttpResponse { status: response.status(), headers, body, body_was_cut })
}

fn read_body(incoming: &IncomingBody, body_bytes_max: usize) -> Result<(Vec<u8>, bool), HttpError> {
    let stream = incoming.stream().map_err(|()| HttpError::Upstream("http-protocol-error", None))?;
    let mut body = Vec::new();
    loop {
        match stream.blocking_read(READ_BYTES) {
            Ok(piece) => body.extend_from_slice(&piece),
            Err(StreamError::Closed) => return Ok((body, false)),
            Err(error @ StreamError::LastOperationFailed(_)) => return Err(broken(&error)),
        }
        if body.len() > body_bytes_max {
            body.truncate(body_bytes_max);
            return Ok((body, true));
        }
    }
}

fn broken(error: &StreamError) -> HttpError {
    match error {
        StreamError::LastOperationFailed(error) => match http_error_code(error) {
            Some(code) => code.into(),
            None => HttpError::Upstream("http-stream-error", Some(error.to_debug_string())),
        },
        StreamError::Closed => HttpError::Upstream("http-response-incomplete", None),
    }
}

/// What `blocking-write-and-flush` takes at most, by its specification.
const WRITE_BYTES: usize = 4096;
/// One read; the host may give less.
const READ_BYTES: u64 = 64 * 1024;
