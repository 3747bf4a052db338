//! Which request does a URL mean? Text goes in; one canonical target comes out, or a refusal.
//!
//! Two parsers that disagree are how allowlists are bypassed. So the text is read once by the WHATWG parser, and then it
//! must say the same thing to a reader who never heard of that parser: no user info, no backslash, no control
//! character, the host already in its canonical spelling, a plain port.

use chitin_policy::HttpTarget;
use chitin_types::Scheme;
use url::{Host, Url};

use crate::EgressError;

/// A URL that reads the same to everybody, and the target that policy decides on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What policy decides on.
    pub decided: HttpTarget,
    /// What the client is given.
    pub url: Url,
    /// The address, when the host is written as one.
    pub literal: Option<std::net::IpAddr>,
}

/// Longest URL accepted, in bytes: servers differ above 8 KiB, and no tool needs more.
const URL_BYTES_MAX: usize = 8 * 1024;

/// Reads the URL of a request with this method.
///
/// # Errors
/// [`EgressError::BadUrl`], with the part that could be read differently.
pub fn parse(method: &str, text: &str) -> Result<Target, EgressError> {
    let bad = |why: &str| EgressError::BadUrl(format!("{:?} is not accepted: {why}", shown(text)));
    if text.len() > URL_BYTES_MAX {
        return Err(bad("it is longer than 8 KiB"));
    }
    if text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err(bad("it holds white space, a control character or a backslash"));
    }
    let scheme = if text.starts_with("https://") {
        Scheme::Https
    } else if text.starts_with("http://") {
        Scheme::Http
    } else {
        return Err(bad("it does not begin with https:// or http://"));
    };
    let (given_host, given_port) = authority(text).ok_or_else(|| bad("its host or port is not plain"))?;
    let mut url = Url::parse(text).map_err(|e| bad(&e.to_string()))?;
    let host = canonical_host(&url).ok_or_else(|| bad("it has no host"))?;
    if given_host.to_ascii_lowercase() != host {
        return Err(bad(&format!("write the host as {host}")));
    }
    let port = given_port.unwrap_or(scheme.default_port());
    if port == 0 || url.port_or_known_default() != Some(port) || !url.username().is_empty() || url.password().is_some()
    {
        return Err(bad("its port or user information is not plain"));
    }
    let literal = match url.host() {
        Some(Host::Ipv4(v4)) => Some(v4.into()),
        Some(Host::Ipv6(v6)) => Some(v6.into()),
        Some(Host::Domain(_)) | None => None,
    };
    if url.host().is_some_and(|host| matches!(host, Host::Ipv6(v6) if v6.to_ipv4_mapped().is_some())) {
        return Err(bad("write the IPv4 address itself"));
    }
    if !method.bytes().all(|b| b.is_ascii_uppercase()) || method.is_empty() {
        return Err(EgressError::BadUrl(format!("method {method:?} is not in upper case")));
    }
    url.set_fragment(None);
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let decided = HttpTarget { scheme, host: bare, port, method: method.to_owned(), path: url.path().to_owned() };
    Ok(Target { decided, url, literal })
}

/// Host and port as written; `None` when there is user information or the port is not 1 to 5 digits.
fn authority(text: &str) -> Option<(&str, Option<u16>)> {
    let (_, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let whole = rest.get(..end)?;
    if whole.is_empty() || whole.contains('@') {
        return None;
    }
    let host_end = match whole.strip_prefix('[') {
        Some(_) => whole.find(']')? + 1,
        None => whole.find(':').unwrap_or(whole.len()),
    };
    let (host, tail) = whole.split_at_checked(host_end)?;
    match tail.strip_prefix(':') {
        None if tail.is_empty() => Some((host, None)),
        None => None,
        Some(digits) if (1..=5).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) => {
            Some((host, Some(digits.parse().ok()?)))
        }
        Some(_) => None,
    }
}

/// The host as the parser would write it. A trailing dot names the same machine in a second spelling and is not offered.
fn canonical_host(url: &Url) -> Option<String> {
    let host = match url.host()? {
        Host::Domain(name) => name.trim_end_matches('.').to_owned(),
        Host::Ipv4(v4) => v4.to_string(),
        Host::Ipv6(v6) => format!("[{v6}]"),
    };
    (!host.is_empty() && host.len() <= 253).then_some(host)
}

fn shown(text: &str) -> String {
    text.chars().take(120).collect()
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
