//! Which hosts and paths does a pattern match? No regular expressions: one leading `*.`, one-segment `*`, a final `**`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::NameError;

/// A host: exact (`api.github.com`, an address literal), one further label (`*.github.com`), or any (`*`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum HostPattern {
    /// Exactly this host.
    Exact(String),
    /// Exactly one label before this suffix.
    OneLabel(String),
    /// Any host; refused in grants.
    Any,
}

impl HostPattern {
    /// Reads a pattern. Upper case is refused so that a host has one spelling.
    ///
    /// # Errors
    /// The text is no host, no address literal and no pattern.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let wrong = || NameError {
            what: "host pattern",
            given: text.to_owned(),
            expected: "a lower-case host, an address, or *.host",
        };
        if text == "*" {
            return Ok(Self::Any);
        }
        if let Some(rest) = text.strip_prefix("*.") {
            return if is_name(rest) && rest.contains('.') {
                Ok(Self::OneLabel(rest.to_owned()))
            } else {
                Err(wrong())
            };
        }
        let address = text.trim_start_matches('[').trim_end_matches(']');
        if is_name(text) || address.parse::<std::net::IpAddr>().is_ok() {
            Ok(Self::Exact(address.to_owned()))
        } else {
            Err(wrong())
        }
    }

    /// Whether this canonical host (lower case, no trailing dot, no brackets) matches.
    pub fn matches(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(exact) => exact == host,
            Self::OneLabel(suffix) => host
                .strip_suffix(suffix.as_str())
                .and_then(|head| head.strip_suffix('.'))
                .is_some_and(|label| !label.is_empty() && !label.contains('.')),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(host) => f.write_str(host),
            Self::OneLabel(suffix) => write!(f, "*.{suffix}"),
            Self::Any => f.write_str("*"),
        }
    }
}

impl TryFrom<String> for HostPattern {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(&text)
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> String {
        pattern.to_string()
    }
}

/// A URL path: literal segments, `*` for one whole segment, a final `**` for the rest, however much that is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PathPattern(String);

impl PathPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// It does not begin with a slash, has a star inside a segment, or `**` before the end.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let wrong = || NameError {
            what: "path pattern",
            given: text.to_owned(),
            expected: "a path from /, with * for a whole segment and ** only at the end",
        };
        let body = text.strip_prefix('/').ok_or_else(wrong)?;
        let segments: Vec<&str> = body.split('/').collect();
        let last = segments.len() - 1;
        let fits = |(index, segment): (usize, &&str)| match *segment {
            "*" => true,
            "**" => index == last,
            "." | ".." => false,
            other => !other.contains(['*', '?', '#', '%', '\\']),
        };
        if segments.iter().enumerate().all(fits) { Ok(Self(text.to_owned())) } else { Err(wrong()) }
    }

    /// Whether this path matches, segment by segment. A path with an encoded slash, dot or backslash, or with a dot
    /// segment, matches nothing: servers disagree on what such a path means.
    pub fn matches(&self, path: &str) -> bool {
        let lower = path.to_ascii_lowercase();
        if ["%2e", "%2f", "%5c", "\\"].iter().any(|bad| lower.contains(bad))
            || path.split('/').any(|s| s == "." || s == "..")
        {
            return false;
        }
        let Some(body) = path.strip_prefix('/') else { return false };
        let mut given = body.split('/');
        for wanted in self.0.trim_start_matches('/').split('/') {
            match (wanted, given.next()) {
                ("**", _) => return true,
                ("*", Some(segment)) if !segment.is_empty() => {}
                (literal, Some(segment)) if literal == segment => {}
                _ => return false,
            }
        }
        given.next().is_none()
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for PathPattern {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(&text)
    }
}

impl From<PathPattern> for String {
    fn from(pattern: PathPattern) -> String {
        pattern.0
    }
}

fn is_name(text: &str) -> bool {
    let label = |l: &str| {
        (1..=63).contains(&l.len())
            && !l.starts_with('-')
            && !l.ends_with('-')
            && l.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
    };
    // A last label of digits would be read as an IPv4 address by a URL parser.
    let last_is_number = text.rsplit('.').next().is_some_and(|l| l.bytes().all(|b| b.is_ascii_digit()));
    text.len() <= 253 && !last_is_number && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_match_whole_labels_only() {
        let check = |pattern: &str, host: &str, expected: bool| {
            let pattern = HostPattern::parse(pattern).expect("a valid pattern");
            assert_eq!(pattern.matches(host), expected, "{pattern} {host}");
        };
        check("good.test", "good.test", true);
        check("good.test", "evil-good.test", false);
        check("good.test", "good.test.evil", false);
        check("*.good.test", "a.good.test", true);
        check("*.good.test", "a.b.good.test", false);
        check("*.good.test", "good.test", false);
        check("*.good.test", "agood.test", false);
        check("127.0.0.1", "127.0.0.1", true);
        check("[::1]", "::1", true);
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in ["", "*.", "**", "*.com", "a*b.test", "Good.test", "good.test.", "a..b", "0x7f.1", "1.2.3", "a/b"] {
            assert!(HostPattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn paths_match_segment_by_segment() {
        let check = |pattern: &str, path: &str, expected: bool| {
            let pattern = PathPattern::parse(pattern).expect("a valid pattern");
            assert_eq!(pattern.matches(path), expected, "{pattern} {path}");
        };
        check("/**", "/", true);
        check("/**", "/a/b", true);
        check("/repos/**", "/repos/a", true);
        check("/repos/**", "/repos/", true);
        check("/repos/**", "/reposx/a", false);
        check("/repos/*/*/issues", "/repos/a/b/issues", true);
        check("/repos/*/*/issues", "/repos/a/issues", false);
        check("/repos/*/*/issues", "/repos//b/issues", false);
        check("/a", "/a/", false);
        check("/a/**", "/a/../b", false);
        check("/a/**", "/a/%2e%2e/b", false);
        check("/a/**", "/a/..%2Fb", false);
        check("/a/*", "/a/b%2fc", false);
    }

    #[test]
    fn stars_inside_segments_are_refused() {
        for text in ["a", "/a*", "/**/b", "/a/../b", "/a?b", ""] {
            assert!(PathPattern::parse(text).is_err(), "{text}");
        }
    }
}
