//! Would this be allowed, and why? A question goes in; the answer comes from the same functions that decide.

use chitin_types::{FsMode, FunctionName, HttpTarget, RecallMode};

use crate::{Ask, Decision, Grants};

/// A question about one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// May it use this guest path?
    Fs {
        /// Absolute, as the guest spells it.
        path: String,
        /// Read, or read and write.
        mode: FsMode,
    },
    /// May it make this request?
    Net(HttpTarget),
    /// May this function be called?
    Call(FunctionName),
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Whether it would happen (a person may still be asked).
    pub allowed: bool,
    /// The rule that decides.
    pub rule: String,
    /// One sentence.
    pub reason: String,
    /// The command that would allow it.
    pub help: Option<String>,
}

/// Answers a question with the decision functions themselves.
pub fn can(grants: &Grants, query: &Query) -> Answer {
    let decision = match query {
        Query::Fs { path, mode } => grants.fs(path, *mode),
        Query::Net(target) => grants.http(target),
        Query::Call(function) => return can_call(grants, function),
    };
    match decision {
        Decision::Allow { rule } => Answer { allowed: true, reason: format!("allowed by {rule}"), rule, help: None },
        Decision::Deny(denial) => {
            Answer { allowed: false, rule: denial.rule, reason: denial.reason, help: denial.help }
        }
    }
}

/// Everything that one tool may do, as lines for a person.
pub fn explain(grants: &Grants) -> Vec<String> {
    let mut lines = vec![format!("{} may:", grants.tool())];
    for mount in grants.mounts() {
        let verb = if mount.mode == FsMode::Rw { "read and write" } else { "read" };
        lines.push(format!("  {verb} {} (root {:?})", mount.at, mount.root));
    }
    for rule in grants.http_rules() {
        let schemes: Vec<_> = rule.scheme.iter().map(|s| s.word()).collect();
        let paths: Vec<_> = rule.paths.iter().map(ToString::to_string).collect();
        let ports: Vec<_> = rule.ports_meant().iter().map(ToString::to_string).collect();
        let secret = rule.secret.as_ref().map_or(String::new(), |name| format!(", with secret {name:?} put in"));
        lines.push(format!(
            "  {} {}://{} port {} at {} (rule {:?}{secret})",
            rule.methods.join(" or "),
            schemes.join("|"),
            rule.host,
            ports.join(", "),
            paths.join(", "),
            rule.id
        ));
    }
    if let Ok(quota) = grants.kv_quota_kib() {
        lines.push(format!("  keep {quota} KiB of its own by key"));
    }
    for (mode, verb) in [(RecallMode::Read, "recall from"), (RecallMode::Write, "remember in and forget from")] {
        for scope in grants.recall_scopes(mode) {
            lines.push(format!("  {verb} memory scope {scope:?}"));
        }
    }
    if !grants.config().is_empty() {
        let names: Vec<&str> = grants.config().keys().map(String::as_str).collect();
        lines.push(format!("  read the settings {}", names.join(", ")));
    }
    if lines.len() == 1 {
        lines.push("  compute, and nothing else".to_owned());
    }
    let limits = grants.limits();
    lines.push(format!(
        "within {} ms ({} ms of computing), {} MiB of memory, {} KiB of output, {} host calls, {} at a time",
        limits.wall_ms, limits.cpu_ms, limits.memory_mib, limits.output_kib, limits.host_calls, limits.parallel
    ));
    match grants.component() {
        Some(digest) => lines.push(format!("bound to {digest}")),
        None => lines.push("bound to no component: nothing can be called".to_owned()),
    }
    lines
}

fn can_call(grants: &Grants, function: &FunctionName) -> Answer {
    let rule = format!("call:{function}");
    let tool = grants.tool();
    if grants.component().is_none() {
        return Answer {
            allowed: false,
            rule: "grant:absent".to_owned(),
            reason: format!("nothing is granted to {tool}"),
            help: Some(format!("chitin tool grant {tool}")),
        };
    }
    let reason = match grants.ask(function) {
        None => "allowed; a person is asked if the function claims to destroy or to pay",
        Some(Ask::Never) => "allowed without asking",
        Some(Ask::Session) => "allowed after a person agrees, once per session",
        Some(Ask::Each) => "allowed after a person agrees, each time",
    };
    Answer { allowed: true, rule, reason: reason.to_owned(), help: None }
}
