//! What does a failure of the provider mean? A status or an error object goes in; what the caller can do about it comes
//! out, in the provider's own words, short and without the key.

use chitin_egress::EgressError;
use chitin_ports::ProviderError;
use chitin_types::Secret;
use serde_json::Value;

/// An answer whose status is no success.
pub(super) fn of_status(status: u16, retry_after: Option<&str>, body: &[u8]) -> ProviderError {
    let value: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    // Gemini's door for this wire wraps its errors in a list.
    let value = value.get(0).unwrap_or(&value);
    let mut said = Said::of(value.get("error").unwrap_or(value));
    if said.message.is_empty() {
        String::from_utf8_lossy(body).trim().clone_into(&mut said.message);
    }
    judge(status, retry_after, &said)
}

/// An error object inside a stream that began well.
pub(super) fn of_stream(error: &Value) -> ProviderError {
    let said = Said::of(error);
    let has = |word: &str| said.codes.contains(word);
    let status = match error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()) {
        Some(status) => status,
        None if has("rate_limit") => 429,
        None if has("authentication") || has("invalid_api_key") => 401,
        None if has("server_error") || has("overloaded") => 500,
        None => 0,
    };
    judge(status, None, &said)
}

/// A request that was not sent, or whose answer broke off.
pub(super) fn of_egress(error: &EgressError) -> ProviderError {
    if matches!(error, EgressError::TooLarge(_)) {
        ProviderError::BadAnswer(error.to_string())
    } else {
        ProviderError::Unreachable(error.to_string())
    }
}

/// The same error without the key, which some servers repeat, and short enough to be shown. The key goes first: cutting
/// first could leave half of it.
pub(super) fn scrub(error: ProviderError, key: Option<&Secret>) -> ProviderError {
    let clean = |text: String| {
        let key = key.map_or("", Secret::expose);
        let text = if key.is_empty() { text } else { text.replace(key, "[redacted]") };
        text.chars().take(MESSAGE_CHARS_MAX).collect::<String>()
    };
    match error {
        ProviderError::Unauthorized(text) => ProviderError::Unauthorized(clean(text)),
        ProviderError::Unreachable(text) => ProviderError::Unreachable(clean(text)),
        ProviderError::BadAnswer(text) => ProviderError::BadAnswer(clean(text)),
        ProviderError::Overflow | ProviderError::RateLimited { .. } => error,
    }
}

struct Said {
    message: String,
    /// Code and type together, in lower case.
    codes: String,
}

impl Said {
    fn of(error: &Value) -> Self {
        let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or("");
        let message = ["message", "detail", "error"].into_iter().map(text).find(|text| !text.is_empty());
        Self {
            message: error.as_str().or(message).unwrap_or("").trim().to_owned(),
            codes: format!("{} {}", text("code"), text("type")).to_ascii_lowercase(),
        }
    }

    fn is_overflow(&self) -> bool {
        let by_code = self.codes.contains("context") && OVERFLOW_WORDS.iter().any(|word| self.codes.contains(word));
        // vLLM and LM Studio give no code of their own; the phrase is OpenAI's.
        by_code || self.message.contains("maximum context length")
    }
}

fn judge(status: u16, retry_after: Option<&str>, said: &Said) -> ProviderError {
    let message = match (status, said.message.as_str()) {
        (0, message) => message.to_owned(),
        (status, "") => format!("status {status}"),
        (status, message) => format!("status {status}: {message}"),
    };
    match status {
        401 | 403 => ProviderError::Unauthorized(message),
        // A date instead of seconds is not worth a clock here.
        429 => ProviderError::RateLimited {
            retry_after_ms: retry_after
                .and_then(|seconds| seconds.trim().parse::<u64>().ok())
                .map(|seconds| seconds.saturating_mul(1000)),
        },
        413 => ProviderError::Overflow,
        _ if said.is_overflow() => ProviderError::Overflow,
        408 | 500..=599 => ProviderError::Unreachable(message),
        _ => ProviderError::BadAnswer(message),
    }
}

