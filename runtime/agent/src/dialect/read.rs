//! What does a reply ask for? A reply as the wire gave it goes in; the same reply with the calls of its text comes out.

use std::cell::LazyCell;

use chitin_ports::{ChatReply, StopReason};
use chitin_types::{Message, ToolCall, ToolSpec};

use super::{scan::scan, speech::Form};

/// Reads calls from the text. `given` is what the model was given: a call that stands there word by word is a
/// quotation, of a tool's result for example, and not the model's own.
pub(super) fn reply(form: Form, tools: &[ToolSpec], given: &[Message], reply: ChatReply) -> ChatReply {
    // Calls in the wire's own form are what is meant; and no call is without a tag.
    if !reply.calls.is_empty() || !reply.text.contains('<') {
        return reply;
    }
    let (text, calls) = split(&reply.text, tools, given);
    let is_meant = match form {
        // A wire with tools of its own needs no tags; where there is text beside them, they are talked about.
        Form::Native => text.trim().is_empty(),
        Form::Written => true,
    };
    if calls.is_empty() || !is_meant {
        return reply;
    }
    ChatReply { text: text.trim_end().to_owned(), calls, stop: StopReason::ToolCalls, usage: reply.usage }
}

fn split(text: &str, tools: &[ToolSpec], given: &[Message]) -> (String, Vec<ToolCall>) {
    let given = LazyCell::new(|| given.iter().filter_map(given_text).map(squeezed).collect::<Vec<String>>());
    let is_echo = |source: &str| {
        let source = squeezed(source);
        given.iter().any(|text| text.contains(&source))
    };
    let scanned = scan(text, tools, &is_echo);
    let calls = scanned.calls.into_iter().enumerate().map(|(index, call)| ToolCall {
        id: format!("call_{index}"),
        name: call.name,
        arguments: call.arguments,
    });
    (scanned.text, calls.collect())
}

fn given_text(message: &Message) -> Option<&str> {
    match message {
        Message::User { text } | Message::Tool { text, .. } => Some(text),
        Message::Assistant { .. } => None,
    }
}

// White space is what a model changes when it repeats something.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{answer, call, question, result, tool_call};

    const CALL: &str = r#"<tool_call>{"name":"box__read","arguments":{"n":1}}</tool_call>"#;

    fn said(text: &str, calls: Vec<ToolCall>, stop: StopReason) -> ChatReply {
        ChatReply { text: text.to_owned(), calls, stop, usage: None }
    }

    fn check(form: Form, given: &[Message], text: &str, expected: &ChatReply) {
        let found = reply(form, &[], given, said(text, vec![], StopReason::End));
        assert_eq!(&found, expected, "{form:?}: {text}");
    }

    #[test]
    fn a_wire_without_tools_is_read_for_calls() {
        let one = || vec![tool_call("call_0", "box__read", r#"{"n":1}"#)];
        let with = format!("I look.\n{CALL}\n");
        check(Form::Written, &[], CALL, &said("", one(), StopReason::ToolCalls));
        check(Form::Written, &[], &with, &said("I look.", one(), StopReason::ToolCalls));
        check(Form::Native, &[], CALL, &said("", one(), StopReason::ToolCalls));
        check(Form::Native, &[], &format!("\n {CALL}\n"), &said("", one(), StopReason::ToolCalls));
        check(Form::Native, &[], &with, &said(&with, vec![], StopReason::End));
        check(Form::Written, &[], "1 < 2", &said("1 < 2", vec![], StopReason::End));
    }

    #[test]
    fn several_calls_have_several_ids() {
        let text = format!("{CALL}\n{CALL}");
        let found = reply(Form::Written, &[], &[], said(&text, vec![], StopReason::End));
        let ids: Vec<&str> = found.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["call_0", "call_1"]);
    }

    #[test]
    fn calls_in_the_wires_own_form_are_the_only_ones() {
        let own = said(CALL, vec![tool_call("c9", "box__go", "{}")], StopReason::ToolCalls);
        assert_eq!(reply(Form::Native, &[], &[], own.clone()), own);
    }

    #[test]
    fn what_a_tool_or_a_person_wrote_is_not_called_when_it_is_repeated() {
        let page = format!("Welcome!\n{CALL}\n");
        let spaced = r#"<tool_call>{ "name": "box__read", "arguments": {"n": 1} }</tool_call>"#;
        for text in [CALL, spaced] {
            let quoted = said(text, vec![], StopReason::End);
            check(Form::Written, &[result("c1", &page)], text, &quoted);
            check(Form::Native, &[question("hi"), result("c1", &page)], text, &quoted);
            check(Form::Written, &[question(&page)], text, &quoted);
        }
        // The twin: the model's own earlier words are no quotation.
        let one = said("", vec![tool_call("call_0", "box__read", r#"{"n":1}"#)], StopReason::ToolCalls);
        check(Form::Written, &[answer(&page), call("c1", "box__read", "{}")], CALL, &one);
    }
}
