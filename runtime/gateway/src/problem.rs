//! How does the gateway say no? One form for every refusal, after RFC 9457, and the headers of every response.

use axum::{
    extract::Request,
    http::{
        HeaderName, HeaderValue, StatusCode,
        header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde_json::json;

/// A refusal on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    detail: String,
    retry_after_s: Option<u64>,
}

impl Problem {
    /// A refusal with one sentence for whoever asked; it never holds a secret.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        if let Some((end, _)) = detail.char_indices().nth(DETAIL_CHARS_MAX) {
            detail.truncate(end);
        }
        Self { status, detail, retry_after_s: None }
    }

    /// The same refusal, saying when it makes sense to try again.
    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let title = self.status.canonical_reason().unwrap_or("Error");
        let body = json!({
            "type": "about:blank",
            "title": title,
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        let mut response =
            (self.status, [(CONTENT_TYPE, "application/problem+json")], body.to_string()).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Adds what keeps a browser from doing more with an answer than reading it.
pub(crate) async fn harden(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in HARDENING {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// No answer of ours is a page: what a channel's component answers is not to be run, framed, guessed at or kept.
const HARDENING: [(&str, &str); 5] = [
    ("cache-control", "no-store"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'; sandbox"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];
/// Characters of a sentence. A parser's message may repeat what was sent, which may be a MiB.
const DETAIL_CHARS_MAX: usize = 300;

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn a_refusal_is_problem_json() {
        let response = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too many").retry_after(60).into_response();
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        assert_eq!(response.headers()["retry-after"], "60");
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        let expected = r#"{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"too many"}"#;
        assert_eq!(body, expected);
    }

    #[test]
    fn a_sentence_is_cut_between_characters() {
        let problem = Problem::new(StatusCode::BAD_REQUEST, "é".repeat(1000));
        assert_eq!(problem.detail().chars().count(), DETAIL_CHARS_MAX);
    }
}
