//! What did the user give one tool? The text of a grant file goes in, a checked [`Grant`] comes out.
//!
//! An unknown key, a pattern that would match more than it seems to, or a key that has no effect refuses the whole file.

use std::collections::{BTreeMap, BTreeSet};

use chitin_types::{
    Capabilities, Digest, DocumentError, FsAsk, FsMode, FunctionName, HostPattern, HttpAsk, KvAsk, Limits, RecallAsk,
    ToolName, is_scope,
};
use serde::{Deserialize, Serialize};

/// One grant file, as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// Version of the format; 1.
    pub schema: u32,
    /// The tool that this is given to.
    pub tool: ToolName,
    /// The component that it is bound to; a template has none and grants nothing until the install fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<Pin>,
    /// Ceilings of one call.
    #[serde(default)]
    pub limits: Limits,
    /// Which functions need a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub call: Vec<CallRule>,
    /// Directories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fs: Vec<FsGrant>,
    /// Requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpGrant>,
    /// Settings that the tool may read, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
    /// A store of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kv: Option<KvGrant>,
    /// The assistant's memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recall: Option<RecallGrant>,
}

/// A store of its own for one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KvGrant {
    /// Keys and values together, in KiB; 1 to 65,536.
    pub quota_kib: u64,
}

/// Scopes of the assistant's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecallGrant {
    /// Scopes that the tool may look things up in.
    #[serde(default)]
    pub read: Vec<String>,
    /// Scopes that it may add to and remove from.
    #[serde(default)]
    pub write: Vec<String>,
}

/// How a secret is put into a request: only here, at egress, and only for the rule that names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inject {
    /// The header, in lower case. A guest that sets it itself is refused.
    pub header: String,
    /// The value, with `{}` where the secret goes.
    pub format: String,
}

/// The component that a grant is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// Digest of the component's bytes.
    pub component: Digest,
    /// What may replace it without asking again.
    #[serde(default)]
    pub accept: Accept,
}

/// What may replace a pinned component without asking again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accept {
    /// Nothing.
    Exact,
    /// A version by the same key that asks for nothing more.
    #[default]
    SameSignerNoNewCaps,
}

/// How often a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ask {
    /// Not at all.
    Never,
    /// Once for this rule in each session.
    Session,
    /// At each call.
    Each,
}

/// Whether a person is asked before these functions run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRule {
    /// Names of functions of this tool.
    pub functions: Vec<FunctionName>,
    /// How often a person is asked.
    pub ask: Ask,
}

/// A named root of the configuration, mounted for the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FsGrant {
    /// The absolute path under which the guest sees it.
    pub at: String,
    /// `workspace:<name>`, a root of the configuration; never a path of the host.
    pub from: String,
    /// Read only, or read and write.
    pub mode: FsMode,
}

impl FsGrant {
    /// The name after `workspace:`.
    pub fn root(&self) -> &str {
        self.from.strip_prefix("workspace:").unwrap_or("")
    }
}

/// Requests that may be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpGrant {
    /// The rule's name, unique in the file; the audit shows it.
    pub id: String,
    /// A host or `*.host`; never a bare `*`.
    pub host: HostPattern,
    /// `https` alone when absent.
    #[serde(default = "https_only")]
    pub scheme: Vec<chitin_types::Scheme>,
    /// The scheme's own port when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// Methods in upper case.
    pub methods: Vec<String>,
    /// Path patterns.
    pub paths: Vec<chitin_types::PathPattern>,
    /// Name of the secret that is put into each request of this rule. The tool never sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Where it is put.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject: Option<Inject>,
}

/// What holds for every tool: upper limits, and no capability, since nothing can be granted to tools unseen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// Version of the format; 1.
    pub schema: u32,
    /// The highest values that any grant can have.
    #[serde(default)]
    pub limits: Limits,
}

/// Methods that a rule may name. CONNECT and TRACE are left out: one tunnels, the other echoes credentials.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

impl Grant {
    /// Reads a grant file; `file` is its name for messages.
    ///
    /// # Errors
    /// Anything in it is unknown, misspelled or too wide. Nothing of a refused file takes effect.
    pub fn parse(file: &str, text: &str) -> Result<Self, DocumentError> {
        let grant: Self = toml::from_str(text).map_err(|e| DocumentError::parser(file, text, e.span(), e.message()))?;
        grant.check(&|needle, message| DocumentError::near(file, text, needle, message))?;
        Ok(grant)
    }

