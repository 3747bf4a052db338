//! What does the audit keep of one call? A decision, an answer or an end goes in; an entry of names, rules and digests
//! comes out, never an argument or a result.
//!
//! ```text
//!   Decision ──→ (Approval) ──→ the effect ──→ Outcome
//!      └ durable before an effect ┘               └ durable in its own time
//! ```

use chitin_policy::{Call, Verdict};
use chitin_ports::{AuditEntry, AuditKind, Installed, Receipt};
use chitin_types::{Digest, FsMode, ToolCall, ToolOutcome};
use serde_json::{Value, json};

use crate::cut;

/// What the policy decided about a call.
pub(crate) fn decision(installed: &Installed, call: &Call, verdict: &Verdict) -> AuditEntry {
    let (word, rule) = match verdict {
        Verdict::Allow(permit) => ("allow", permit.rule()),
        Verdict::Ask(pending) => ("ask", pending.rule()),
        Verdict::Deny(denial) => ("deny", denial.rule.as_str()),
    };
    entry(AuditKind::Decision, installed, call, word).rule(rule)
}

/// What a person answered: `yes`, `no`, or `stopped` when nobody did before the turn was stopped.
pub(crate) fn answer(installed: &Installed, call: &Call, word: &str) -> AuditEntry {
    entry(AuditKind::Approval, installed, call, word)
}

/// How a call ended; `subject` is the tool, or the name as the model spelled it when there is no such tool.
pub(crate) fn outcome(subject: &str, asked: &ToolCall, outcome: &ToolOutcome) -> AuditEntry {
    let text = outcome.text_for_model();
    let entry =
        AuditEntry::new(AuditKind::Outcome, cut::first(subject, NAME_CHARS_MAX), outcome.word()).detail(json!({
            "name": cut::first(&asked.name, NAME_CHARS_MAX),
            "result": Digest::of(text.as_bytes()).to_string(),
            "result_bytes": text.len(),
        }));
    match outcome {
        ToolOutcome::Denied(denial) => entry.rule(denial.rule.clone()),
        ToolOutcome::Done(_)
        | ToolOutcome::Failed(_)
        | ToolOutcome::InvalidInput(_)
        | ToolOutcome::Refused(_)
        | ToolOutcome::Limited(_)
        | ToolOutcome::Broke(_)
        | ToolOutcome::Untrusted(_)
        | ToolOutcome::Cancelled => entry,
    }
}

/// Waits for the receipt where the call can change something outside of the sandbox.
///
/// # Errors
/// It could not be written; the call must not be made.
pub(crate) async fn before_effect(installed: &Installed, receipt: Receipt) -> Result<(), ToolOutcome> {
    if can_change(installed) {
        durable(receipt).await
    } else {
        receipt.later();
        Ok(())
    }
}

/// Waits for the receipt.
///
/// # Errors
/// It could not be written; the call must not be made.
pub(crate) async fn durable(receipt: Receipt) -> Result<(), ToolOutcome> {
    receipt.durable().await.map_err(|error| {
        tracing::warn!(%error, "a call is not made because its audit entry is not durable");
        ToolOutcome::Broke("audit-unavailable".to_owned())
    })
}

/// The claims of a function, and the grants, because a function that lies about itself still cannot leave them.
fn can_change(installed: &Installed) -> bool {
    let claims = installed.spec.effects;
    let claimed = claims.writes || claims.destroys || claims.pays || claims.open_world;
    let grants = &installed.grants;
    claimed || !grants.http_rules().is_empty() || grants.mounts().iter().any(|mount| mount.mode == FsMode::Rw)
}

fn entry(kind: AuditKind, installed: &Installed, call: &Call, word: &str) -> AuditEntry {
    AuditEntry::new(kind, installed.spec.tool.as_str(), word).call(&call.id).detail(facts(call))
}

fn facts(call: &Call) -> Value {
    json!({
        "function": call.function.as_str(),
        "component": call.component.to_string(),
        "digest": call.digest().to_string(),
    })
}

/// A name that a model invented; the audit is no place to store its text.
const NAME_CHARS_MAX: usize = 128;
