//! Which scheme, authority and path an address stands for. Text in; three parts out, or why it is not an address.
//!
//! Only `http` and `https`. It does not normalise hosts: the host side does that before it compares with its rules, and a
//! guest that did it differently could only confuse. User names in an address are refused, since they would be credentials
//! that no rule names.

use std::fmt;

/// An absolute `http` or `https` address without its fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    scheme: Scheme,
    authority: String,
    path_and_query: String,
}

/// Why a text is not an address that can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadUrl {
    reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

impl Url {
    /// Reads an absolute address. Spaces and characters outside of ASCII are percent-encoded in the path and the query.
    ///
    /// # Errors
    ///
    /// When the scheme is another one, the host is missing, or a user name stands before it.
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        let text = text.trim();
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(BadUrl::new(text, "an absolute http or https address is expected"));
        };
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(BadUrl::new(text, "only http and https can be asked for")),
        };
        let (authority, rest) = rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()));
        if authority.is_empty() {
            return Err(BadUrl::new(text, "the host is missing"));
        }
        if authority.contains('@') {
            return Err(BadUrl::new(text, "user names and passwords do not belong into an address"));
        }
        if authority.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(BadUrl::new(text, "the host holds a space"));
        }
        Ok(Self { scheme, authority: authority.to_owned(), path_and_query: encoded_path(rest) })
    }

    /// The address that `reference` means on the page at this address: absolute, or relative to host, path or query.
    ///
    /// # Errors
    ///
    /// When the reference has a scheme that cannot be asked for, such as `mailto`.
    pub fn join(&self, reference: &str) -> Result<Self, BadUrl> {
        let reference = reference.trim();
        if has_scheme(reference) {
            return Self::parse(reference);
        }
        if reference.starts_with("//") {
            return Self::parse(&format!("{}:{reference}", self.scheme()));
        }
        let path = self.path_and_query.split('?').next().unwrap_or("/");
        let whole = match reference.chars().next() {
            None | Some('#') => self.path_and_query.clone(),
            Some('/') => reference.to_owned(),
            Some('?') => format!("{path}{reference}"),
            Some(_) => format!("{}/{reference}", path.rsplit_once('/').map_or("", |(folder, _)| folder)),
        };
        Ok(Self { path_and_query: without_dots(&encoded_path(&whole)), ..self.clone() })
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// Host and, where given, port.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Starts with `/`.
    pub fn path_and_query(&self) -> &str {
        &self.path_and_query
    }

    pub(super) fn is_https(&self) -> bool {
        self.scheme == Scheme::Https
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme(), self.authority, self.path_and_query)
    }
}

impl BadUrl {
    fn new(text: &str, reason: &str) -> Self {
        let shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
        Self { reason: format!("`{shown}` is not an address: {reason}") }
    }
}

impl fmt::Display for BadUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for BadUrl {}

/// A scheme is a letter and then letters, digits, `+`, `-`, `.` up to a colon.
fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// Drops the fragment, puts `/` in front, and encodes what may not stand in a request line.
fn encoded_path(text: &str) -> String {
    let text = text.split('#').next().unwrap_or_default();
    let mut path = String::with_capacity(text.len() + 1);
    if !text.starts_with('/') {
        path.push('/');
    }
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}') {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}

/// Resolves `.` and `..` segments; the query is left as it is.
fn without_dots(path_and_query: &str) -> String {
    let (path, query) = path_and_query.split_at(path_and_query.find('?').unwrap_or(path_and_query.len()));
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    for segment in &segments {
        match *segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            other => kept.push(other),
        }
    }
    if matches!(segments.last(), Some(&("." | ".."))) {
        kept.push("");
    }
    format!("/{}{query}", kept.join("/"))
}

/// Enough of a bad address to recognise it, without repeating a page that was passed by mistake.
const SHOWN_CHARACTERS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let said = Url::parse(text).map_or_else(|bad| bad.to_string(), |url| url.to_string());
        assert_eq!(said, expected);
    }

    #[test]
    fn addresses_are_read_or_refused_with_a_reason() {
        check("https://docs.rs", "https://docs.rs/");
        check("HTTP://localhost:8080?q=a b#top", "http://localhost:8080/?q=a%20b");
        check("https://example.org/ä", "https://example.org/%C3%A4");
        check("docs.rs/serde", "`docs.rs/serde` is not an address: an absolute http or https address is expected");
        check("file:///etc/passwd", "`file:///etc/passwd` is not an address: only http and https can be asked for");
        check("https:///x", "`https:///x` is not an address: the host is missing");
        check(
            "https://me:pw@example.org/",
            "`https://me:pw@example.org/` is not an address: user names and passwords do not belong into an address",
        );
        check("https://exa mple.org/", "`https://exa mple.org/` is not an address: the host holds a space");
    }

    fn check_join(reference: &str, expected: &str) {
        let base = Url::parse("https://example.org/a/b/c?x=1").expect("a valid address");
        let said = base.join(reference).map_or_else(|bad| bad.to_string(), |url| url.to_string());
        assert_eq!(said, expected);
    }

    #[test]
    fn references_are_resolved_against_the_page() {
        check_join("", "https://example.org/a/b/c?x=1");
        check_join("#part", "https://example.org/a/b/c?x=1");
        check_join("d", "https://example.org/a/b/d");
        check_join("./d/", "https://example.org/a/b/d/");
        check_join("../d?y=../2", "https://example.org/a/d?y=../2");
        check_join("../../../d", "https://example.org/d");
        check_join("..", "https://example.org/a/");
        check_join("/d", "https://example.org/d");
        check_join("?y=2", "https://example.org/a/b/c?y=2");
        check_join("//other.net/d", "https://other.net/d");
        check_join("http://other.net", "http://other.net/");
        check_join("mailto:a@b", "`mailto:a@b` is not an address: an absolute http or https address is expected");
    }
}