    /// A grant that gives no capability, bound to one component: the tool can compute and nothing else.
    pub fn nothing(tool: ToolName, component: Digest) -> Self {
        Self {
            schema: 1,
            tool,
            pin: Some(Pin { component, accept: Accept::default() }),
            limits: Limits::default(),
            call: vec![],
            fs: vec![],
            http: vec![],
            config: BTreeMap::new(),
            kv: None,
            recall: None,
        }
    }

    /// The text of the file. Reading it back gives the same grant.
    ///
    /// # Panics
    /// Never: every field has a TOML form.
    pub fn to_text(&self) -> String {
        toml::to_string_pretty(self).expect("every field of a grant has a TOML form")
    }

    /// The same power as a set of capabilities, for comparing with a request or a ceiling.
    pub fn capabilities(&self) -> Capabilities {
        let fs = self.fs.iter().map(|f| FsAsk { at: f.at.clone(), mode: f.mode, reason: None }).collect();
        let http = self.http.iter().map(HttpGrant::as_ask).collect();
        let kv = self.kv.as_ref().map(|kv| KvAsk { quota_kib: kv.quota_kib, reason: None });
        let recall = self.recall.as_ref();
        let recall = recall.map(|r| RecallAsk { read: r.read.clone(), write: r.write.clone(), reason: None });
        Capabilities { fs, http, kv, recall }
    }

    fn check(&self, wrong: &dyn Fn(&str, String) -> DocumentError) -> Result<(), DocumentError> {
        if self.schema != 1 {
            return Err(wrong("schema", format!("schema {} is not known; this version reads 1", self.schema)));
        }
        let mut places = BTreeSet::new();
        for mount in &self.fs {
            check_mount(mount, wrong)?;
            if !places.insert(&mount.at) {
                return Err(wrong(&mount.at, format!("{} is mounted twice", mount.at)));
            }
        }
        let mut ids = BTreeSet::new();
        for rule in &self.http {
            check_rule(rule, wrong)?;
            if !ids.insert(&rule.id) {
                return Err(wrong(&rule.id, format!("two rules have the id {:?}", rule.id)));
            }
        }
        let mut functions = BTreeSet::new();
        for name in self.call.iter().flat_map(|rule| &rule.functions) {
            if !functions.insert(name) {
                return Err(wrong(name.as_str(), format!("{name} stands in two [[call]] rules")));
            }
        }
        self.check_stores(wrong)
    }
}

impl Grant {
    fn check_stores(&self, wrong: &dyn Fn(&str, String) -> DocumentError) -> Result<(), DocumentError> {
        if let Some(kv) = &self.kv
            && !(1..=KV_QUOTA_KIB_MAX).contains(&kv.quota_kib)
        {
            return Err(wrong("quota_kib", format!("quota_kib = {} is not 1 to {KV_QUOTA_KIB_MAX}", kv.quota_kib)));
        }
        for scope in self.recall.iter().flat_map(|recall| recall.read.iter().chain(&recall.write)) {
            if !is_scope(scope) {
                return Err(wrong(scope, format!("scope {scope:?} is not 1 to 48 of a-z, 0-9 and hyphen")));
            }
        }
        if self.config.len() > CONFIG_KEYS_MAX {
            return Err(wrong("[config]", format!("more than {CONFIG_KEYS_MAX} settings")));
        }
        Ok(())
    }
}

impl HttpGrant {
    /// The ports that the rule means: its own, or the default of each of its schemes.
    pub fn ports_meant(&self) -> Vec<u16> {
        if self.ports.is_empty() { self.scheme.iter().map(|s| s.default_port()).collect() } else { self.ports.clone() }
    }

    /// The rule as a set of requests.
    pub fn as_ask(&self) -> HttpAsk {
        HttpAsk {
            host: self.host.clone(),
            scheme: self.scheme.clone(),
            ports: self.ports_meant(),
            methods: self.methods.clone(),
            paths: self.paths.clone(),
            reason: None,
        }
    }
}

impl Defaults {
    /// Reads `default.toml`; `file` is its name for messages.
    ///
    /// # Errors
    /// It holds anything but a known schema and limits.
    pub fn parse(file: &str, text: &str) -> Result<Self, DocumentError> {
        let defaults: Self = toml::from_str(text).map_err(|e| {
            DocumentError::parser(file, text, e.span(), e.message())
                .with_help("this file holds [limits] only; capabilities are given to one tool by name")
        })?;
        if defaults.schema != 1 {
            return Err(DocumentError::near(file, text, "schema", format!("schema {} is not known", defaults.schema)));
        }
        Ok(defaults)
    }
}

