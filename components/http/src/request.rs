//! `http_request`: one request, and the answer of the server as it is.

use std::collections::BTreeMap;

use chitin_sdk::http::{HttpRequest, HttpResponse, Url};
use chitin_sdk::{Failure, Json, tool};
use serde::Serialize;

use crate::{BODY_BYTES_MAX, TEXT_BYTES_MAX, WAIT_MAX, charset};

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Answer {
    status: u16,
    /// Values of a name that came more than once are joined by commas.
    headers: BTreeMap<String, String>,
    /// Absent when the body is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// As received, before it was cut or decoded.
    body_bytes: usize,
    /// True when there was more than `body` shows.
    cut: bool,
}

/// Sends one HTTP request and gives the status, headers and body of the answer, also when the status is an error. Redirects
/// are not followed. To read a web page use `web_fetch`.
#[tool(reads, writes, open_world, title = "Send an HTTP request")]
pub(crate) fn http_request(
    /// The method.
    #[arg(choices = METHODS)]
    method: String,
    /// An absolute http or https address.
    #[arg(min_length = 8, max_length = 8192)]
    url: String,
    /// Names and values.
    headers: Option<BTreeMap<String, String>>,
    /// The body; set `content-type` in `headers`.
    body: Option<String>,
) -> Result<Json<Answer>, Failure> {
    let method = method.to_ascii_uppercase();
    if !METHODS.contains(&method.as_str()) {
        let message = format!("argument `method`: `{method}` is not one of {}", METHODS.join(", "));
        return Err(Failure::invalid_input(message).with_code("bad-argument"));
    }
    let mut request = HttpRequest::new(&method, Url::parse(&url)?).timeout(WAIT_MAX);
    for (name, value) in headers.iter().flatten() {
        request = request.header(name, value);
    }
    if let Some(body) = body {
        request = request.body(body);
    }
    Ok(Json(answer(request.send(BODY_BYTES_MAX)?)))
}

fn answer(response: HttpResponse) -> Answer {
    let body_bytes = response.body.len();
    let mut body = charset::text(&response.body, response.header("content-type"));
    let shortened = body.as_mut().is_some_and(|text| cut_as_json(text, TEXT_BYTES_MAX));
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    let mut room = HEADER_BYTES_MAX;
    for (name, value) in response.headers {
        room = room.saturating_sub(name.len() + value.len());
        if room == 0 {
            break;
        }
        headers.entry(name).and_modify(|known| known.push_str(&format!(", {value}"))).or_insert(value);
    }
    Answer { status: response.status, headers, body, body_bytes, cut: shortened || response.body_was_cut }
}

/// Shortens to what fits once it is escaped: a body of quotation marks doubles in size on its way out.
fn cut_as_json(text: &mut String, escaped_bytes_max: usize) -> bool {
    let mut room = escaped_bytes_max;
    let fits = |c: char| {
        let cost = match c {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            control if control < ' ' => 6,
            other => other.len_utf8(),
        };
        room.checked_sub(cost).map(|left| room = left).is_none()
    };
    let end = text.find(fits);
    text.truncate(end.unwrap_or(text.len()));
    end.is_some()
}

/// What a tool may want to send. `CONNECT` and `TRACE` are for proxies and for looking at them.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// Servers send megabytes of cookies and policies when nobody stops them.
const HEADER_BYTES_MAX: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn response(headers: &[(&str, &str)], body: &[u8]) -> HttpResponse {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        HttpResponse { status: 200, headers, body: body.to_vec(), body_was_cut: false }
    }

    #[test]
    fn a_text_body_is_given_as_text() {
        let answer = answer(response(&[("content-type", "application/json"), ("a", "1"), ("a", "2")], b"{}"));
        assert_eq!(answer.headers.get("a").map(String::as_str), Some("1, 2"));
        assert_eq!((answer.body.as_deref(), answer.body_bytes, answer.cut), (Some("{}"), 2, false));
    }

    #[test]
    fn a_body_that_is_not_text_is_counted_only() {
        let answer = answer(response(&[("content-type", "image/png")], b"\x89PNG\r\n\x1a\n\0"));
        assert_eq!((answer.body, answer.body_bytes, answer.cut), (None, 9, false));
    }

    #[test]
    fn a_long_body_is_cut_and_says_so() {
        let answer = answer(response(&[], "é".repeat(TEXT_BYTES_MAX).as_bytes()));
        assert_eq!((answer.body.map(|text| text.len()), answer.cut), (Some(TEXT_BYTES_MAX), true));
    }

    #[test]
    fn a_body_is_measured_as_it_is_sent() {
        for (mut text, expected) in
            [("ab\"cd".to_owned(), "ab\""), ("a\u{1}b".to_owned(), "a"), ("abcd".to_owned(), "abcd")]
        {
            cut_as_json(&mut text, 4);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn headers_are_bounded() {
        let long = "x".repeat(HEADER_BYTES_MAX);
        let answer = answer(response(&[("a", "1"), ("b", &long), ("c", "2")], b""));
        assert_eq!(answer.headers.into_keys().collect::<Vec<_>>(), ["a"]);
    }
}
