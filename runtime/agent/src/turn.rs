//! What happens between a message and its answer? The only place that runs the sequence; streaming is a sink, not a
//! second loop.
//!
//! ```text
//!   store the message ─→ recall ─→ ask ────────────── no calls ─→ clean ─→ store the answer ─→ TurnEnd::Answered
//!                         ↑ │
//!                         │ └ calls ─→ step ─→ store calls and results together ─┐
//!                         └────────────── at most `steps_max` times ─────────────┘
//!
//!   stop · provider's error · store's error, anywhere ─→ store why there is no answer ─→ Err
//! ```
//!
//! What is stored is whole at every moment: a question, then pairs of calls and results, then an answer.

use std::{
    slice,
    sync::{Mutex, PoisonError},
};

use chitin_ports::{AuditEntry, AuditKind, ChatReply, ChatRequest, Delivery, ProviderError, StopReason, TextSink};
use chitin_types::{Event, Message, Turn};
use serde_json::json;

use crate::{
    EventSink, TurnEnd,
    approve::Approvals,
    dialect::{Hold, Speech},
    error::TurnError,
    lane::Memory,
    prompt::{Dialogue, Offer},
    recall, reply,
    scope::Scope,
    step,
};

/// Runs one turn.
///
/// # Errors
/// There is no answer. The turn is closed in the history, unless it is the history that failed.
#[tracing::instrument(skip_all, fields(session = %scope.session, turn = %scope.turn))]
pub(crate) async fn run(scope: &Scope<'_>, text: String, memory: &mut Memory) -> Result<TurnEnd, TurnError> {
    let older = scope.ports.history.recent(&scope.session, scope.settings.turns_max).await?;
    let asked = Message::User { text: text.clone() };
    scope.append(slice::from_ref(&asked)).await?;
    greet(scope, memory);
    let end = steps(scope, older, &text, memory).await;
    close(scope, end).await
}

async fn steps(scope: &Scope<'_>, older: Vec<Turn>, text: &str, memory: &mut Memory) -> Result<String, TurnError> {
    let tools = scope.ports.toolbox.specs().await?;
    let speech = Speech::of(scope.ports.provider.as_ref(), tools, memory.model.clone());
    // As the model reads it; what is stored stays as it was written.
    let asked = Message::User { text: recall::with_memory(scope, text).await };
    let mut dialogue = Dialogue::new(older, asked, speech);
    tell_dropped(scope, dialogue.fit());
    for _ in 0..scope.settings.steps_max {
        let reply = ask(scope, &mut dialogue, Offer::Tools).await?;
        if reply.calls.is_empty() {
            return Ok(answer(scope, &reply, NO_ANSWER));
        }
        take(scope, &mut dialogue, reply, &mut memory.approvals).await?;
    }
    let steps = scope.settings.steps_max;
    scope.notice(format!("the limit of {steps} steps is reached; the model answers with what it has"));
    let reply = ask(scope, &mut dialogue, Offer::AnswerOnly { steps }).await?;
    Ok(answer(scope, &reply, OUT_OF_STEPS))
}

/// One request; after an overflow a second one with half of the older turns.
async fn ask(scope: &Scope<'_>, dialogue: &mut Dialogue, offer: Offer) -> Result<ChatReply, TurnError> {
    let reply = complete(scope, dialogue, offer).await;
    // Only the provider's own word counts: text about overflows in a message must not shorten anything.
    if !matches!(reply, Err(TurnError::Provider(ProviderError::Overflow))) {
        return reply;
    }
    let dropped = dialogue.halve();
    if dropped == 0 {
        return reply;
    }
    tell_dropped(scope, dropped);
    complete(scope, dialogue, offer).await
}

async fn complete(scope: &Scope<'_>, dialogue: &Dialogue, offer: Offer) -> Result<ChatReply, TurnError> {
    let (provider, speech) = (&scope.ports.provider, dialogue.speech());
    let request = dialogue.request(offer, scope.delivery);
    let pieces = Pieces { sink: scope.sink, delivery: scope.delivery, hold: Mutex::new(speech.hold()) };
    let reply = scope.unless_stopped(provider.complete(&request, &pieces)).await;
    let verdict = match &reply {
        Some(Ok(_)) => "answered",
        Some(Err(_)) => "failed",
        None => "stopped",
    };
    record(scope, &request, verdict);
    let reply = speech.understand(&request, reply.ok_or(TurnError::Stopped)??);
    pieces.rest_of(&reply);
    Ok(reply)
}

