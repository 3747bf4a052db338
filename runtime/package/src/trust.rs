//! Whose signature counts, for which names, and up to what? One trust file a key; a ring holds those of one home.
//!
//! ```toml
//! schema = 1
//! name = "acme"
//! fingerprint = "sha256:…"
//! public_key = """
//! -----BEGIN PUBLIC KEY-----
//! …
//! -----END PUBLIC KEY-----
//! """
//! names = ["acme/*"]
//! [[ceiling.http]]
//! host = "*"
//! methods = ["GET"]
//! paths = ["/**"]
//! ```

use std::{collections::BTreeMap, fmt};

use chitin_types::{Capabilities, DocumentError, NameError, ToolName};
use serde::{Deserialize, Serialize};

use crate::{DuplicateKey, Fingerprint, PublicKey, asks::check_shape};

/// One trusted key. Its fingerprint is always the key's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    name: String,
    key: PublicKey,
    names: Vec<NamePattern>,
    not_before_ms: Option<u64>,
    not_after_ms: Option<u64>,
    ceiling: Capabilities,
}

/// Which names a key may sign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum NamePattern {
    /// `publisher/*`.
    Publisher(String),
    /// `publisher/name`.
    Exact(ToolName),
}

/// The trusted keys of one home.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyRing(BTreeMap<Fingerprint, TrustedKey>);

// As in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    schema: u32,
    name: String,
    fingerprint: Fingerprint,
    public_key: String,
    names: Vec<NamePattern>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_before_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_after_ms: Option<u64>,
    #[serde(default)]
    ceiling: Capabilities,
}

impl TrustedKey {
    /// Trust in a key without bounds of time.
    ///
    /// # Errors
    /// The name is not 1 to 48 of a-z, 0-9 and hyphen, a letter first.
    pub fn new(name: &str, key: PublicKey, names: Vec<NamePattern>, ceiling: Capabilities) -> Result<Self, NameError> {
        let name = key_name(name)?;
        Ok(Self { name, key, names, not_before_ms: None, not_after_ms: None, ceiling })
    }

    /// Reads a trust file; `file` is its name for messages.
    ///
    /// # Errors
    /// Anything in it is unknown or misspelled, or the fingerprint is not that of the key.
    pub fn parse(file: &str, text: &str) -> Result<Self, DocumentError> {
        let written: Written =
            toml::from_str(text).map_err(|e| DocumentError::parser(file, text, e.span(), e.message()))?;
        let wrong = |near: &str, message: String| DocumentError::near(file, text, near, message);
        if written.schema != 1 {
            return Err(wrong("schema", format!("schema {} is not known; this version reads 1", written.schema)));
        }
        let name = key_name(&written.name).map_err(|e| wrong("name", e.to_string()))?;
        let key = PublicKey::from_pem(&written.public_key).map_err(|e| wrong("public_key", e.to_string()))?;
        if key.fingerprint() != written.fingerprint {
            let message = format!("the fingerprint is not that of the public key, which is {}", key.fingerprint());
            return Err(wrong("fingerprint", message).with_help("compare it with what the publisher shows elsewhere"));
        }
        if written.names.is_empty() {
            return Err(wrong("names", "names is empty, so the key could sign nothing".to_owned()));
        }
        if let (Some(from), Some(to)) = (written.not_before_ms, written.not_after_ms)
            && from > to
        {
            return Err(wrong("not_before_ms", "not_before_ms lies after not_after_ms".to_owned()));
        }
        check_shape(&written.ceiling).map_err(|flaw| wrong(&flaw.near, flaw.message))?;
        let Written { names, not_before_ms, not_after_ms, ceiling, .. } = written;
        Ok(Self { name, key, names, not_before_ms, not_after_ms, ceiling })
    }

    /// The text of the file. Reading it back gives the same key.
    ///
    /// # Panics
    /// Never: the times came from TOML, so they fit its integers, and every other field has a TOML form.
    pub fn to_text(&self) -> String {
        let written = Written {
            schema: 1,
            name: self.name.clone(),
            fingerprint: self.fingerprint(),
            public_key: self.key.to_pem(),
            names: self.names.clone(),
            not_before_ms: self.not_before_ms,
            not_after_ms: self.not_after_ms,
            ceiling: self.ceiling.clone(),
        };
        toml::to_string_pretty(&written).expect("every field of a trust file has a TOML form")
    }

    /// The name that the user gave the key; also the stem of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// The key's fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        self.key.fingerprint()
    }

    /// What it may sign.
    pub fn names(&self) -> &[NamePattern] {
        &self.names
    }

    /// The most that any tool signed by it can do, whatever is granted.
    pub fn ceiling(&self) -> &Capabilities {
        &self.ceiling
    }

    /// Whether it may sign this name.
    pub fn may_sign(&self, tool: &ToolName) -> bool {
        self.names.iter().any(|pattern| pattern.matches(tool))
    }

    /// Milliseconds since 1970 before and after which it is not trusted, where the file says so.
    pub fn times_ms(&self) -> (Option<u64>, Option<u64>) {
        (self.not_before_ms, self.not_after_ms)
    }
}

impl NamePattern {
    /// Reads `publisher/*` or `publisher/name`.
    ///
    /// # Errors
    /// It is neither. A bare `*` is refused: no key signs for everyone.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let wrong =
            || NameError { what: "name pattern", given: text.to_owned(), expected: "publisher/* or publisher/name" };
        let probe = text.strip_suffix("/*").map_or_else(|| text.to_owned(), |publisher| format!("{publisher}/a"));
        let name = ToolName::parse(probe).map_err(|_| wrong())?;
        if text.ends_with("/*") { Ok(Self::Publisher(name.publisher().to_owned())) } else { Ok(Self::Exact(name)) }
    }

    /// Whether it covers this name.
    pub fn matches(&self, tool: &ToolName) -> bool {
        match self {
            Self::Publisher(publisher) => publisher == tool.publisher(),
            Self::Exact(name) => name == tool,
        }
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Publisher(publisher) => write!(f, "{publisher}/*"),
            Self::Exact(name) => fmt::Display::fmt(name, f),
        }
    }
}

impl TryFrom<String> for NamePattern {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(&text)
    }
}

impl From<NamePattern> for String {
    fn from(pattern: NamePattern) -> String {
        pattern.to_string()
    }
}

impl KeyRing {
    /// Puts a key on the ring.
    ///
    /// # Errors
    /// It is there already: with two ceilings for one key, which one holds would depend on the order of the files.
    pub fn add(&mut self, key: TrustedKey) -> Result<(), DuplicateKey> {
        let fingerprint = key.fingerprint();
        if let Some(first) = self.0.get(&fingerprint) {
            return Err(DuplicateKey { fingerprint, first: first.name.clone(), second: key.name });
        }
        self.0.insert(fingerprint, key);
        Ok(())
    }

    /// The key with this fingerprint.
    pub fn find(&self, fingerprint: Fingerprint) -> Option<&TrustedKey> {
        self.0.get(&fingerprint)
    }

    /// Every key, by fingerprint.
    pub fn keys(&self) -> impl Iterator<Item = &TrustedKey> {
        self.0.values()
    }
}

/// Checks the name of a key: it is also the name of its file.
///
/// # Errors
/// The name is not 1 to 48 of a-z, 0-9 and hyphen, a letter first.
pub fn key_name(text: &str) -> Result<String, NameError> {
    let plain = (1..=48).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if plain {
        Ok(text.to_owned())
    } else {
        let expected = "1 to 48 of a-z, 0-9 and hyphen, a letter first";
        Err(NameError { what: "key name", given: text.to_owned(), expected })
    }
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
