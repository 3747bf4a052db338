//! How did a call end? One value for each way, because the model, the user and the audit treat each differently.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the caller can do about a failure; mirrors the WIT enum `failure-kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the WIT file documents each case, and these mirror it one to one")]
pub enum FailureKind {
    InvalidInput,
    Denied,
    NeedsAuth,
    NotFound,
    Conflict,
    Limited,
    Upstream,
    Internal,
    Cancelled,
    Other,
}

/// The tool said no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What the caller can do about it.
    pub kind: FailureKind,
    /// Stable machine-readable words joined by hyphens, at most 64 bytes.
    pub code: Option<String>,
    /// One sentence for model and user, at most 2 KiB.
    pub message: String,
    /// Milliseconds after which trying again makes sense.
    pub retry_after_ms: Option<u64>,
}

/// A rule said no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The rule, for example `grant:http` or `signer:fs`; the audit knows it by the same word.
    pub rule: String,
    /// One sentence: what was refused and why.
    pub reason: String,
    /// The command that would allow it, where one exists.
    pub help: Option<String>,
}

/// One piece of a result, in the order in which the model reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text(String),
    /// One JSON value.
    Data(Value),
    /// A file that the tool made.
    File(Attachment),
    /// A kind that this version does not know: its name and its content. Shown as text.
    Other(String, Value),
}

/// A file, whole. What a model reads of it is its name, type and size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// A display name without directories.
    pub name: Option<String>,
    /// For example `image/png`.
    pub media_type: Option<String>,
    /// The content, as base64 in JSON.
    #[serde(with = "base64_text")]
    pub bytes: Vec<u8>,
}

/// Every way in which one call can end. `Err` of the host is kept for the host's own failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "detail")]
pub enum ToolOutcome {
    /// The tool answered.
    Done(Vec<Part>),
    /// The tool said no, in its own words.
    Failed(Failure),
    /// The arguments do not fit the schema; the text says which and what is expected, so that a model can repair them.
    InvalidInput(String),
    /// A rule of the policy said no.
    Denied(Denial),
    /// A person said no, or nobody answered in time.
    Refused(String),
    /// A limit of the grant was reached; names the limit.
    Limited(String),
    /// The component or the host broke; a stable code such as `trap-unreachable`.
    Broke(String),
    /// The bytes on disk are not the verified ones; the text says what differs.
    Untrusted(String),
    /// Somebody asked to stop.
    Cancelled,
}

impl ToolOutcome {
    /// The word for the audit record and for machine-readable output.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Failed(_) => "failed",
            Self::InvalidInput(_) => "invalid-input",
            Self::Denied(_) => "denied",
            Self::Refused(_) => "refused",
            Self::Limited(_) => "limited",
            Self::Broke(_) => "broke",
            Self::Untrusted(_) => "untrusted",
            Self::Cancelled => "cancelled",
        }
    }

    /// True when nothing went wrong.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }

    /// What the model reads: the parts as text, or one clean sentence.
    pub fn text_for_model(&self) -> String {
        match self {
            Self::Done(parts) => parts.iter().map(part_text).collect::<Vec<_>>().join("\n"),
            Self::Failed(failure) => format!("failed: {}", failure.message),
            Self::InvalidInput(message) => format!("invalid arguments: {message}"),
            Self::Denied(denial) => format!("denied ({}): {}", denial.rule, denial.reason),
            Self::Refused(reason) => format!("refused: {reason}"),
            Self::Limited(limit) => format!("stopped: the call reached its limit of {limit}"),
            Self::Broke(code) => format!("the tool broke ({code})"),
            Self::Untrusted(_) => "the tool is disabled: its files are not the ones that were verified".to_owned(),
            Self::Cancelled => "cancelled".to_owned(),
        }
    }
}

fn part_text(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Data(value) => value.to_string(),
        Part::File(file) => format!(
            "[file {}, {}, {} bytes]",
            file.name.as_deref().unwrap_or("without a name"),
            file.media_type.as_deref().unwrap_or("of unknown type"),
            file.bytes.len()
        ),
        Part::Other(kind, value) => format!("[{kind}] {value}"),
    }
}

mod base64_text {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(from)?).map_err(D::Error::custom)
    }
}
