//! How does one tool call end? A call as the model wrote it goes in; an outcome and what the model reads of it come
//! out.
//!
//! ```text
//!   ToolCall ─→ resolve ─→ arguments ─→ authorize ─┬─ Allow ───────────────┬─→ Invoke ─┬─→ Outcome ─→ ToolResult
//!   (event)        │           │        (Decision) ├─ Ask ─→ approve ─ yes ┘           │   (audit)    (event)
//!                  └───────────┴───────────────────┴─ Deny ────────┴─ no ──────────────┘
//! ```
//!
//! Every way through ends on the right: there is no call without an outcome, an audit entry and an event.

use chitin_policy::{Authorized, Call, Verdict, authorize};
use chitin_ports::{AuditEntry, Installed, Invocation};
use chitin_types::{CallId, Event, ToolCall, ToolOutcome};
use serde_json::Value;

use crate::{
    approve::{self, Approvals},
    arguments, cut, near, progress, record,
    scope::Scope,
};

/// How a call ended.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    /// The outcome.
    pub(crate) outcome: ToolOutcome,
    /// What the model reads.
    pub(crate) text: String,
    /// Whether the same call again in the same reply is meant.
    pub(crate) repeatable: bool,
}

/// Why a call is not made although the model asked for it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Skip<'a> {
    /// Somebody asked to stop.
    Stopped,
    /// The reply holds more calls than are made of one.
    TooMany,
    /// The same call stands earlier in the reply and ended like this.
    Duplicate(&'a Ended),
}

/// Makes one call.
#[tracing::instrument(skip_all, fields(call = tracing::field::Empty))]
pub(crate) async fn run(scope: &Scope<'_>, asked: &ToolCall, approvals: &mut Approvals) -> Ended {
    let id = announce(scope, asked);
    tracing::Span::current().record("call", id.as_str());
    let (subject, repeatable, outcome) = match resolve(scope, &asked.name).await {
        Ok(installed) => {
            let ended = attempt(scope, &id, asked, &installed, approvals).await;
            let outcome = ended.unwrap_or_else(|early| early);
            (installed.spec.tool.to_string(), installed.spec.effects.repeatable, outcome)
        }
        Err(outcome) => (asked.name.clone(), false, outcome),
    };
    let entry = record::outcome(&subject, asked, &outcome);
    let ended = Ended { text: text_of(&outcome), outcome, repeatable };
    report(scope, &id, entry, &ended);
    ended
}

/// Ends one call without making it.
pub(crate) fn skip(scope: &Scope<'_>, asked: &ToolCall, why: Skip<'_>) -> Ended {
    let id = announce(scope, asked);
    let (outcome, text) = match why {
        Skip::Stopped => (ToolOutcome::Cancelled, text_of(&ToolOutcome::Cancelled)),
        Skip::TooMany => {
            let outcome = ToolOutcome::Limited(format!("{CALLS_MAX} calls in one reply"));
            let text = text_of(&outcome);
            (outcome, text)
        }
        Skip::Duplicate(first) => (first.outcome.clone(), format!("{DUPLICATE}\n{}", first.text)),
    };
    let mut entry = record::outcome(&asked.name, asked, &outcome);
    if let Value::Object(detail) = &mut entry.detail {
        detail.insert("skipped".to_owned(), Value::from(why.word()));
    }
    let ended = Ended { outcome, text, repeatable: false };
    report(scope, &id, entry, &ended);
    ended
}

impl Skip<'_> {
    fn word(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::TooMany => "too-many-calls",
            Self::Duplicate(_) => "duplicate",
        }
    }
}

async fn resolve(scope: &Scope<'_>, name: &str) -> Result<Installed, ToolOutcome> {
    if let Some(installed) = scope.ports.toolbox.resolve(name).await? {
        return Ok(installed);
    }
    // Only the hint is lost when the list cannot be read; the outcome stays the same.
    let specs = scope.ports.toolbox.specs().await.unwrap_or_default();
    let names: Vec<String> = specs.iter().filter_map(|spec| spec.wire_name().ok()).map(String::from).collect();
    let near = near::nearest(name, &names);
    let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
    Err(ToolOutcome::InvalidInput(format!("there is no tool {:?}{hint}", cut::first(name, NAME_CHARS_MAX))))
}

/// `Err` is an outcome too: the one that ended the call before it reached the tool.
async fn attempt(
    scope: &Scope<'_>,
    id: &CallId,
    asked: &ToolCall,
    installed: &Installed,
    approvals: &mut Approvals,
) -> Result<ToolOutcome, ToolOutcome> {
    let args = arguments::read(&asked.arguments, &installed.spec.input_schema)?;
    let call = Call {
        id: id.clone(),
        component: installed.component,
        function: installed.spec.function.clone(),
        args,
        effects: installed.spec.effects,
    };
    let permit = permit(scope, installed, &call, approvals).await?;
    if scope.is_stopped() {
        return Err(ToolOutcome::Cancelled);
    }
    let invocation = Invocation {
        tool: installed.spec.tool.clone(),
        component: call.component,
        function: call.function,
        args: call.args,
        session: Some(scope.session.clone()),
        cancelled: scope.cancelled.clone(),
        progress: None,
    };
    Ok(progress::invoke(scope, permit, invocation).await)
}

async fn permit(
    scope: &Scope<'_>,
    installed: &Installed,
    call: &Call,
    approvals: &mut Approvals,
) -> Result<Authorized, ToolOutcome> {
    let verdict = authorize(&installed.grants, call, approvals.of(installed));
    let entry = record::decision(installed, call, &verdict).session(Some(&scope.session));
    let receipt = scope.ports.audit.append(entry);
    match verdict {
        Verdict::Allow(permit) => {
            record::before_effect(installed, receipt).await?;
            Ok(permit)
        }
        Verdict::Ask(pending) => {
            record::before_effect(installed, receipt).await?;
            approve::ask(scope, installed, call, pending, approvals).await
        }
        Verdict::Deny(denial) => {
            receipt.later();
            Err(ToolOutcome::Denied(denial))
        }
    }
}

fn announce(scope: &Scope<'_>, asked: &ToolCall) -> CallId {
    let id = scope.ports.ids.call();
    let (name, arguments) = (asked.name.clone(), asked.arguments.clone());
    scope.sink.event(Event::ToolCall { call: id.to_string(), name, arguments });
    id
}

fn report(scope: &Scope<'_>, id: &CallId, entry: AuditEntry, ended: &Ended) {
    scope.ports.audit.append(entry.call(id).session(Some(&scope.session))).later();
    let help = if let ToolOutcome::Denied(denial) = &ended.outcome { denial.help.clone() } else { None };
    scope.sink.event(Event::ToolResult {
        call: id.to_string(),
        outcome: ended.outcome.word().to_owned(),
        text: ended.text.clone(),
        help,
    });
}

fn text_of(outcome: &ToolOutcome) -> String {
    cut::middle(&outcome.text_for_model(), RESULT_CHARS_MAX)
}

/// Calls of one reply that are made. A model that asks for more has lost its way, and each costs time and a person's
/// attention.
pub(crate) const CALLS_MAX: usize = 32;
/// A fresh result, about 12,500 tokens: one large file must not push the dialogue out of the window.
const RESULT_CHARS_MAX: usize = 50_000;
/// A name that a model invented, as it is shown back.
const NAME_CHARS_MAX: usize = 64;
/// What the model reads before the result of a call that it wrote twice.
const DUPLICATE: &str = "[the same call stands earlier in this reply; it was made once, with this result]";

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
