//! Does a person agree? A pending call goes in; a permit for exactly that call comes out, or the outcome of a no.
//!
//! ```text
//!   Pending ──→ Question ──→ a person ──┬─ yes, in time, to this digest ──→ recorded, durable ──→ Authorized
//!                                       └─ no · late · another digest · stop ──→ ToolOutcome
//! ```

use std::collections::{BTreeMap, BTreeSet};

use chitin_policy::{Approval, Authorized, Call, Pending};
use chitin_ports::{Answer, Installed, Question};
use chitin_types::{Digest, Event, ToolName, ToolOutcome, canonical::canonical};

use crate::{record, scope::Scope};

/// The rules that a person approved for the rest of one session. They are kept by tool and component, because two tools
/// may have a function of the same name, and an upgrade is another program.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    rules: BTreeMap<(ToolName, Digest), BTreeSet<String>>,
}

impl Approvals {
    /// The rules that are approved for this tool.
    pub(crate) fn of(&self, installed: &Installed) -> &BTreeSet<String> {
        static NONE: BTreeSet<String> = BTreeSet::new();
        self.rules.get(&tool_of(installed)).unwrap_or(&NONE)
    }

    fn remember(&mut self, installed: &Installed, rule: String) {
        self.rules.entry(tool_of(installed)).or_default().insert(rule);
    }
}

/// Asks a person about one call and waits for the answer.
///
/// # Errors
/// The outcome for the model: nobody agreed in time, the answer was to another call, it could not be recorded, or the
/// turn was stopped meanwhile.
pub(crate) async fn ask(
    scope: &Scope<'_>,
    installed: &Installed,
    call: &Call,
    pending: Pending,
    approvals: &mut Approvals,
) -> Result<Authorized, ToolOutcome> {
    let question = question(scope, installed, call, &pending);
    let recorded = |word: &str| {
        let entry = record::answer(installed, call, word).rule(question.rule.as_str());
        scope.ports.audit.append(entry.session(Some(&scope.session)))
    };
    announce(scope, &question);
    let approval = match scope.unless_stopped(scope.ports.approve.ask(&question)).await {
        Some(Answer::Yes(approval)) => approval,
        Some(Answer::No(reason)) => {
            recorded("no").later();
            return Err(ToolOutcome::Refused(reason));
        }
        None => {
            recorded("stopped").later();
            return Err(ToolOutcome::Cancelled);
        }
    };
    // Whoever asks cannot give more time than was shown.
    let expires_at_ms = approval.expires_at_ms.min(question.expires_at_ms);
    let permit = match pending.approve(Approval { expires_at_ms, ..approval }, scope.ports.clock.now_ms()) {
        Ok(permit) => permit,
        Err(denial) => {
            recorded("no").later();
            return Err(ToolOutcome::Denied(denial));
        }
    };
    record::durable(recorded("yes")).await?;
    if question.covers_session {
        approvals.remember(installed, question.rule);
    }
    Ok(permit)
}

fn question(scope: &Scope<'_>, installed: &Installed, call: &Call, pending: &Pending) -> Question {
    Question {
        // The digest says what is asked, the call makes it another question when the same is asked again.
        id: format!("{}-{}", pending.digest().hex(), call.id),
        digest: pending.digest(),
        title: format!("{} {}", installed.spec.tool, call.function),
        arguments: canonical(&call.args),
        rule: pending.rule().to_owned(),
        session: Some(scope.session.clone()),
        covers_session: pending.once_per_session(&call.function),
        expires_at_ms: scope.ports.clock.now_ms().saturating_add(scope.settings.answer_ms_max),
    }
}

fn announce(scope: &Scope<'_>, question: &Question) {
    scope.sink.event(Event::ApprovalRequest {
        id: question.id.clone(),
        title: question.title.clone(),
        arguments: question.arguments.clone(),
        rule: question.rule.clone(),
        expires_at_ms: question.expires_at_ms,
    });
}

fn tool_of(installed: &Installed) -> (ToolName, Digest) {
    (installed.spec.tool.clone(), installed.component)
}

#[cfg(test)]
#[path = "approve_tests.rs"]
mod tests;
