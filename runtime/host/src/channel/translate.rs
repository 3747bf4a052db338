//! How do the words of the ports become those of the WIT, and back? What comes from the guest is bounded here, before
//! anybody else sees it.

use chitin_ports::{ChannelError, HttpIn, HttpOut, Outbound};
use chitin_types::{Denial, Failure, FailureKind, ToolOutcome};

use super::wit::chitin::channel::types as wire;
use crate::{capability::plain::plain, outcome::from_failure, state::CallContext, wit::wire::Failure as WireFailure};

/// A checked request, as the guest gets it.
pub(super) fn request(request: HttpIn) -> wire::InboundHttp {
    let HttpIn { route, method, path, query, headers, body } = request;
    wire::InboundHttp { route, method, path, query, headers, body }
}

/// The guest's answer to a request, if it can be sent.
pub(super) fn reply(reply: wire::ReplyHttp) -> Result<HttpOut, ChannelError> {
    let wire::ReplyHttp { status, headers, body } = reply;
    // A status below 200 promises another answer after it.
    if !(200..=599).contains(&status) {
        return Err(ChannelError::Refused(format!("the component answered with status {status}")));
    }
    if body.len() > REPLY_BYTES_MAX {
        let message = format!("the component answered {} bytes; {REPLY_BYTES_MAX} can be sent", body.len());
        return Err(ChannelError::Refused(message));
    }
    let content_type = headers.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let headers = content_type
        .filter(|(_, value)| is_harmless(value))
        .map(|(_, value)| vec![("content-type".to_owned(), value)])
        .unwrap_or_default();
    Ok(HttpOut { status, headers, body })
}

/// An answer on its way out.
pub(super) fn outbound(message: Outbound) -> wire::Outbound {
    let Outbound { target, thread, text, in_reply_to } = message;
    wire::Outbound { to: wire::Address { target, thread }, text, attachments: Vec::new(), in_reply_to }
}

/// The platform's id of what was sent.
pub(super) fn receipt(receipt: &wire::Receipt) -> String {
    plain(&receipt.id, RECEIPT_BYTES_MAX)
}

/// The guest's no, by what whoever called can do about it.
pub(super) fn refusal(call: &CallContext, failure: WireFailure) -> ChannelError {
    match from_failure(call, failure) {
        ToolOutcome::Failed(failure) => from_guest(&failure),
        ToolOutcome::Denied(Denial { rule: _, reason, help }) => {
            ChannelError::Refused(help.map_or(reason.clone(), |help| format!("{reason} ({help})")))
        }
        other @ (ToolOutcome::Done(_)
        | ToolOutcome::InvalidInput(_)
        | ToolOutcome::Refused(_)
        | ToolOutcome::Limited(_)
        | ToolOutcome::Broke(_)
        | ToolOutcome::Untrusted(_)
        | ToolOutcome::Cancelled) => ChannelError::Refused(other.text_for_model()),
    }
}

fn from_guest(failure: &Failure) -> ChannelError {
    let reason = plain(&failure.message, REASON_BYTES_MAX);
    match failure.kind {
        FailureKind::Upstream | FailureKind::Limited => ChannelError::NotReady {
            reason,
            retry_after_ms: failure.retry_after_ms.unwrap_or(RETRY_MS).min(RETRY_MS_MAX),
        },
        FailureKind::InvalidInput
        | FailureKind::Denied
        | FailureKind::NeedsAuth
        | FailureKind::NotFound
        | FailureKind::Conflict
        | FailureKind::Internal
        | FailureKind::Cancelled
        | FailureKind::Other => ChannelError::Refused(reason),
    }
}

/// Whether a browser shows this type without running anything in it: the answer comes from the gateway's own origin.
fn is_harmless(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    HARMLESS.contains(&essence.as_str())
        && content_type.len() <= CONTENT_TYPE_BYTES_MAX
        && content_type.bytes().all(|b| (b' '..=b'~').contains(&b))
}

/// What platforms want to hear back: JSON, a word of text, or a form.
const HARMLESS: [&str; 3] = ["application/json", "text/plain", "application/x-www-form-urlencoded"];
/// Longest content type in bytes, against a header that outgrows its limit.
const CONTENT_TYPE_BYTES_MAX: usize = 128;
/// Largest answer to a request in bytes; a platform reads a word or two.
const REPLY_BYTES_MAX: usize = 256 * 1024;
/// Longest id that a platform gives what was sent; it is stored with the message.
const RECEIPT_BYTES_MAX: usize = 1_024;
/// Longest reason of the guest that is shown.
const REASON_BYTES_MAX: usize = 2_048;
/// When the platform failed and nobody said when to come back.
const RETRY_MS: u64 = 5_000;
/// A guest that asks for more would silence its channel for good.
const RETRY_MS_MAX: u64 = 3_600_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, headers: &[(&str, &str)], bytes: usize) -> Result<HttpOut, ChannelError> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        reply(wire::ReplyHttp { status, headers, body: vec![b'x'; bytes] })
    }

    #[test]
    fn an_answer_has_a_final_status_and_a_bounded_body() {
        for (status, bytes, sent) in
            [(200, 0, true), (599, REPLY_BYTES_MAX, true), (100, 0, false), (600, 0, false), (0, 0, false)]
        {
            assert_eq!(answered(status, &[], bytes).is_ok(), sent, "{status}");
        }
        assert!(answered(200, &[], REPLY_BYTES_MAX + 1).is_err());
    }

    #[test]
    fn of_the_headers_only_a_harmless_content_type_is_sent() {
        let check = |headers: &[(&str, &str)], expected: &[(&str, &str)]| {
            let sent = answered(200, headers, 1).expect("the answer is good").headers;
            let sent: Vec<(&str, &str)> = sent.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(sent, expected, "{headers:?}");
        };
        check(
            &[("Content-Type", "application/json; charset=utf-8"), ("set-cookie", "a=b"), ("location", "//x")],
            &[("content-type", "application/json; charset=utf-8")],
        );
        check(&[("content-type", "text/html")], &[]);
        check(&[("content-type", "text/plain\r\nset-cookie: a=b")], &[]);
        check(&[], &[]);
    }

    #[test]
    fn a_failure_of_the_platform_can_be_tried_again_and_a_no_of_the_component_cannot() {
        let said = |kind, retry_after_ms| {
            from_guest(&Failure { kind, code: None, message: "no\u{1b}[2J".to_owned(), retry_after_ms })
        };
        let later = |retry_after_ms| ChannelError::NotReady { reason: "no[2J".to_owned(), retry_after_ms };
        assert_eq!(said(FailureKind::Upstream, None), later(RETRY_MS));
        assert_eq!(said(FailureKind::Limited, Some(7)), later(7));
        assert_eq!(said(FailureKind::Upstream, Some(u64::MAX)), later(RETRY_MS_MAX));
        assert_eq!(said(FailureKind::NeedsAuth, Some(7)), ChannelError::Refused("no[2J".to_owned()));
    }
}
