//! What has the model said so far? Pieces of text and of calls go in, in the order of the wire; one reply comes out.
//!
//! Servers differ in how they cut a call: the id and the name come once, or again with each piece, or the id is another
//! one each time; the index is missing; two whole calls share one index. What holds for all of them: a piece with a
//! name begins a new call when its id is another one, or when the arguments before it are whole; every other piece goes
//! on with the last call of its index.

use std::collections::BTreeSet;

use chitin_ports::{ChatReply, ProviderError, StopReason, Usage};
use chitin_types::ToolCall;
use serde_json::Value;

/// A reply in the making.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    calls: Vec<CallDraft>,
    finish: Option<String>,
    refused: bool,
    usage: Option<Usage>,
}

/// How calls come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// In pieces that belong together by their index.
    Pieces,
    /// Each whole, in a list.
    Whole,
}

#[derive(Debug)]
struct CallDraft {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Draft {
    /// Takes a `delta` or a whole `message`, and gives the text that it adds.
    ///
    /// # Errors
    /// There are too many calls.
    pub(super) fn add(&mut self, cut: Cut, message: &Value) -> Result<String, ProviderError> {
        let mut added = text_of(message.get("content"));
        if let Some(refusal) = message.get("refusal").and_then(Value::as_str)
            && !refusal.is_empty()
        {
            self.refused = true;
            added.push_str(refusal);
        }
        self.text.push_str(&added);
        for piece in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.add_call(cut, piece)?;
        }
        Ok(added)
    }

    /// Takes why the model stopped. The first word counts.
    pub(super) fn finish(&mut self, reason: Option<&Value>) {
        if let Some(reason) = reason.and_then(Value::as_str)
            && self.finish.is_none()
        {
            self.finish = Some(reason.to_owned());
        }
    }

    /// Takes what it cost, where `value` says so. The last word counts: some servers count on.
    pub(super) fn cost(&mut self, value: Option<&Value>) {
        let tokens = |name: &str| value.and_then(|usage| usage.get(name)).and_then(Value::as_u64);
        if let (Some(input_tokens), Some(output_tokens)) = (tokens("prompt_tokens"), tokens("completion_tokens")) {
            self.usage = Some(Usage { input_tokens, output_tokens });
        }
    }

    /// Whether the model said that it has stopped.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// The whole reply.
    pub(super) fn into_reply(self) -> ChatReply {
        let stop = self.stop();
        let mut used = BTreeSet::new();
        let calls = self
            .calls
            .into_iter()
            .enumerate()
            .map(|(position, call)| ToolCall {
                id: unique(call.id, position, &mut used),
                name: call.name,
                arguments: if call.arguments.trim().is_empty() { "{}".to_owned() } else { call.arguments },
            })
            .collect();
        ChatReply { text: self.text, calls, stop, usage: self.usage }
    }

    fn add_call(&mut self, cut: Cut, piece: &Value) -> Result<(), ProviderError> {
        let piece = CallDraft::of(piece);
        let goes_on = |call: &CallDraft| piece.index.is_none() || call.index == piece.index;
        let last = match cut {
            Cut::Whole => None,
            Cut::Pieces => self.calls.iter().rposition(goes_on),
        };
        let last = last.and_then(|at| self.calls.get_mut(at)).filter(|call| !piece.begins_after(call));
        if let Some(call) = last {
            call.go_on(piece);
            return Ok(());
        }
        if self.calls.len() >= CALLS_MAX {
            return Err(ProviderError::BadAnswer(format!("it asks for more than {CALLS_MAX} tool calls")));
        }
        self.calls.push(piece);
        Ok(())
    }

    fn stop(&self) -> StopReason {
        let calls = !self.calls.is_empty();
        match self.finish.as_deref() {
            Some("length" | "max_tokens") => StopReason::Length,
            Some("content_filter") => StopReason::Filtered,
            // Whatever else the server says, calls are there to be made: some say "stop" beside them.
            Some(_) | None if calls => StopReason::ToolCalls,
            Some(_) | None if self.refused => StopReason::Filtered,
            Some(_) | None => StopReason::End,
        }
    }
}

impl CallDraft {
    fn of(piece: &Value) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("").to_owned();
        let function = piece.get("function");
        let arguments = match function.and_then(|function| function.get("arguments")) {
            Some(Value::Null) | None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => value.to_string(),
        };
        Self {
            index: piece.get("index").and_then(Value::as_u64),
            id: text(piece.get("id")),
            name: text(function.and_then(|function| function.get("name"))),
            arguments,
        }
    }

    /// Whether this piece is another call than the one before it.
    fn begins_after(&self, call: &Self) -> bool {
        let other_id = !self.id.is_empty() && !call.id.is_empty() && self.id != call.id;
        let after_whole = !self.arguments.is_empty() && is_whole(&call.arguments);
        !self.name.is_empty() && !call.name.is_empty() && (other_id || after_whole)
    }

    fn go_on(&mut self, piece: Self) {
        if self.id.is_empty() {
            self.id = piece.id;
        }
        if self.name.is_empty() {
            self.name = piece.name;
        }
        self.arguments.push_str(&piece.arguments);
    }
}

fn is_whole(arguments: &str) -> bool {
    arguments.trim_end().ends_with('}') && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
}

// Content is a text, or null, or a list of parts of which we read the texts.
fn text_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => String::new(),
    }
}

// Results are matched by id, so two calls must never share one.
fn unique(id: String, position: usize, used: &mut BTreeSet<String>) -> String {
    let base = if id.is_empty() { format!("call_{position}") } else { id };
    let mut candidate = base.clone();
    // Ends: each round tries another id, and at most CALLS_MAX are taken.
    for attempt in 2.. {
        if used.insert(candidate.clone()) {
            break;
        }
        candidate = format!("{base}_{attempt}");
    }
    candidate
}

/// More than any model asks for at once; a stream of empty calls must not fill the memory.
const CALLS_MAX: usize = 128;

#[cfg(test)]
#[path = "draft_tests.rs"]
mod tests;
