//! Who was turned away, and is it too often? Every refusal at a door is counted and written into the audit; both are
//! bounded, because whoever is refused decides how often.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{extract::Request, http::StatusCode};
use chitin_ports::{Audit, AuditEntry, AuditKind, Clock};
use serde_json::{Value, json};

use crate::{metrics::Metrics, problem::Problem};

/// The rule that turned a request away, and what is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) rule: &'static str,
    pub(crate) status: StatusCode,
    pub(crate) detail: &'static str,
}

/// Keeps count of refusals.
pub(crate) struct Refusals {
    audit: Arc<dyn Audit>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    bad_tokens: Mutex<Minute>,
    entries: Mutex<Minute>,
}

/// What happened since a minute began.
#[derive(Default)]
struct Minute {
    began_ms: u64,
    count: u64,
}

impl Refusals {
    pub(crate) fn new(audit: Arc<dyn Audit>, clock: Arc<dyn Clock>, metrics: Arc<Metrics>) -> Self {
        Self { audit, clock, metrics, bad_tokens: Mutex::default(), entries: Mutex::default() }
    }

    /// Turns a request away by a rule of the door.
    pub(crate) fn turn_away(&self, refusal: &Refusal, request_line: Value) -> Problem {
        self.metrics.auth_failure(refusal.rule);
        self.record("gateway", refusal.rule, request_line);
        Problem::new(refusal.status, refusal.detail)
    }

    /// Turns a request away for its token, and more bluntly when there were many. The right token is never counted: a
    /// stranger who keeps guessing must not lock the owner out.
    pub(crate) fn bad_token(&self, refusal: &Refusal, request_line: Value) -> Problem {
        let (count, _) = self.count(&self.bad_tokens);
        let problem = self.turn_away(refusal, request_line);
        if count <= BAD_TOKENS_PER_MINUTE_MAX {
            return problem;
        }
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens; wait a minute")
            .retry_after(MINUTE_MS / 1000)
    }

    /// Writes a webhook that was refused into the books.
    pub(crate) fn webhook(&self, channel: &str, rule: &'static str, request_line: Value) {
        self.metrics.webhook(rule);
        self.record(channel, rule, request_line);
    }

    fn record(&self, subject: &str, rule: &'static str, detail: Value) {
        let (count, before) = self.count(&self.entries);
        let left_out = before.saturating_sub(ENTRIES_PER_MINUTE_MAX);
        if left_out > 0 {
            let entry = AuditEntry::new(AuditKind::Auth, "gateway", "deny").rule("gateway:audit-limit");
            self.audit.append(entry.detail(json!({ "refusals_left_out": left_out }))).later();
        }
        if count <= ENTRIES_PER_MINUTE_MAX {
            let entry = AuditEntry::new(AuditKind::Auth, subject, "deny").rule(rule).detail(detail);
            self.audit.append(entry).later();
        }
    }

    fn count(&self, minute: &Mutex<Minute>) -> (u64, u64) {
        // Two numbers cannot be left in a state that matters.
        minute.lock().unwrap_or_else(PoisonError::into_inner).count(self.clock.now_ms())
    }
}

impl Minute {
    /// Counts one. How many it are in this minute, and, with the first of a minute, how many it were in the last one.
    fn count(&mut self, now_ms: u64) -> (u64, u64) {
        let mut before = 0;
        // A clock that was set back begins a new minute, too; otherwise the count would stand until it caught up.
        if now_ms.abs_diff(self.began_ms) >= MINUTE_MS {
            before = self.count;
            *self = Self { began_ms: now_ms, count: 0 };
        }
        self.count += 1;
        (self.count, before)
    }
}

/// What the audit says about a request: method and path. The query is left out, a token may be in it.
pub(crate) fn request_line(request: &Request) -> Value {
    let path: String = request.uri().path().chars().take(PATH_CHARS_MAX).collect();
    json!({ "method": request.method().as_str(), "path": path })
}

const MINUTE_MS: u64 = 60_000;
/// Wrong tokens a minute over all clients before the answer is 429. A program that guesses is told to stop; the clients
/// are not told apart, because an address is easily changed.
const BAD_TOKENS_PER_MINUTE_MAX: u64 = 20;
/// Entries a minute that refusals may write into the audit. What is more is counted and written as one number, so that
/// nobody outside can fill the disk.
const ENTRIES_PER_MINUTE_MAX: u64 = 60;
/// Characters of a path in the audit; the stranger chose it.
const PATH_CHARS_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Ledger, ManualClock};

    const WRONG: Refusal = Refusal { rule: "gateway:token", status: StatusCode::UNAUTHORIZED, detail: "no" };

    #[test]
    fn a_flood_of_refusals_is_slowed_and_fills_no_disk() {
        let (audit, clock) = (Arc::new(Ledger::default()), Arc::new(ManualClock::default()));
        let refusals = Refusals::new(audit.clone(), clock.clone(), Arc::default());
        for round in 1..=1000 {
            let status = refusals.bad_token(&WRONG, Value::Null).status;
            let expected = if round <= BAD_TOKENS_PER_MINUTE_MAX { 401_u16 } else { 429 };
            assert_eq!(status, expected, "round {round}");
        }
        assert_eq!(audit.entries().len(), 60);
        clock.forward(MINUTE_MS);
        assert_eq!(refusals.bad_token(&WRONG, Value::Null).status, 401);
        let entries = audit.entries();
        assert_eq!(entries.len(), 62);
        assert_eq!(entries[60].rule.as_deref(), Some("gateway:audit-limit"));
        assert_eq!(entries[60].detail, json!({ "refusals_left_out": 940 }));
    }

    #[test]
    fn a_clock_set_back_does_not_keep_the_door_shut() {
        let mut minute = Minute::default();
        assert_eq!(minute.count(10 * MINUTE_MS), (1, 0));
        assert_eq!(minute.count(10 * MINUTE_MS + 1), (2, 0));
        assert_eq!(minute.count(MINUTE_MS), (1, 2));
    }
}
