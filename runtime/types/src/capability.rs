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

fn https_only() -> Vec<Scheme> {
    vec![Scheme::Https]
}
