//! Why did a change or a look not happen? One variant for each thing that a caller does differently, and each has a
//! next step.

use std::{fmt, io};

use chitin_package::VerifyError;
use chitin_ports::{DescribeError, PortError};
use chitin_types::{DocumentError, Place};

/// One line for the user, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// What is wrong.
    pub message: String,
    /// What to do next, where there is something.
    pub help: Option<String>,
}

/// Why something was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// A signature, a digest or a seal does not hold. Exit code 6.
    #[error("{0}")]
    Untrusted(Said),
    /// The file is no component, or one that cannot be offered as a tool. Exit code 2.
    #[error("{0}")]
    Unusable(Said),
    /// What was asked for makes no sense: a wrong name, two things that do not belong together. Exit code 2.
    #[error("{0}")]
    Usage(Said),
    /// A manifest, trust or grant file is refused. Exit code 3.
    #[error("{place}: {message}")]
    Document {
        /// Where, as `file:line:col`.
        place: Place,
        /// What is wrong there.
        message: String,
        /// What to do next.
        help: Option<String>,
    },
    /// There is no such tool, key or file. Exit code 4.
    #[error("{0}")]
    NotFound(Said),
    /// A rule refuses it: an older version, a name that is taken. Exit code 5.
    #[error("{0}")]
    Denied(Said),
    /// More than is ever taken in. Exit code 9.
    #[error("{0}")]
    Limit(Said),
    /// Somebody else is changing the same things. Exit code 1.
    #[error("{0}")]
    Busy(Said),
    /// The disk failed. Exit code 1.
    #[error("failed to {doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// Another part failed: the audit record, the compiler. Exit code 1.
    #[error("failed to {0}")]
    Port(#[from] PortError),
}

impl RegistryError {
    /// What to do next, where there is something.
    pub fn help(&self) -> Option<&str> {
        match self {
            Self::Untrusted(said)
            | Self::Unusable(said)
            | Self::Usage(said)
            | Self::NotFound(said)
            | Self::Denied(said)
            | Self::Limit(said)
            | Self::Busy(said) => said.help.as_deref(),
            Self::Document { help, .. } => help.as_deref(),
            Self::Io { .. } | Self::Port(_) => None,
        }
    }

    /// Names what was being done when the disk failed.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

impl Said {
    /// A line without a next step.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }

    /// The same line with a next step.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<DocumentError> for RegistryError {
    fn from(error: DocumentError) -> Self {
        Self::Document { place: error.place, message: error.message, help: error.help }
    }
}

impl From<VerifyError> for RegistryError {
    fn from(error: VerifyError) -> Self {
        let said = Said::new(error.to_string());
        match error {
            VerifyError::TooLarge { .. } => Self::Limit(said),
            VerifyError::NotAComponent(_) => Self::Unusable(said),
            VerifyError::Unsigned => Self::Untrusted(
                said.help("ask the publisher for the .bundle.json, or sign it yourself: chitin tool sign"),
            ),
            VerifyError::UnknownKey { fingerprint } => Self::Untrusted(said.help(format!(
                "compare {fingerprint} with what the publisher shows elsewhere, then: chitin key trust FILE"
            ))),
            VerifyError::KeyNotInTime { .. } => {
                Self::Untrusted(said.help("ask the publisher for a release under a current key"))
            }
            VerifyError::Altered { .. } | VerifyError::BadSignature { .. } | VerifyError::BadBundle(_) => {
                Self::Untrusted(said.help("fetch the component and its bundle again"))
            }
            VerifyError::NameNotAllowed { .. } => {
                Self::Untrusted(said.help("the names that a key may sign stand under names in its trust file"))
            }
        }
    }
}

impl From<DescribeError> for RegistryError {
    fn from(error: DescribeError) -> Self {
        match error {
            DescribeError::NotRunnable(message) | DescribeError::BadAnswer(message) => {
                Self::Unusable(Said::new(message).help("tell the publisher; nothing was installed"))
            }
            DescribeError::Port(port) => Self::Port(port),
        }
    }
}