const OVERFLOW_WORDS: [&str; 5] = ["exceed", "length", "window", "size", "overflow"];
/// A sentence for a person; a page of HTML from a proxy is none.
const MESSAGE_CHARS_MAX: usize = 300;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_says_what_can_be_done() {
        let check = |status: u16, retry_after: Option<&str>, body: &str, expected: ProviderError| {
            assert_eq!(of_status(status, retry_after, body.as_bytes()), expected, "{status} {body}");
        };
        let unauthorized = |text: &str| ProviderError::Unauthorized(text.to_owned());
        let unreachable = |text: &str| ProviderError::Unreachable(text.to_owned());
        let bad = |text: &str| ProviderError::BadAnswer(text.to_owned());
        let limited = |retry_after_ms: Option<u64>| ProviderError::RateLimited { retry_after_ms };
        check(401, None, r#"{"error":{"message":"wrong key","type":"x"}}"#, unauthorized("status 401: wrong key"));
        check(403, None, "", unauthorized("status 403"));
        check(429, Some("7"), "{}", limited(Some(7_000)));
        check(429, Some("Wed, 21 Oct 2026 07:28:00 GMT"), "{}", limited(None));
        check(429, None, "{}", limited(None));
        check(413, None, "too large", ProviderError::Overflow);
        check(400, None, r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#, ProviderError::Overflow);
        check(400, None, r#"{"error":{"code":400,"type":"exceed_context_size_error"}}"#, ProviderError::Overflow);
        check(400, None, r#"{"message":"This model's maximum context length is 8"}"#, ProviderError::Overflow);
        check(400, None, r#"{"error":{"message":"lost the context"}}"#, bad("status 400: lost the context"));
        check(500, None, "<html>", unreachable("status 500: <html>"));
        check(503, None, r#"{"detail":"loading"}"#, unreachable("status 503: loading"));
        check(408, None, "", unreachable("status 408"));
        check(404, None, r#"{"error":"no such model"}"#, bad("status 404: no such model"));
        check(302, None, "", bad("status 302"));
        check(400, None, r#"[{"error":{"code":400,"message":"bad"}}]"#, bad("status 400: bad"));
    }

    #[test]
    fn an_error_inside_a_stream_is_judged_by_its_code() {
        let check = |error: Value, expected: ProviderError| assert_eq!(of_stream(&error), expected, "{error}");
        check(json!({ "code": 429, "message": "m" }), ProviderError::RateLimited { retry_after_ms: None });
        check(json!({ "type": "rate_limit_error" }), ProviderError::RateLimited { retry_after_ms: None });
        check(json!({ "code": 502, "message": "m" }), ProviderError::Unreachable("status 502: m".to_owned()));
        let down = ProviderError::Unreachable("status 500: m".to_owned());
        check(json!({ "type": "server_error", "message": "m" }), down);
        check(json!({ "code": "context_length_exceeded" }), ProviderError::Overflow);
        check(json!("boom"), ProviderError::BadAnswer("boom".to_owned()));
    }

    #[test]
    fn the_key_never_shows_and_texts_are_short() {
        let key = Secret::new("sk-secret");
        let scrubbed = |text: String| match scrub(ProviderError::BadAnswer(text), Some(&key)) {
            ProviderError::BadAnswer(text) => text,
            other => panic!("another error: {other}"),
        };
        assert_eq!(scrubbed("no sk-secret here".to_owned()), "no [redacted] here");
        assert_eq!(scrubbed("x".repeat(1_000)).len(), MESSAGE_CHARS_MAX);
        let at_the_edge = scrubbed(format!("{}sk-secret", "x".repeat(MESSAGE_CHARS_MAX - 4)));
        assert!(!at_the_edge.contains("sk-"), "{at_the_edge}");
    }
}
