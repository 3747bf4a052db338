//! What was sent? A request's body goes in, bounded in bytes and time; its bytes or its JSON come out.

use std::time::Duration;

use axum::{
    body::{Body, HttpBody as _},
    extract::Request,
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
};
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::problem::Problem;

/// The whole body as JSON. Only `application/json` is taken: a page of another site can send a form or plain text
/// without asking first, but not this.
pub(crate) async fn json<T: DeserializeOwned>(request: Request) -> Result<T, Problem> {
    let (parts, body) = request.into_parts();
    if !is_json(&parts.headers) {
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send application/json"));
    }
    let bytes = bytes(body).await?;
    // A list of values would be read as the fields in their order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "the body is no JSON object"));
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        Problem::new(StatusCode::BAD_REQUEST, format!("the body is not what this route takes: {error}"))
    })
}

/// The whole body.
pub(crate) async fn bytes(body: Body) -> Result<Vec<u8>, Problem> {
    within(READ_MAX, body).await
}

/// The whole body of somebody who has shown nothing yet: no platform takes this long for what it sends.
pub(crate) async fn of_stranger(body: Body) -> Result<Vec<u8>, Problem> {
    within(STRANGER_READ_MAX, body).await
}

async fn within(time: Duration, body: Body) -> Result<Vec<u8>, Problem> {
    let late = |_| Err(Problem::new(StatusCode::REQUEST_TIMEOUT, format!("the body took longer than {time:?}")));
    timeout(time, read(body)).await.unwrap_or_else(late)
}

async fn read(mut body: Body) -> Result<Vec<u8>, Problem> {
    let too_large = || Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a body is at most {BYTES_MAX} bytes"));
    if body.size_hint().lower() > DRAINED_BYTES_MAX as u64 {
        return Err(too_large());
    }
    let mut held = Vec::new();
    let mut seen = 0usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "the body broke off"))?;
        // Trailers carry nothing that is read here.
        let Ok(data) = frame.into_data() else { continue };
        seen = seen.saturating_add(data.len());
        if seen <= BYTES_MAX {
            held.extend_from_slice(&data);
        } else {
            // Read on without keeping it: a client that is still sending when the connection closes sees a broken
            // connection in place of the answer.
            held = Vec::new();
        }
        if seen > DRAINED_BYTES_MAX {
            break;
        }
    }
    if seen > BYTES_MAX { Err(too_large()) } else { Ok(held) }
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let essence = value.as_bytes().split(|b| *b == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// A body that is kept. A message is at most as long; more would let one request take the memory.
pub(crate) const BYTES_MAX: usize = 1024 * 1024;
/// A body that is read to its end in order to answer; what is longer is cut off.
const DRAINED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// From the first byte of a body to its last. A sender who drips would hold a place for ever.
const READ_MAX: Duration = Duration::from_secs(30);
/// The same for a webhook, whose signature can only be checked when the body is there.
const STRANGER_READ_MAX: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_is_taken_to_the_limit_and_not_beyond() {
        let check = async |length: usize, expected: Option<usize>| {
            let taken = bytes(Body::from(vec![b'x'; length])).await;
            assert_eq!(taken.ok().map(|b| b.len()), expected, "{length}");
        };
        check(0, Some(0)).await;
        check(BYTES_MAX, Some(BYTES_MAX)).await;
        check(BYTES_MAX + 1, None).await;
        check(DRAINED_BYTES_MAX + 1, None).await;
    }

    #[tokio::test]
    async fn an_endless_body_is_cut_off() {
        let piece = || Ok::<_, std::io::Error>(bytes::Bytes::from_static(&[b'x'; 4096]));
        let endless = Body::from_stream(futures::stream::repeat_with(piece));
        assert_eq!(bytes(endless).await.expect_err("refused").status, 413);
    }

    #[tokio::test]
    async fn a_body_that_stands_still_is_given_up() {
        let still = Body::from_stream(futures::stream::pending::<Result<bytes::Bytes, std::io::Error>>());
        assert_eq!(within(Duration::from_millis(1), still).await.expect_err("refused").status, 408);
    }

    #[test]
    fn only_json_is_json() {
        let check = |value: Option<&str>, expected: bool| {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(CONTENT_TYPE, value.parse().expect("a header"));
            }
            assert_eq!(is_json(&headers), expected, "{value:?}");
        };
        check(Some("application/json"), true);
        check(Some("Application/JSON; charset=utf-8"), true);
        check(None, false);
        check(Some("text/plain"), false);
        check(Some("application/x-www-form-urlencoded"), false);
        check(Some("text/plain; application/json"), false);
    }
}
