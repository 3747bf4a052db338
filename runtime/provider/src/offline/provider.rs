//! The offline provider as the others see it: a request goes in, a reply comes out, and nothing is ever sent anywhere.

use std::collections::BTreeSet;

use async_trait::async_trait;
use chitin_ports::{ChatReply, ChatRequest, Delivery, Provider, ProviderError, StopReason, TextSink};
use chitin_types::{Message, ToolCall};

use super::{
    plan::{self, Next},
    step::Planned,
};

/// Matches plain requests to tool calls. It is no model, and says so.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

#[async_trait]
impl Provider for Offline {
    fn name(&self) -> String {
        "offline".to_owned()
    }

    fn notice(&self) -> Option<String> {
        Some(NOTICE.to_owned())
    }

    // It has no model to choose.
    fn takes_model(&self) -> bool {
        false
    }

    async fn complete(&self, request: &ChatRequest, sink: &dyn TextSink) -> Result<ChatReply, ProviderError> {
        let reply = match plan::next(request) {
            Next::Call(planned) => {
                let call = call(planned, &request.messages);
                ChatReply { text: String::new(), calls: vec![call], stop: StopReason::ToolCalls, usage: None }
            }
            Next::Answer(text) => ChatReply { text, calls: Vec::new(), stop: StopReason::End, usage: None },
        };
        match request.delivery {
            Delivery::Streamed => reply.text.split_inclusive('\n').for_each(|line| sink.text(line)),
            Delivery::Whole => {}
        }
        Ok(reply)
    }
}

fn call(planned: Planned, messages: &[Message]) -> ToolCall {
    let Planned { name, arguments } = planned;
    ToolCall { id: fresh_id(messages), name: name.to_owned(), arguments: arguments.to_string() }
}

/// Counted, not drawn, so that the same dialogue gives the same reply; ids of turns that were cut off may come again.
fn fresh_id(messages: &[Message]) -> String {
    let mut used = BTreeSet::new();
    for message in messages {
        match message {
            Message::Assistant { calls, .. } => used.extend(calls.iter().map(|call| call.id.as_str())),
            Message::User { .. } | Message::Tool { .. } => {}
        }
    }
    let mut number = used.len() + 1;
    let mut id = format!("offline_{number}");
    // Ends: each round tries another id, and finitely many are used.
    while used.contains(id.as_str()) {
        number += 1;
        id = format!("offline_{number}");
    }
    id
}

const NOTICE: &str = "this is the offline provider, not a model: it matches a few plain requests, such as “read \
                      notes.txt”, to tool calls. For a model, set OPENAI_API_KEY or write a [provider] table in \
                      config.toml";

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
