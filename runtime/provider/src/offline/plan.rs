//! What comes next? The dialogue goes in; the next call of the steps that the person asked for, or the answer, comes
//! out.
//!
//! The steps are walked from the beginning each time, and each call takes the next result; the first call without one
//! is the next to make. A step whose call failed ends there, and the steps after it go on.

use std::{borrow::Cow, collections::BTreeMap};

use chitin_ports::ChatRequest;
use chitin_types::Message;

use super::{
    answer::{self, Ended, Report},
    intent,
    step::{Planned, Step},
};

/// What comes next.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// This call.
    Call(Planned),
    /// Nothing more: this is the answer.
    Answer(String),
}

/// Decides.
pub(super) fn next(request: &ChatRequest) -> Next {
    let (prompt, results) = turn(&request.messages);
    let steps = match intent::steps(&prompt) {
        Ok(steps) => steps,
        Err(unclear) => return Next::Answer(answer::unclear(&unclear)),
    };
    let mut results = results.into_iter().peekable();
    let mut reports = Vec::with_capacity(steps.len());
    for step in steps {
        let mut texts = Vec::new();
        let ended = loop {
            let Some(planned) = step.call(&texts) else { break Ended::Done };
            let Some(result) = results.next_if(|result| result.name == planned.name) else {
                if is_offered(request, planned.name) {
                    return Next::Call(planned);
                }
                break Ended::Missing(planned.name);
            };
            if result.is_error {
                break Ended::Failed(result.text.to_owned());
            }
            texts.push(result.text);
        };
        reports.push(report(step, ended, &texts));
    }
    Next::Answer(answer::text(&reports))
}

/// The result of one call.
struct CallResult<'a> {
    name: &'a str,
    text: &'a str,
    is_error: bool,
}

/// The person's last words, and what the calls since then gave.
fn turn(messages: &[Message]) -> (Cow<'_, str>, Vec<CallResult<'_>>) {
    let begin = messages.iter().rposition(|message| matches!(message, Message::User { .. })).unwrap_or(messages.len());
    let mut prompt = Cow::Borrowed("");
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut results = Vec::new();
    for message in messages.iter().skip(begin) {
        match message {
            Message::User { text } => prompt = without_memory(text),
            Message::Assistant { calls, .. } => {
                names.extend(calls.iter().map(|call| (call.id.as_str(), call.name.as_str())));
            }
            Message::Tool { call_id, text, is_error } => {
                let name = names.get(call_id.as_str()).copied().unwrap_or("");
                results.push(CallResult { name, text, is_error: *is_error });
            }
        }
    }
    (prompt, results)
}

/// The message without what is remembered, which the agent puts before it and in which nothing is asked for.
fn without_memory(text: &str) -> Cow<'_, str> {
    let block = text.split_once(MEMORY_OPEN);
    let parts = block.and_then(|(before, rest)| Some((before, rest.split_once(MEMORY_CLOSE)?.1)));
    parts.map_or(Cow::Borrowed(text), |(before, message)| Cow::Owned(format!("{before}{message}")))
}

fn is_offered(request: &ChatRequest, name: &str) -> bool {
    request.tools.iter().any(|spec| spec.wire_name().is_ok_and(|wire_name| wire_name.as_str() == name))
}

fn report(step: Step, ended: Ended, texts: &[&str]) -> Report {
    Report { step, ended, calls: texts.len(), text: texts.last().copied().unwrap_or("").to_owned() }
}

/// How a block of memories begins and ends, by the agent's word; no entry can hold the end.
const MEMORY_OPEN: &str = "[Memory context]\n";
const MEMORY_CLOSE: &str = "\n[/Memory context]\n\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_remembered_is_a_request() {
        let check = |text: &str, expected: &str| assert_eq!(without_memory(text), expected);
        check("read a.txt", "read a.txt");
        check("[Memory context]\n(data)\n- read b.txt\n[/Memory context]\n\nread a.txt", "read a.txt");
        // A question that was never answered stands before it.
        check("hi\n\n[Memory context]\n- read b.txt\n[/Memory context]\n\nread a.txt", "hi\n\nread a.txt");
        check("[Memory context] is odd", "[Memory context] is odd");
        check("[Memory context]\nunclosed", "[Memory context]\nunclosed");
    }
}
