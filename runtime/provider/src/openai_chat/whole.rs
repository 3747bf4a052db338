//! How is a reply read that comes at once? The bytes of one JSON object go in, one reply comes out.

use chitin_ports::{ChatReply, ProviderError};
use serde_json::Value;

use super::{
    draft::{Cut, Draft},
    refusal,
};

/// Reads a reply.
///
/// # Errors
/// It is no JSON, holds an error, or holds no answer.
pub(super) fn reply(body: &[u8]) -> Result<ChatReply, ProviderError> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| ProviderError::BadAnswer(format!("the answer is no JSON: {error}")))?;
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        return Err(refusal::of_stream(error));
    }
    let none = || ProviderError::BadAnswer("the answer holds no message".to_owned());
    let choice = value.pointer("/choices/0").ok_or_else(none)?;
    let message = choice.get("message").filter(|message| message.is_object()).ok_or_else(none)?;
    let mut draft = Draft::default();
    draft.add(Cut::Whole, message)?;
    draft.finish(choice.get("finish_reason"));
    draft.cost(value.get("usage"));
    Ok(draft.into_reply())
}

#[cfg(test)]
mod tests {
    use chitin_ports::{StopReason, Usage};
    use chitin_types::ToolCall;

    use super::*;

    #[test]
    fn a_reply_is_read_whatever_else_is_in_it() {
        let check = |body: &str, expected: ChatReply| assert_eq!(reply(body.as_bytes()), Ok(expected), "{body}");
        let said = |text: &str, stop: StopReason| ChatReply { text: text.to_owned(), calls: vec![], stop, usage: None };
        check(
            r#"{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#,
            said("hi", StopReason::End),
        );
        check(r#"{"choices":[{"message":{"content":null},"finish_reason":null}]}"#, said("", StopReason::End));
        check(
            r#"{"choices":[{"message":{"content":"so","new":{}},"finish_reason":"length","logprobs":null}],"new":1}"#,
            said("so", StopReason::Length),
        );
        let call = ToolCall { id: "c".to_owned(), name: "f".to_owned(), arguments: r#"{"a":1}"#.to_owned() };
        check(
            r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c","type":"function",
                "function":{"name":"f","arguments":{"a":1}}}]},"finish_reason":"tool_calls"}],
                "usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}"#,
            ChatReply {
                text: String::new(),
                calls: vec![call],
                stop: StopReason::ToolCalls,
                usage: Some(Usage { input_tokens: 5, output_tokens: 7 }),
            },
        );
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        let no_message = r#"{"choices":[{"message":7}]}"#;
        for body in ["", "[]", "{}", r#"{"choices":[]}"#, r#"{"choices":[{}]}"#, "<html>", no_message] {
            assert!(matches!(reply(body.as_bytes()), Err(ProviderError::BadAnswer(_))), "{body}");
        }
        let error = r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#;
        assert_eq!(reply(error.as_bytes()), Err(ProviderError::Overflow));
    }
}
