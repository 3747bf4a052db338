//! What can be wrong with a package? A key, or one variant for each way not to be verified.

use chitin_types::{Digest, ToolName};

use crate::Fingerprint;

/// A text that is no usable Ed25519 key. It never repeats the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no {expected}")]
pub struct KeyError {
    /// What was expected.
    pub expected: &'static str,
}

/// One key in two trust files: which ceiling would hold?
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the key {fingerprint} is trusted twice, as {first:?} and as {second:?}")]
pub struct DuplicateKey {
    /// The key.
    pub fingerprint: Fingerprint,
    /// The name in the file that was read first.
    pub first: String,
    /// The name in the other.
    pub second: String,
}

/// Why a component is not verified. Nothing of it may run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// More bytes than are ever read.
    #[error("the {what} has {bytes} bytes, and the limit is {bytes_max}")]
    TooLarge {
        /// `component` or `bundle`.
        what: &'static str,
        /// How many there are.
        bytes: usize,
        /// How many there may be.
        bytes_max: usize,
    },
    /// The first bytes are not those of a component.
    #[error("{0}")]
    NotAComponent(String),
    /// There is no signature at all.
    #[error("the component is not signed")]
    Unsigned,
    /// The bundle or the statement in it is not of the shape that is accepted.
    #[error("the bundle cannot be used: {0}")]
    BadBundle(String),
    /// Nobody trusted this key.
    #[error("it is signed by {fingerprint}, a key that is not trusted here")]
    UnknownKey {
        /// The key that the bundle names.
        fingerprint: Fingerprint,
    },
    /// The key is trusted at another time.
    #[error("the key {signer:?} ({}) is {when}", .fingerprint.short())]
    KeyNotInTime {
        /// The name in the trust file.
        signer: String,
        /// The key.
        fingerprint: Fingerprint,
        /// `not trusted yet` or `no longer trusted`.
        when: &'static str,
    },
    /// The signature is not by this key over this statement.
    #[error("the signature is not by the key {signer:?} ({}) over this statement", .fingerprint.short())]
    BadSignature {
        /// The name in the trust file.
        signer: String,
        /// The key.
        fingerprint: Fingerprint,
    },
    /// The statement is about other bytes.
    #[error("the component was altered: {signed} was signed, and this is {found}")]
    Altered {
        /// What the statement says.
        signed: Digest,
        /// What the bytes are.
        found: Digest,
    },
    /// The key may not sign this name.
    #[error("the key {signer:?} may not sign {tool}")]
    NameNotAllowed {
        /// The name in the statement.
        tool: ToolName,
        /// The name of the key in the trust file.
        signer: String,
    },
}
