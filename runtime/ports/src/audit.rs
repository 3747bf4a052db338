//! How is a decision recorded? An entry goes in; a receipt comes back that can be waited on until it is durable.

use chitin_types::{CallId, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::PortError;

/// What kind of thing was decided or done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditKind {
    /// A call was allowed, denied, asked about.
    Decision,
    /// A person answered.
    Approval,
    /// A call ended.
    Outcome,
    /// An effect inside a call: a file opened for writing, a request, a refusal by the host.
    Effect,
    /// A tool was installed, upgraded or removed.
    Install,
    /// A grant was written or revoked.
    Grant,
    /// A key was trusted or made.
    Key,
    /// A model was asked.
    Provider,
    /// Somebody came to a door: a token was accepted or refused, a webhook was checked.
    Auth,
    /// A channel started, failed or was backed off.
    Channel,
    /// A native command was started and ended.
    Spawn,
    /// A secret was set or removed; never its value.
    Secret,
}

/// One entry, before the chain gives it a place. It carries names, rules and digests, never payloads or secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// What kind.
    pub kind: AuditKind,
    /// Who or what it is about: a tool, a key, a provider.
    pub subject: String,
    /// What was decided or done: `allow`, `deny`, `ask`, `yes`, `no`, an outcome's word, `installed`, …
    pub verdict: String,
    /// The rule that decided, where one did.
    pub rule: Option<String>,
    /// The session, where there is one.
    pub session: Option<SessionId>,
    /// The call, where there is one.
    pub call: Option<CallId>,
    /// Further facts as an object: digests, the request line, the path.
    pub detail: Value,
}

impl AuditEntry {
    /// An entry without session, call, rule or detail.
    pub fn new(kind: AuditKind, subject: impl Into<String>, verdict: impl Into<String>) -> Self {
        Self {
            kind,
            subject: subject.into(),
            verdict: verdict.into(),
            rule: None,
            session: None,
            call: None,
            detail: Value::Null,
        }
    }

    /// The same entry with its rule.
    #[must_use]
    pub fn rule(mut self, rule: impl Into<String>) -> Self {
        self.rule = Some(rule.into());
        self
    }

    /// The same entry with its call.
    #[must_use]
    pub fn call(mut self, call: &CallId) -> Self {
        self.call = Some(call.clone());
        self
    }

    /// The same entry with its session.
    #[must_use]
    pub fn session(mut self, session: Option<&SessionId>) -> Self {
        self.session = session.cloned();
        self
    }

    /// The same entry with further facts.
    #[must_use]
    pub fn detail(mut self, detail: Value) -> Self {
        self.detail = detail;
        self
    }
}

/// Proof that an entry was taken; waiting on it proves that it is on disk.
#[derive(Debug)]
#[must_use = "an effect that leaves the process must wait for its receipt"]
pub struct Receipt(oneshot::Receiver<Result<(), PortError>>);

impl Receipt {
    /// A receipt, and the end through which the recorder reports.
    pub fn pair() -> (oneshot::Sender<Result<(), PortError>>, Self) {
        let (sender, receiver) = oneshot::channel();
        (sender, Self(receiver))
    }

    /// Waits until the entry survives a power loss.
    ///
    /// # Errors
    /// It could not be written; the effect must not happen.
    pub async fn durable(self) -> Result<(), PortError> {
        match self.0.await {
            Ok(result) => result,
            Err(_) => Err(PortError("write the audit record: the recorder has stopped".to_owned())),
        }
    }

    /// Lets the entry become durable in its own time: for decisions without an effect outside the process.
    pub fn later(self) {}
}

/// The audit log.
pub trait Audit: Send + Sync {
    /// Takes an entry, in order, without waiting for the disk.
    fn append(&self, entry: AuditEntry) -> Receipt;
}