fn check_mount(mount: &FsGrant, wrong: &dyn Fn(&str, String) -> DocumentError) -> Result<(), DocumentError> {
    let segments = mount.at.strip_prefix('/').map(|rest| rest.split('/').collect::<Vec<_>>());
    let plain =
        segments.is_some_and(|s| s.iter().all(|part| !matches!(*part, "" | "." | "..") && !part.contains('\0')));
    if !plain {
        return Err(wrong(&mount.at, format!("at = {:?} is no plain absolute path below /", mount.at)));
    }
    let name = mount.root();
    let named = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !named {
        let message = format!("from = {:?} is no named root; write \"workspace:<name>\"", mount.from);
        return Err(wrong(&mount.from, message).with_help("name roots under [roots] in config.toml"));
    }
    Ok(())
}

fn check_rule(rule: &HttpGrant, wrong: &dyn Fn(&str, String) -> DocumentError) -> Result<(), DocumentError> {
    let plain_id = (1..=48).contains(&rule.id.len())
        && rule.id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !plain_id {
        return Err(wrong(&rule.id, format!("id {:?} is not 1 to 48 of a-z, 0-9 and hyphen", rule.id)));
    }
    if rule.host == HostPattern::Any {
        return Err(wrong("host", "a bare * would reach every host; name the hosts".to_owned()));
    }
    for (name, empty) in
        [("scheme", rule.scheme.is_empty()), ("methods", rule.methods.is_empty()), ("paths", rule.paths.is_empty())]
    {
        if empty {
            return Err(wrong(&rule.id, format!("rule {:?} has an empty {name}, which would grant nothing", rule.id)));
        }
    }
    check_secret(rule, wrong)?;
    if let Some(method) = rule.methods.iter().find(|m| !METHODS.contains(&m.as_str())) {
        return Err(wrong(method, format!("{method:?} is none of {}", METHODS.join(", "))));
    }
    Ok(())
}

fn check_secret(rule: &HttpGrant, wrong: &dyn Fn(&str, String) -> DocumentError) -> Result<(), DocumentError> {
    let (secret, inject) = match (&rule.secret, &rule.inject) {
        (None, None) => return Ok(()),
        (Some(secret), Some(inject)) => (secret, inject),
        (Some(_), None) => {
            return Err(wrong("secret", format!("rule {:?} has a secret and no inject", rule.id))
                .with_help("inject = { header = \"authorization\", format = \"Bearer {}\" }"));
        }
        (None, Some(_)) => return Err(wrong("inject", format!("rule {:?} has inject and no secret", rule.id))),
    };
    if !is_scope(secret) {
        return Err(wrong(secret, format!("secret {secret:?} is not 1 to 48 of a-z, 0-9 and hyphen")));
    }
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if inject.header.is_empty() || !inject.header.bytes().all(plain) || FRAMING.contains(&inject.header.as_str()) {
        return Err(wrong(&inject.header, format!("header {:?} is none that a secret can be put in", inject.header)));
    }
    let printable = inject.format.bytes().all(|b| (b' '..=b'~').contains(&b));
    if inject.format.matches("{}").count() != 1 || !printable {
        return Err(wrong(&inject.format, format!("format {:?} does not hold {{}} once", inject.format)));
    }
    // A pattern would send the secret to hosts that nobody named.
    if !matches!(rule.host, HostPattern::Exact(_)) {
        return Err(wrong(&rule.id, format!("rule {:?} sends a secret, so its host must be exact", rule.id)));
    }
    Ok(())
}

/// Headers that frame a message or choose the server.
const FRAMING: [&str; 7] =
    ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "proxy-authorization"];
/// The largest store of one tool, in KiB; the database is shared by all.
const KV_QUOTA_KIB_MAX: u64 = 65_536;
/// Settings of one tool; they are read at every start of a call.
const CONFIG_KEYS_MAX: usize = 256;

fn https_only() -> Vec<chitin_types::Scheme> {
    vec![chitin_types::Scheme::Https]
}

#[cfg(test)]
#[path = "grant_tests.rs"]
mod tests;
