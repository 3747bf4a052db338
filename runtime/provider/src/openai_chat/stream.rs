//! How does a streamed reply come together? Bytes in any pieces go in; text goes to the sink as it comes, and one reply
//! comes out at the end.
//!
//! ```text
//!   pieces ─ events ─┬─ choice: text, calls, why it stopped ─→ draft ─┐
//!                    ├─ usage ──────────────────────────────→ draft ─┤
//!                    ├─ error ─→ a refusal                           ├─ [DONE], or the end after a reason ─→ reply
//!                    └─ [DONE] ──────────────────────────────────────┘
//! ```

use chitin_ports::{ChatReply, ProviderError, TextSink};
use serde_json::Value;

use super::{
    draft::{Cut, Draft},
    refusal,
};
use crate::sse::EventParser;

/// One streamed reply.
pub(super) struct Stream<'a> {
    parser: EventParser,
    draft: Draft,
    sink: Option<&'a dyn TextSink>,
    answered: bool,
    done: bool,
}

impl<'a> Stream<'a> {
    /// A reply of which nothing has come yet. Text goes to `sink`, where somebody wants it.
    pub(super) fn new(sink: Option<&'a dyn TextSink>) -> Self {
        Self { parser: EventParser::default(), draft: Draft::default(), sink, answered: false, done: false }
    }

    /// Takes a piece.
    ///
    /// # Errors
    /// The stream holds an error, or what is no event of this wire.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<(), ProviderError> {
        let events = self.parser.feed(piece).map_err(|error| ProviderError::BadAnswer(error.to_string()))?;
        events.iter().try_for_each(|event| self.take(event))
    }

    /// Whether nothing more is to come.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the model has said everything, and only figures may follow.
    pub(super) fn is_finished(&self) -> bool {
        self.done || self.draft.is_finished()
    }

    /// The reply, after the last piece.
    ///
    /// # Errors
    /// The stream ended before the model had stopped, or without any answer.
    pub(super) fn finish(mut self) -> Result<ChatReply, ProviderError> {
        if !self.done
            && let Some(event) = std::mem::take(&mut self.parser).finish()
        {
            // The end may have cut this event in the middle. Then it is no JSON, and whether the reply is whole is
            // decided below.
            if event.trim() == DONE || serde_json::from_str::<serde::de::IgnoredAny>(&event).is_ok() {
                self.take(&event)?;
            }
        }
        if !self.is_finished() {
            return Err(ProviderError::Unreachable("the stream broke off before the answer was whole".to_owned()));
        }
        if !self.answered {
            return Err(ProviderError::BadAnswer("the stream holds no answer".to_owned()));
        }
        Ok(self.draft.into_reply())
    }

    fn take(&mut self, event: &str) -> Result<(), ProviderError> {
        let event = event.trim();
        if self.done || event.is_empty() {
            return Ok(());
        }
        if event == DONE {
            self.done = true;
            return Ok(());
        }
        let value: Value = serde_json::from_str(event)
            .map_err(|error| ProviderError::BadAnswer(format!("an event of the stream is no JSON: {error}")))?;
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            return Err(refusal::of_stream(error));
        }
        if let Some(choice) = value.pointer("/choices/0") {
            self.answered = true;
            let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
            let text = self.draft.add(Cut::Pieces, delta)?;
            if let Some(sink) = self.sink
                && !text.is_empty()
            {
                sink.text(&text);
            }
            self.draft.finish(choice.get("finish_reason"));
        }
        self.draft.cost(value.get("usage"));
        Ok(())
    }
}

const DONE: &str = "[DONE]";

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
