//! May this request leave? A request and its grants go in; a permit, made only here, comes out.

use chitin_policy::{Decision, Grants, HttpGrant};
use chitin_types::{HostPattern, Scheme};
use url::Url;

use crate::{EgressError, Request, address, target, target::Target};

/// Proof that one request was authorized. Consumed by [`crate::Egress::send`]; cannot be copied or made elsewhere.
#[derive(Debug)]
#[must_use = "a permit that is not used sends nothing"]
pub struct Permit {
    pub(crate) url: Url,
    pub(crate) method: String,
    pub(crate) rule: String,
    /// The tool or endpoint whose connections may be reused; two owners never share one.
    pub(crate) owner: String,
    pub(crate) reach: Reach,
    pub(crate) injection: Option<Injection>,
}

/// Which secret is put where, by the rule that allowed the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Injection {
    pub(crate) secret: String,
    pub(crate) header: String,
    pub(crate) format: String,
}

/// Which addresses the name may resolve to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reach {
    /// Public ones only; one reserved address among many refuses the name.
    Public,
    /// Any: the origin was written down literally by the user.
    Any,
}

impl Permit {
    /// The rule that allowed it.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Method, origin and path without the query, for the audit.
    pub fn line(&self) -> String {
        format!("{} {}{}", self.method, self.url.origin().ascii_serialization(), self.url.path())
    }

    /// Whether the request only looks: GET, HEAD or OPTIONS.
    pub fn only_looks(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }
}

/// Decides about a tool's request.
///
/// # Errors
/// The URL is not plain, no rule allows the target, or the address is reserved and not granted literally.
pub fn authorize(grants: &Grants, request: &Request) -> Result<Permit, EgressError> {
    let Target { decided, url, literal } = target::parse(&request.method, &request.url)?;
    let rule = match grants.http(&decided) {
        Decision::Allow { rule } => rule,
        Decision::Deny(denial) => return Err(EgressError::Denied(denial)),
    };
    // Only an exact rule can name an address: patterns need letters in the last label.
    let reach = match literal {
        Some(ip) if !exactly_granted(grants, &decided.host) => {
            let range = address::reserved(ip).unwrap_or("an address");
            return Err(EgressError::denied("egress:address", format!("{ip} ({range}) is not granted literally")));
        }
        Some(_) => Reach::Any,
        None => Reach::Public,
    };
    let injection = injection(grants, &rule);
    if injection.is_some() && decided.scheme == Scheme::Http && !literal.is_some_and(|ip| ip.is_loopback()) {
        let reason = format!("a secret is not sent to {} without TLS", decided.host);
        return Err(EgressError::denied("egress:plaintext", reason));
    }
    Ok(Permit { url, method: decided.method, rule, owner: grants.tool().to_string(), reach, injection })
}

fn injection(grants: &Grants, rule: &str) -> Option<Injection> {
    let named = |granted: &&HttpGrant| rule.strip_prefix("http:") == Some(granted.id.as_str());
    let granted = grants.http_rules().iter().find(named)?;
    let (secret, inject) = (granted.secret.clone()?, granted.inject.clone()?);
    Some(Injection { secret, header: inject.header, format: inject.format })
}

fn exactly_granted(grants: &Grants, host: &str) -> bool {
    grants.http_rules().iter().any(|rule| matches!(&rule.host, HostPattern::Exact(exact) if exact == host))
}

/// A base URL that the user configured: that line is itself the permission to talk to this origin, below this path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    base: Url,
    scheme: Scheme,
}

impl Endpoint {
    /// Reads a base URL.
    ///
    /// # Errors
    /// It is not plain, or it has a query.
    pub fn parse(base_url: &str) -> Result<Self, EgressError> {
        let Target { url, decided, .. } = target::parse("GET", base_url)?;
        if url.query().is_some() {
            return Err(EgressError::BadUrl(format!("{base_url:?} is not accepted: a base URL has no query")));
        }
        Ok(Self { base: url, scheme: decided.scheme })
    }

    pub(crate) fn authorize(&self, request: &Request) -> Result<Permit, EgressError> {
        let Target { url, decided, .. } = target::parse(&request.method, &request.url)?;
        let below = self.base.path().trim_end_matches('/');
        let inside = url.path().strip_prefix(below).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if decided.scheme != self.scheme || url.origin() != self.base.origin() || !inside {
            let reason = format!("{} does not lie below the configured {}", request.url, self.base);
            return Err(EgressError::denied("config:endpoint", reason));
        }
        let owner = format!("endpoint {}", self.base.origin().ascii_serialization());
        Ok(Permit {
            url,
            method: decided.method,
            rule: "config:endpoint".to_owned(),
            owner,
            reach: Reach::Any,
            injection: None,
        })
    }
}
