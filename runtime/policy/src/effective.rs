//! What may one tool really do? Request, grant, signer's ceiling and default limits go in; decisions come out.
//!
//! The documents are kept side by side and each is asked, so the effective set is inside every one of them by
//! construction; no pattern is ever intersected with another.

use std::collections::BTreeMap;

use chitin_types::{Capabilities, Denial, Digest, FsMode, FunctionName, HttpTarget, Limits, RecallMode, ToolName};

use crate::{Ask, Defaults, Grant, HttpGrant};

/// What one tool may do, after every document had its say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    grant: Grant,
    request: Capabilities,
    ceiling: Capabilities,
    limits: Limits,
}

/// A directory that the guest sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The guest's path.
    pub at: String,
    /// The named root.
    pub root: String,
    /// The least mode that every document allows.
    pub mode: FsMode,
}

/// One decision, with the rule that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Allowed by this rule.
    Allow {
        /// For example `http:read`.
        rule: String,
    },
    /// Refused.
    Deny(Denial),
}

impl Grants {
    /// Puts the documents side by side.
    pub fn intersect(request: Capabilities, grant: Grant, ceiling: Capabilities, defaults: &Defaults) -> Self {
        let limits = grant.limits.least(defaults.limits);
        Self { grant, request, ceiling, limits }
    }

    /// The tool.
    pub fn tool(&self) -> &ToolName {
        &self.grant.tool
    }

    /// The component that the grant is bound to; without one nothing may be called.
    pub fn component(&self) -> Option<Digest> {
        self.grant.pin.as_ref().map(|pin| pin.component)
    }

    /// The least of every document's limits.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The rules for requests, in the order of the file.
    pub fn http_rules(&self) -> &[HttpGrant] {
        &self.grant.http
    }

    /// How often a person is asked before `function`, where the file says so.
    pub fn ask(&self, function: &FunctionName) -> Option<Ask> {
        self.grant.call.iter().find(|rule| rule.functions.contains(function)).map(|rule| rule.ask)
    }

    /// Settings that the tool may read; written by the user, so no other document has a say.
    pub fn config(&self) -> &BTreeMap<String, String> {
        &self.grant.config
    }

    /// How much the tool may keep by key, in KiB: the least that any document allows.
    ///
    /// # Errors
    /// One of the documents allows no store.
    pub fn kv_quota_kib(&self) -> Result<u64, Denial> {
        let grant = self.grant.kv.as_ref().ok_or_else(|| {
            self.deny_store("grant:kv", "a store of its own is not granted", Some("kv --quota-kib 512".to_owned()))
        })?;
        let request = self.request.kv.as_ref().ok_or_else(|| {
            self.deny_store("request:kv", "a store is granted, but the signed request does not ask for it", None)
        })?;
        let ceiling = self.ceiling.kv.as_ref().ok_or_else(|| {
            self.deny_store("signer:kv", "a store lies above the ceiling of the key that signed the tool", None)
        })?;
        Ok(grant.quota_kib.min(request.quota_kib).min(ceiling.quota_kib))
    }

    /// Whether the tool may use this scope of the memory.
    pub fn recall(&self, scope: &str, mode: RecallMode) -> Decision {
        let granted = self.grant.capabilities().recall;
        let covers = |ask: &Option<chitin_types::RecallAsk>| ask.as_ref().is_some_and(|ask| ask.covers(scope, mode));
        let verb = match mode {
            RecallMode::Read => "read",
            RecallMode::Write => "write",
        };
        if !covers(&granted) {
            let reason = format!("memory scope {scope:?} is not granted for {verb}");
            return Decision::Deny(self.deny_store("grant:recall", &reason, Some(format!("recall {scope}:{verb}"))));
        }
        if !covers(&self.request.recall) {
            let reason =
                format!("{verb} of memory scope {scope:?} is granted, but the signed request does not ask for it");
            return Decision::Deny(self.deny_store("request:recall", &reason, None));
        }
        if !covers(&self.ceiling.recall) {
            let reason =
                format!("{verb} of memory scope {scope:?} lies above the ceiling of the key that signed the tool");
            return Decision::Deny(self.deny_store("signer:recall", &reason, None));
        }
        Decision::Allow { rule: format!("recall:{scope}") }
    }

    /// The scopes that every document allows for this use, in the order of the grant.
    pub fn recall_scopes(&self, mode: RecallMode) -> Vec<String> {
        let granted = self.grant.recall.iter().flat_map(|recall| match mode {
            RecallMode::Read => &recall.read,
            RecallMode::Write => &recall.write,
        });
        granted.filter(|scope| matches!(self.recall(scope, mode), Decision::Allow { .. })).cloned().collect()
    }

