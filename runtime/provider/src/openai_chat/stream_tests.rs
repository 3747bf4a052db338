//! Does a stream give the same reply however it is cut, and never half a reply as a whole one?

use std::sync::Mutex;

use chitin_ports::{StopReason, Usage};
use chitin_types::ToolCall;

use super::*;

#[derive(Default)]
struct Heard(Mutex<String>);

impl TextSink for Heard {
    fn text(&self, piece: &str) {
        self.0.lock().expect("no panic before").push_str(piece);
    }
}

fn read(pieces: &[&[u8]]) -> (Result<ChatReply, ProviderError>, String) {
    let heard = Heard::default();
    let mut stream = Stream::new(Some(&heard));
    let fed = pieces.iter().try_for_each(|piece| stream.feed(piece));
    let result = fed.and_then(|()| stream.finish());
    (result, heard.0.into_inner().expect("no panic before"))
}

fn said(text: &str, calls: &[(&str, &str, &str)], stop: StopReason, usage: Option<Usage>) -> ChatReply {
    let calls = calls.iter().map(|(id, name, arguments)| ToolCall {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    });
    ChatReply { text: text.to_owned(), calls: calls.collect(), stop, usage }
}

const TEXT: &str = concat!(
    ": welcome\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"Grüße, \"},\"finish_reason\":null}],\"usage\":null}\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"🦀!\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\r\n\r\n",
    "data: [DONE]\r\n\r\n",
);

const CALLS: &str = concat!(
    "data: {\"choices\":[{\"delta\":{\"content\":null,\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",",
    "\"function\":{\"name\":\"fs__file_read\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,",
    "\"function\":{\"arguments\":\"{\\\"path\\\":\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"name\":\"time__now\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,",
    "\"function\":{\"arguments\":\"\\\"ä\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: [DONE]\n\n",
);

#[test]
fn every_split_gives_the_same_reply() {
    let usage = Some(Usage { input_tokens: 3, output_tokens: 4 });
    let calls = [("a", "fs__file_read", "{\"path\":\"ä\"}"), ("call_1", "time__now", "{}")];
    for (stream, expected) in [
        (TEXT, said("Grüße, 🦀!", &[], StopReason::End, usage)),
        (CALLS, said("", &calls, StopReason::ToolCalls, None)),
    ] {
        let bytes = stream.as_bytes();
        for at in 0..=bytes.len() {
            let (head, tail) = bytes.split_at(at);
            let (reply, heard) = read(&[head, tail]);
            assert_eq!(reply.as_ref(), Ok(&expected), "split at {at}");
            assert_eq!(heard, expected.text, "split at {at}");
        }
        let singly: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&singly).0, Ok(expected));
    }
}

#[test]
fn a_stream_that_breaks_off_is_no_answer_unless_only_figures_are_missing() {
    let bytes = TEXT.as_bytes();
    let reason = TEXT.find("data: {\"choices\":[{\"delta\":{},").expect("is there");
    // The event with the reason ends with its last brace: even without a line end after it, nothing is missing.
    let whole = TEXT.find("\"stop\"}]}").expect("is there") + "\"stop\"}]}".len();
    for at in 0..bytes.len() {
        let (head, _) = bytes.split_at(at);
        let (reply, _) = read(&[head]);
        if at < whole {
            assert!(matches!(reply, Err(ProviderError::Unreachable(_))), "cut at {at} (reason at {reason}): {reply:?}");
        } else {
            assert_eq!(reply.map(|reply| reply.text), Ok("Grüße, 🦀!".to_owned()), "cut at {at}");
        }
    }
}

#[test]
fn odd_streams_have_one_meaning_each() {
    let unreachable = |text: &str| Err(ProviderError::Unreachable(text.to_owned()));
    let check = |stream: &str, expected: Result<ChatReply, ProviderError>| {
        assert_eq!(read(&[stream.as_bytes()]).0, expected, "{stream}");
    };
    let event = |json: &str| format!("data: {json}\n\n");
    let hi = event(r#"{"choices":[{"delta":{"content":"hi"}}]}"#);
    check(&format!("{hi}data: [DONE]\n\n"), Ok(said("hi", &[], StopReason::End, None)));
    check(&format!("{hi}data: [DONE]"), Ok(said("hi", &[], StopReason::End, None)));
    check(&format!("{hi}data: [DONE]\n\ndata: <garbage>\n\n"), Ok(said("hi", &[], StopReason::End, None)));
    check(&hi, unreachable("the stream broke off before the answer was whole"));
    check("", unreachable("the stream broke off before the answer was whole"));
    let error = event(r#"{"error":{"message":"overloaded","code":503}}"#);
    check(&format!("{hi}{error}"), unreachable("status 503: overloaded"));
    check(&event(r#"{"error":{"code":"context_length_exceeded"}}"#), Err(ProviderError::Overflow));
    let none = ProviderError::BadAnswer("the stream holds no answer".to_owned());
    check("data: [DONE]\n\n", Err(none));
}

#[test]
fn what_is_no_event_of_this_wire_is_refused() {
    let endless = format!("data: {}\n\n", "x".repeat(2 << 20));
    for stream in ["data: <html>\n\n", "data: {\n\n", &endless] {
        assert!(matches!(read(&[stream.as_bytes()]).0, Err(ProviderError::BadAnswer(_))));
    }
}
