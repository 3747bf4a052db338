//! What do the calls of one reply give? The calls go in, in the order of the model; as many results come out.
//!
//! They are made one after another, because a later call may rely on what an earlier one changed, and because two
//! questions at once would let a person answer the wrong one.

use std::collections::BTreeMap;

use chitin_types::{Message, ToolCall};

use crate::{
    approve::Approvals,
    arguments,
    call::{self, CALLS_MAX, Ended, Skip},
    scope::Scope,
};

/// Makes the calls of one reply. Each has exactly one result, whatever happens, so that a dialogue stays whole.
pub(crate) async fn run(scope: &Scope<'_>, calls: &[ToolCall], approvals: &mut Approvals) -> Vec<Message> {
    let mut made: BTreeMap<(String, String), Ended> = BTreeMap::new();
    let mut results = Vec::with_capacity(calls.len());
    for (index, asked) in calls.iter().enumerate() {
        let signature = arguments::signature(asked);
        let first = made.get(&signature).filter(|first| !first.repeatable);
        let ended = if scope.is_stopped() {
            call::skip(scope, asked, Skip::Stopped)
        } else if index >= CALLS_MAX {
            call::skip(scope, asked, Skip::TooMany)
        } else if let Some(first) = first {
            call::skip(scope, asked, Skip::Duplicate(first))
        } else {
            call::run(scope, asked, approvals).await
        };
        results.push(Message::Tool {
            call_id: asked.id.clone(),
            text: ended.text.clone(),
            is_error: !ended.outcome.is_done(),
        });
        made.entry(signature).or_insert(ended);
    }
    results
}