    /// The directories that every document allows.
    pub fn mounts(&self) -> Vec<Mount> {
        self.grant.fs.iter().filter_map(|fs| self.mount(&fs.at, fs.root(), fs.mode)).collect()
    }

    /// Whether this request may be made. The twin of a denial is the same request under a grant with one more line.
    pub fn http(&self, target: &HttpTarget) -> Decision {
        let covers = |ask: &chitin_types::HttpAsk| ask.covers(target);
        let Some(rule) = self.grant.http.iter().find(|rule| covers(&rule.as_ask())) else {
            return self.deny_http("grant:http", "is not granted", target, true);
        };
        if !self.request.http.iter().any(covers) {
            return self.deny_http(
                "request:http",
                "is granted, but the signed request does not ask for it",
                target,
                false,
            );
        }
        if !self.ceiling.http.iter().any(covers) {
            return self.deny_http(
                "signer:http",
                "lies above the ceiling of the key that signed the tool",
                target,
                false,
            );
        }
        Decision::Allow { rule: format!("http:{}", rule.id) }
    }

    /// Whether the guest may use `path` (absolute, as the guest spells it) in this mode.
    pub fn fs(&self, path: &str, mode: FsMode) -> Decision {
        let inside = |at: &str| path == at || path.strip_prefix(at).is_some_and(|rest| rest.starts_with('/'));
        let plain = !path.split('/').any(|part| part == "..");
        let mounted = self.grant.fs.iter().filter(|fs| plain && inside(&fs.at)).max_by_key(|fs| fs.at.len());
        let Some(fs) = mounted else {
            return self.deny_fs("grant:fs", &format!("{path} lies in no directory that is granted"), path, mode);
        };
        if fs.mode < mode {
            let reason = format!("{} is granted read-only", fs.at);
            return self.deny_fs("grant:fs", &reason, &fs.at, mode);
        }
        if !self.request.fs.iter().any(|ask| ask.covers(&fs.at, mode)) {
            return Decision::Deny(Denial {
                rule: "request:fs".to_owned(),
                reason: format!("{} {} is granted, but the signed request does not ask for it", mode.word(), fs.at),
                help: None,
            });
        }
        if !self.ceiling.fs.iter().any(|ask| ask.covers(&fs.at, mode)) {
            return Decision::Deny(Denial {
                rule: "signer:fs".to_owned(),
                reason: format!("{} {} lies above the ceiling of the key that signed the tool", mode.word(), fs.at),
                help: None,
            });
        }
        Decision::Allow { rule: format!("fs:{}", fs.at) }
    }

    /// The command that would let this tool use a directory.
    pub fn fs_help(&self, directory: &str, mode: FsMode) -> String {
        format!("chitin tool grant {} fs {directory}:{}", self.tool(), mode.word())
    }

    fn deny_store(&self, rule: &str, reason: &str, grantable: Option<String>) -> Denial {
        let help = grantable.map(|what| format!("chitin tool grant {} {what}", self.tool()));
        Denial { rule: rule.to_owned(), reason: reason.to_owned(), help }
    }

    fn mount(&self, at: &str, root: &str, granted: FsMode) -> Option<Mount> {
        let allowed = |mode: FsMode| {
            mode <= granted
                && self.request.fs.iter().any(|ask| ask.covers(at, mode))
                && self.ceiling.fs.iter().any(|ask| ask.covers(at, mode))
        };
        let mode = [FsMode::Rw, FsMode::Ro].into_iter().find(|mode| allowed(*mode))?;
        Some(Mount { at: at.to_owned(), root: root.to_owned(), mode })
    }

    fn deny_http(&self, rule: &str, why: &str, target: &HttpTarget, grantable: bool) -> Decision {
        let HttpTarget { scheme, host, port, method, path } = target;
        let shown = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let origin = if *port == scheme.default_port() {
            format!("{}://{shown}", scheme.word())
        } else {
            format!("{}://{shown}:{port}", scheme.word())
        };
        let help = format!("chitin tool grant {} net {origin} --method {method} --path {path}", self.tool());
        Decision::Deny(Denial {
            rule: rule.to_owned(),
            reason: format!("{method} {origin}{path} {why}"),
            help: grantable.then_some(help),
        })
    }

    fn deny_fs(&self, rule: &str, reason: &str, path: &str, mode: FsMode) -> Decision {
        let help = Some(self.fs_help(path, mode));
        Decision::Deny(Denial { rule: rule.to_owned(), reason: reason.to_owned(), help })
    }
}

#[cfg(test)]
#[path = "effective_tests.rs"]
mod tests;
