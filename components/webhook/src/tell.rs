//! How does an answer leave, and what does the other side say to it? An answer goes in, the body and header of a request come
//! out; a response goes in, an id or a failure comes out.

use chitin_sdk::{Failure, http::HttpResponse};
use serde_json::{Value, json};

use crate::bindings::exports::chitin::channel::core::Outbound;

/// What is posted.
pub(crate) fn body(message: &Outbound) -> Result<Vec<u8>, Failure> {
    if !message.attachments.is_empty() {
        return Err(Failure::other("this channel sends no files").with_code("no-attachments"));
    }
    let body = json!({
        "in_reply_to": message.in_reply_to,
        "conversation": message.to.target,
        "thread": message.to.thread,
        "text": message.text,
    });
    Ok(body.to_string().into_bytes())
}

/// The same for each try to send the same answer, so that the other side can drop the second. What a header cannot hold is
/// percent-encoded, and so is the percent sign: no two ids have one key.
pub(crate) fn idempotency_key(id: &str) -> String {
    let mut key = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            key.push(char::from(byte));
        } else {
            key.push_str(&format!("%{byte:02X}"));
        }
    }
    key
}

/// The id of what was sent: the one in the response, else that of the message that was answered.
pub(crate) fn receipt(response: &HttpResponse, in_reply_to: Option<&str>) -> Result<String, Failure> {
    let status = response.status;
    match status {
        200..=299 => {
            let told: Option<Value> = serde_json::from_slice(&response.body).ok();
            let id = told.as_ref().and_then(|told| told.get("id")).and_then(Value::as_str);
            Ok(id.or(in_reply_to).unwrap_or("sent").to_owned())
        }
        408 | 425 | 429 | 500..=599 => {
            let failure = Failure::upstream(format!("reply_url answered {status}")).with_code("reply-failed");
            Err(match retry_after_ms(response) {
                Some(wait_ms) => failure.retry_after_ms(wait_ms),
                None => failure,
            })
        }
        _ => Err(Failure::other(format!("reply_url answered {status}")).with_code("reply-refused")),
    }
}

/// Only seconds: a date would need the clock of the other side.
fn retry_after_ms(response: &HttpResponse) -> Option<u64> {
    let seconds: u64 = response.header("retry-after")?.trim().parse().ok()?;
    Some(seconds.saturating_mul(1_000))
}

#[cfg(test)]
mod tests {
    use chitin_sdk::FailureKind;

    use super::*;
    use crate::bindings::chitin::channel::types::Address;

    fn response(status: u16, headers: &[(&str, &str)], body: &str) -> HttpResponse {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        HttpResponse { status, headers, body: body.as_bytes().to_vec(), body_was_cut: false }
    }

    #[test]
    fn an_answer_says_what_it_answers_and_where() {
        let message = |thread: Option<&str>, in_reply_to: Option<&str>| Outbound {
            to: Address { target: "room".to_owned(), thread: thread.map(str::to_owned) },
            text: "hello \"you\"".to_owned(),
            attachments: Vec::new(),
            in_reply_to: in_reply_to.map(str::to_owned),
        };
        let check = |message: &Outbound, expected: Value| {
            let body = body(message).expect("it has no files");
            assert_eq!(serde_json::from_slice::<Value>(&body).expect("it is JSON"), expected);
        };
        check(
            &message(Some("t"), Some("m-1")),
            json!({ "in_reply_to": "m-1", "conversation": "room", "thread": "t", "text": "hello \"you\"" }),
        );
        check(
            &message(None, None),
            json!({ "in_reply_to": null, "conversation": "room", "thread": null, "text": "hello \"you\"" }),
        );
    }

    #[test]
    fn a_key_fits_into_a_header_and_is_the_ids_own() {
        for (id, key) in [("m-1:x/y", "m-1:x/y"), ("a b", "a%20b"), ("a%20b", "a%2520b"), ("é\n", "%C3%A9%0A")] {
            assert_eq!(idempotency_key(id), key);
        }
    }

    #[test]
    fn the_id_comes_from_the_response_where_it_gives_one() {
        for (body, in_reply_to, expected) in [
            (r#"{"id":"r-1"}"#, Some("m-1"), "r-1"),
            (r#"{"id":7}"#, Some("m-1"), "m-1"),
            ("ok", Some("m-1"), "m-1"),
            ("", None, "sent"),
        ] {
            assert_eq!(receipt(&response(200, &[], body), in_reply_to).as_deref().ok(), Some(expected), "{body}");
        }
    }

    #[test]
    fn what_may_work_later_is_told_from_what_will_not() {
        let check = |status: u16, headers: &[(&str, &str)], kind: FailureKind, retry_after_ms: Option<u64>| {
            let failure = receipt(&response(status, headers, ""), None).expect_err("it was not taken");
            assert_eq!((failure.kind, failure.retry_after_ms), (kind, retry_after_ms), "{status}");
        };
        check(503, &[("Retry-After", "7")], FailureKind::Upstream, Some(7_000));
        check(500, &[("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT")], FailureKind::Upstream, None);
        check(429, &[], FailureKind::Upstream, None);
        check(404, &[("retry-after", "7")], FailureKind::Other, None);
        check(302, &[], FailureKind::Other, None);
    }
}