fn record(scope: &Scope<'_>, request: &ChatRequest, verdict: &str) {
    let mut entry = AuditEntry::new(AuditKind::Provider, scope.ports.provider.name(), verdict);
    if let Some(model) = &request.model {
        entry = entry.detail(json!({ "model": model }));
    }
    scope.ports.audit.append(entry.session(Some(&scope.session))).later();
}

/// Makes the calls of a reply and stores them with their results, so that none is ever without the other.
async fn take(
    scope: &Scope<'_>,
    dialogue: &mut Dialogue,
    reply: ChatReply,
    approvals: &mut Approvals,
) -> Result<(), TurnError> {
    let results = step::run(scope, &reply.calls, approvals).await;
    let mut messages = vec![Message::Assistant { text: reply.text, calls: reply.calls }];
    messages.extend(results);
    scope.append(&messages).await?;
    dialogue.extend(messages);
    if scope.is_stopped() { Err(TurnError::Stopped) } else { Ok(()) }
}

fn answer(scope: &Scope<'_>, reply: &ChatReply, fallback: &str) -> String {
    match reply.stop {
        StopReason::Length => scope.notice("the model reached its output limit, so the answer breaks off"),
        StopReason::Filtered => scope.notice("the provider filtered the answer"),
        StopReason::End | StopReason::ToolCalls => {}
    }
    reply::clean(&reply.text, fallback)
}

async fn close(scope: &Scope<'_>, end: Result<String, TurnError>) -> Result<TurnEnd, TurnError> {
    let text = match &end {
        Ok(answer) => answer.clone(),
        Err(error) => error.for_history(),
    };
    let stored = scope.append(&[Message::Assistant { text, calls: vec![] }]).await;
    match (end, stored) {
        (Ok(answer), Ok(())) => Ok(TurnEnd::Answered(answer)),
        (Ok(_), Err(error)) => Err(error.into()),
        (Err(error), Ok(())) => Err(error),
        (Err(error), Err(unstored)) => {
            tracing::warn!(%unstored, "a turn stays open in the history");
            Err(error)
        }
    }
}

fn greet(scope: &Scope<'_>, memory: &mut Memory) {
    if !memory.greeted {
        memory.greeted = true;
        if let Some(notice) = scope.ports.provider.notice() {
            scope.notice(notice);
        }
    }
}

fn tell_dropped(scope: &Scope<'_>, turns: usize) {
    if turns > 0 {
        scope.notice(format!("the dialogue is long: the model no longer sees its {turns} oldest turns"));
    }
}

/// Shows text as it comes, to those who want it so, and never the markup of a call.
struct Pieces<'a> {
    sink: &'a dyn EventSink,
    delivery: Delivery,
    hold: Mutex<Hold>,
}

impl Pieces<'_> {
    /// Shows what was held back and turned out to be text.
    fn rest_of(&self, reply: &ChatReply) {
        let hold = self.hold.lock().unwrap_or_else(PoisonError::into_inner);
        self.show(hold.finish(&reply.text));
    }

    fn show(&self, text: &str) {
        match self.delivery {
            Delivery::Streamed if !text.is_empty() => self.sink.event(Event::Chunk { text: text.to_owned() }),
            Delivery::Streamed | Delivery::Whole => {}
        }
    }
}

impl TextSink for Pieces<'_> {
    fn text(&self, piece: &str) {
        let shown = self.hold.lock().unwrap_or_else(PoisonError::into_inner).feed(piece);
        self.show(&shown);
    }
}

const NO_ANSWER: &str = "The model gave no answer. Ask again, or put it in other words.";
const OUT_OF_STEPS: &str = "The steps of this turn are used up and there is no answer yet. Send \"go on\" to continue.";

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
