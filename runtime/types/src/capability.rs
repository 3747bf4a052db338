//! What can be asked for, granted or capped? The shapes that manifests, grants and signer ceilings share.

use serde::{Deserialize, Serialize};

use crate::{HostPattern, PathPattern};

/// A set of capabilities. Empty means nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capabilities {
    /// Directories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fs: Vec<FsAsk>,
    /// Requests to the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpAsk>,
    /// A store of its own, by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv: Option<KvAsk>,
    /// The assistant's memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<RecallAsk>,
}

/// Whether files may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FsMode {
    /// Read only.
    Ro,
    /// Read and write.
    Rw,
}

impl FsMode {
    /// `ro` or `rw`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ro => "ro",
            Self::Rw => "rw",
        }
    }
}

/// A directory, by the path under which the guest sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FsAsk {
    /// An absolute guest path, or `*` for any directory that the user may grant.
    pub at: String,
    /// Read only, or read and write.
    pub mode: FsMode,
    /// Why, for the install review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl FsAsk {
    /// Whether a mount at `at` with `mode` lies within this.
    pub fn covers(&self, at: &str, mode: FsMode) -> bool {
        (self.at == "*" || self.at == at) && mode <= self.mode
    }
}

/// The two schemes that egress speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// TLS; port 443 unless said otherwise.
    Https,
    /// Plain; port 80 unless said otherwise.
    Http,
}

impl Scheme {
    /// `https` or `http`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
        }
    }

    /// The port when a URL names none.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Https => 443,
            Self::Http => 80,
        }
    }
}

/// One request, parsed once: the host is canonical, the path begins with a slash and has no query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpTarget {
    /// Plain or TLS.
    pub scheme: Scheme,
    /// Lower case, no trailing dot, no brackets.
    pub host: String,
    /// The port that will be connected to.
    pub port: u16,
    /// Upper case.
    pub method: String,
    /// From the first slash up to the query.
    pub path: String,
}

/// Requests, by host, scheme, port, method and path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpAsk {
    /// Which hosts.
    pub host: HostPattern,
    /// Which schemes; `https` alone when absent.
    #[serde(default = "https_only")]
    pub scheme: Vec<Scheme>,
    /// Which ports; empty means any port in a request or ceiling.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// Which methods, in upper case.
    pub methods: Vec<String>,
    /// Which paths.
    pub paths: Vec<PathPattern>,
    /// Why, for the install review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl HttpAsk {
    /// Whether one request lies within this.
    pub fn covers(&self, target: &HttpTarget) -> bool {
        self.scheme.contains(&target.scheme)
            && self.host.matches(&target.host)
            && (self.ports.is_empty() || self.ports.contains(&target.port))
            && self.methods.contains(&target.method)
            && self.paths.iter().any(|path| path.matches(&target.path))
    }
}

/// A store of its own for a component, which outlives its calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KvAsk {
    /// Keys and values together, in KiB.
    pub quota_kib: u64,
    /// Why, for the install review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The assistant's memory, by scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecallAsk {
    /// Scopes that it reads, or `*` for any that the user may grant.
    #[serde(default)]
    pub read: Vec<String>,
    /// Scopes that it adds to and removes from, or `*`.
    #[serde(default)]
    pub write: Vec<String>,
    /// Why, for the install review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a component does with a scope of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecallMode {
    /// Looks things up.
    Read,
    /// Adds and removes.
    Write,
}

impl RecallAsk {
    /// Whether this names the scope for this use.
    pub fn covers(&self, scope: &str, mode: RecallMode) -> bool {
        let named = match mode {
            RecallMode::Read => &self.read,
            RecallMode::Write => &self.write,
        };
        named.iter().any(|name| name == "*" || name == scope)
    }
}

/// Whether a text can name a scope: 1 to 48 of a-z, 0-9 and hyphen.
pub fn is_scope(name: &str) -> bool {
    (1..=48).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn https_only() -> Vec<Scheme> {
    vec![Scheme::Https]
}
