//! May this one call happen? A call and its grants go in; a permit, a question or a denial comes out.
//!
//! ```text
//!            ┌─ Allow(Authorized) ──────────────┐
//!   Call ────┼─ Ask(Pending) ── approve(…) ─────┴─→ redeem(component, function, arguments) → Grants
//!            └─ Deny(Denial)
//! ```
//!
//! A permit carries the digest of component, function and canonical arguments. Whoever redeems it must show the same
//! three; a permit for one call cannot start another, and since it is consumed and not `Clone`, it cannot start two.

use std::{collections::BTreeSet, sync::Arc};

use chitin_types::{CallId, Denial, Digest, Effects, FunctionName, canonical::canonical};
use serde_json::Value;

use crate::{Ask, Grants};

/// What a permit or an approval is bound to.
pub type CallDigest = Digest;

/// One call, as it is about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its id in the audit.
    pub id: CallId,
    /// Digest of the verified component bytes.
    pub component: Digest,
    /// The function.
    pub function: FunctionName,
    /// The arguments.
    pub args: Value,
    /// What the function claims to do.
    pub effects: Effects,
}

impl Call {
    /// The digest that stands for exactly this component, function and arguments.
    pub fn digest(&self) -> CallDigest {
        digest_of(&self.component, &self.function, &self.args)
    }
}

/// The permission to make one call, once. Made only in this file.
#[derive(Debug)]
#[must_use = "a permit that is not redeemed starts nothing"]
pub struct Authorized {
    digest: CallDigest,
    call: CallId,
    grants: Arc<Grants>,
    rule: String,
}

/// A call that needs a person.
#[derive(Debug)]
#[must_use = "a question that nobody answers is a refusal"]
pub struct Pending {
    digest: CallDigest,
    call: CallId,
    grants: Arc<Grants>,
    rule: String,
}

/// A person's yes, to one digest, until a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approval {
    /// What the person saw and agreed to.
    pub digest: CallDigest,
    /// Milliseconds since 1970 after which the yes no longer counts.
    pub expires_at_ms: u64,
}

/// The decision.
#[derive(Debug)]
pub enum Verdict {
    /// Go.
    Allow(Authorized),
    /// Ask a person first.
    Ask(Pending),
    /// No, by this rule.
    Deny(Denial),
}

/// Decides about one call. `approved` holds the rules that a person already approved for this session.
pub fn authorize(grants: &Arc<Grants>, call: &Call, approved: &BTreeSet<String>) -> Verdict {
    let tool = grants.tool();
    let deny = |rule: &str, reason: String, help: String| {
        Verdict::Deny(Denial { rule: rule.to_owned(), reason, help: Some(help) })
    };
    let Some(pinned) = grants.component() else {
        let help = format!("chitin tool grant {tool}");
        return deny("grant:absent", format!("{tool} is installed but nothing is granted to it"), help);
    };
    if pinned != call.component {
        let reason =
            format!("the grant of {tool} is bound to {pinned}, and the installed component is {}", call.component);
        return deny("grant:pin", reason, format!("chitin tool grant {tool}"));
    }
    let rule = format!("call:{}", call.function);
    let claims = if call.effects.destroys || call.effects.pays { Ask::Each } else { Ask::Never };
    let ask = match grants.ask(&call.function).unwrap_or(claims) {
        Ask::Never => false,
        Ask::Session => !approved.contains(&rule),
        Ask::Each => true,
    };
    let (digest, id, grants) = (call.digest(), call.id.clone(), Arc::clone(grants));
    if ask {
        Verdict::Ask(Pending { digest, call: id, grants, rule })
    } else {
        Verdict::Allow(Authorized { digest, call: id, grants, rule })
    }
}

impl Authorized {
    /// Gives the grants under which the call runs, if it is the call that was authorized.
    ///
    /// # Errors
    /// Component, function or arguments are not the authorized ones.
    pub fn redeem(self, component: &Digest, function: &FunctionName, args: &Value) -> Result<Arc<Grants>, Denial> {
        if digest_of(component, function, args) == self.digest {
            Ok(self.grants)
        } else {
            Err(Denial {
                rule: "permit:digest".to_owned(),
                reason: format!(
                    "the permit of call {} is for other arguments, another function or component",
                    self.call
                ),
                help: None,
            })
        }
    }

    /// The call that this permits.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// What it is bound to.
    pub fn digest(&self) -> CallDigest {
        self.digest
    }

    /// The rule that allowed it.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// The grants, to look at.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }
}

impl Pending {
    /// What a person must agree to.
    pub fn digest(&self) -> CallDigest {
        self.digest
    }

    /// The call.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// The rule that asks.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Whether one yes is enough for the rest of the session.
    pub fn once_per_session(&self, function: &FunctionName) -> bool {
        self.grants.ask(function) == Some(Ask::Session)
    }

    /// Turns a person's yes into the permit.
    ///
    /// # Errors
    /// The yes was to something else, or came too late.
    pub fn approve(self, approval: Approval, now_ms: u64) -> Result<Authorized, Denial> {
        let wrong = |reason: &str| Denial { rule: "approval".to_owned(), reason: reason.to_owned(), help: None };
        if approval.digest != self.digest {
            return Err(wrong("the approval is for another call"));
        }
        if now_ms > approval.expires_at_ms {
            return Err(wrong("the approval has expired"));
        }
        let Self { digest, call, grants, rule } = self;
        Ok(Authorized { digest, call, grants, rule })
    }
}

fn digest_of(component: &Digest, function: &FunctionName, args: &Value) -> CallDigest {
    // NUL cannot occur in the first two, so no two calls share a text.
    Digest::of(format!("chitin-call-v1\0{component}\0{function}\0{}", canonical(args)).as_bytes())
}

#[cfg(test)]
#[path = "authorize_tests.rs"]
mod tests;
