//! What does a signature cover? An in-toto Statement v1: the digest of the component, and everything that an install
//! relies on as its predicate.

use chitin_types::{Capabilities, Digest, ToolName};
use serde::{Deserialize, Serialize};

use crate::{
    ChannelAsk, Fingerprint, FunctionDoc, Manifest, VerifyError, Version,
    asks::{check_reasons, check_shape},
    docs::check_docs,
    manifest::SUMMARY_CHARS_MAX,
    text::{is_file_name, is_shown_text, is_world},
};

/// What was signed about one component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The component's file name when it was signed. For people; nothing is looked up by it.
    pub artifact: String,
    /// Digest of the component's bytes.
    pub component: Digest,
    /// Everything else.
    pub predicate: Predicate,
}

/// Our predicate: what the publisher says about these bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predicate {
    /// Publisher and name.
    pub name: ToolName,
    /// The version of this release.
    pub version: Version,
    /// One sentence for the install page.
    pub summary: String,
    /// The WIT worlds that the component was built for.
    pub worlds: Vec<String>,
    /// What it asks for, each with a reason.
    pub requests: Capabilities,
    /// The oldest runtime that can run it.
    pub min_runtime: Version,
    /// The key that signs this statement; a copy under another key's signature is refused.
    pub publisher: Fingerprint,
    /// What a channel needs of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<ChannelAsk>,
    /// What is said of functions that cannot say it themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionDoc>,
    /// The component of the release before this one, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Digest>,
}

// The outer shape, field by field as the in-toto attestation framework spells it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    #[serde(rename = "_type")]
    statement_type: String,
    subject: Vec<Subject>,
    predicate_type: String,
    predicate: Predicate,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    name: String,
    digest: SubjectDigest,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectDigest {
    sha256: String,
}

impl Statement {
    /// The statement about these bytes, for the key that will sign it.
    ///
    /// # Panics
    /// Never: the oldest runtime is a constant version.
    pub fn new(manifest: &Manifest, component: &[u8], publisher: Fingerprint) -> Self {
        Self {
            artifact: manifest.artifact.clone(),
            component: Digest::of(component),
            predicate: Predicate {
                name: manifest.name.clone(),
                version: manifest.version.clone(),
                summary: manifest.summary.clone(),
                worlds: vec![manifest.world.clone()],
                requests: manifest.requests(),
                min_runtime: Version::parse(MIN_RUNTIME).expect("the constant is a version"),
                publisher,
                channel: manifest.channel.clone(),
                functions: manifest.functions.clone(),
                previous: None,
            },
        }
    }

    /// The same statement, saying which component it follows.
    #[must_use]
    pub fn after(mut self, previous: Digest) -> Self {
        self.predicate.previous = Some(previous);
        self
    }

    /// The bytes that are signed.
    ///
    /// # Panics
    /// Never: every field has a JSON form.
    pub fn to_bytes(&self) -> Vec<u8> {
        let written = Written {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![Subject {
                name: self.artifact.clone(),
                digest: SubjectDigest { sha256: self.component.hex() },
            }],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: self.predicate.clone(),
        };
        serde_json::to_vec(&written).expect("every field of a statement has a JSON form")
    }

    /// Reads and checks the bytes that were signed. Call it only on bytes whose signature was checked.
    ///
    /// # Errors
    /// [`VerifyError::BadBundle`]: a type, a field or a text is not one that this version accepts.
    pub fn parse(bytes: &[u8]) -> Result<Self, VerifyError> {
        let written: Written = serde_json::from_slice(bytes).map_err(|e| bad(format!("the statement: {e}")))?;
        let Written { statement_type, subject, predicate_type, predicate } = written;
        if statement_type != STATEMENT_TYPE {
            return Err(bad(format!("_type is {statement_type:?} instead of {STATEMENT_TYPE:?}")));
        }
        if predicate_type != PREDICATE_TYPE {
            return Err(bad(format!("predicateType is {predicate_type:?} instead of {PREDICATE_TYPE:?}")));
        }
        let [Subject { name, digest }] = <[Subject; 1]>::try_from(subject)
            .map_err(|all| bad(format!("the statement has {} subjects instead of one", all.len())))?;
        if !is_file_name(&name) {
            return Err(bad(format!("the subject {name:?} is no plain file name")));
        }
        let component = Digest::parse(&format!("sha256:{}", digest.sha256)).map_err(|e| bad(e.to_string()))?;
        check(&predicate)?;
        Ok(Self { artifact: name, component, predicate })
    }
}

fn check(predicate: &Predicate) -> Result<(), VerifyError> {
    if !is_shown_text(&predicate.summary, SUMMARY_CHARS_MAX) {
        return Err(bad("the summary is empty, too long, or has control characters".to_owned()));
    }
    let worlds = &predicate.worlds;
    if worlds.is_empty() || worlds.len() > WORLDS_MAX || !worlds.iter().all(|world| is_world(world)) {
        return Err(bad(format!("worlds is not a list of 1 to {WORLDS_MAX} names of WIT worlds")));
    }
    if let Some(channel) = &predicate.channel {
        channel.check().map_err(|flaw| bad(flaw.message))?;
    }
    check_docs(&predicate.functions).map_err(|flaw| bad(flaw.message))?;
    check_shape(&predicate.requests).map_err(|flaw| bad(flaw.message))?;
    check_reasons(&predicate.requests).map_err(|flaw| bad(flaw.message))
}

fn bad(message: String) -> VerifyError {
    VerifyError::BadBundle(message)
}

/// The only statement type that is read; in-toto attestation framework, Statement v1.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// The only predicate type that is read: a signature over anything else by the same key says nothing about a tool.
const PREDICATE_TYPE: &str = "https://chitin.dev/tool/v1";
/// The oldest runtime whose interfaces this version's components use.
const MIN_RUNTIME: &str = "0.1.0";
/// Worlds of one component. One is usual; a list without an end would fill the install page.
const WORLDS_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SigningKey;

    fn statement() -> Statement {
        let text = "schema = 1\nname = \"acme/weather\"\nversion = \"1.0.0\"\nsummary = \"Weather.\"\n\
                    world = \"chitin:tool/tool\"\nartifact = \"weather.wasm\"\n[[fs]]\nat = \"*\"\nmode = \"ro\"\n\
                    reason = \"to read what you name\"\n";
        let manifest = Manifest::parse("component.toml", text).expect("the manifest is good");
        Statement::new(&manifest, b"bytes", SigningKey::from_seed(&[1; 32]).public().fingerprint())
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let plain = statement();
        assert_eq!(Statement::parse(&plain.to_bytes()), Ok(plain.clone()));
        let later = plain.after(Digest::of(b"the one before"));
        assert_eq!(Statement::parse(&later.to_bytes()), Ok(later));
    }

    #[test]
    fn each_changed_field_refuses_the_statement() {
        let good = String::from_utf8(statement().to_bytes()).expect("JSON is UTF-8");
        for (from, to, says) in [
            ("Statement/v1", "Statement/v2", "_type"),
            ("chitin.dev/tool/v1", "chitin.dev/tool/v2", "predicateType"),
            ("\"subject\":[", "\"subject\":[{\"name\":\"a\",\"digest\":{\"sha256\":\"\"}},", "2 subjects"),
            ("\"name\":\"weather.wasm\"", "\"name\":\"../weather.wasm\"", "plain file name"),
            ("\"sha256\":\"", "\"sha256\":\"0", "digest"),
            ("\"sha256\":\"", "\"sha512\":\"", "unknown field"),
            ("\"predicate\":{", "\"predicate\":{\"root\":true,", "unknown field"),
            ("\"predicate\":{", "\"predicate\":{\"name\":\"acme/weather\",", "duplicate field"),
            ("\"name\":\"acme/weather\"", "\"name\":\"acme/../etc\"", "tool name"),
            ("\"version\":\"1.0.0\"", "\"version\":\"1\"", "version"),
            ("\"summary\":\"Weather.\"", "\"summary\":\"\\u202e\"", "control"),
            ("\"worlds\":[\"chitin:tool/tool\"]", "\"worlds\":[]", "worlds"),
            ("\"reason\":\"to read what you name\"", "\"reason\":null", "without a reason"),
            ("\"at\":\"*\"", "\"at\":\"..\"", "absolute path"),
        ] {
            assert!(good.contains(from), "the row's text {from:?} is not in the good statement");
            let error = Statement::parse(good.replacen(from, to, 1).as_bytes()).expect_err(to);
            assert!(error.to_string().contains(says), "{to}: {error}");
        }
        assert!(Statement::parse(format!("{good}x").as_bytes()).is_err(), "bytes after the end");
    }
}
