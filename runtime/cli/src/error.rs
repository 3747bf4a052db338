//! How does a command fail? One line, a next step, and the exit code that scripts rely on.

use chitin_host::HostError;
use chitin_policy::RootError;
use chitin_ports::PortError;
use chitin_records::{AuditFault, RecordsError};
use chitin_registry::RegistryError;
use chitin_types::{DocumentError, NameError, ToolOutcome};

/// The exit codes; 0 is success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Failed = 1,
    Usage = 2,
    Config = 3,
    NotFound = 4,
    Denied = 5,
    Integrity = 6,
    Provider = 7,
    Daemon = 8,
    Limit = 9,
    Interrupted = 130,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

/// A command that failed.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl CliError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), help: None }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "interrupted")
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// A tool call that did not end with a result.
    pub(crate) fn outcome(outcome: &ToolOutcome) -> Self {
        let exit = match outcome {
            ToolOutcome::Done(_) | ToolOutcome::Failed(_) => Exit::Failed,
            ToolOutcome::InvalidInput(_) => Exit::Usage,
            ToolOutcome::Denied(denial) if denial.rule == "grant:file" => Exit::Config,
            ToolOutcome::Denied(_) | ToolOutcome::Refused(_) => Exit::Denied,
            ToolOutcome::Limited(_) | ToolOutcome::Broke(_) => Exit::Limit,
            ToolOutcome::Untrusted(_) => Exit::Integrity,
            ToolOutcome::Cancelled => Exit::Interrupted,
        };
        let message = match outcome {
            ToolOutcome::Untrusted(why) => why.clone(),
            ToolOutcome::Denied(denial) if exit == Exit::Config => denial.reason.clone(),
            other => other.text_for_model(),
        };
        let help = match outcome {
            ToolOutcome::Denied(denial) => denial.help.clone(),
            ToolOutcome::Untrusted(_) => Some("install the tool again from a file that you trust".to_owned()),
            _ => None,
        };
        Self { exit, message, help }
    }
}

impl From<RegistryError> for CliError {
    fn from(error: RegistryError) -> Self {
        let exit = match &error {
            RegistryError::Untrusted(_) => Exit::Integrity,
            RegistryError::Unusable(_) | RegistryError::Usage(_) => Exit::Usage,
            RegistryError::Document { .. } => Exit::Config,
            RegistryError::NotFound(_) => Exit::NotFound,
            RegistryError::Denied(_) => Exit::Denied,
            RegistryError::Limit(_) => Exit::Usage,
            RegistryError::Busy(_) | RegistryError::Io { .. } | RegistryError::Port(_) => Exit::Failed,
        };
        Self { exit, message: error.to_string(), help: error.help().map(str::to_owned) }
    }
}

impl From<DocumentError> for CliError {
    fn from(error: DocumentError) -> Self {
        Self { exit: Exit::Config, message: error.to_string(), help: error.help }
    }
}

impl From<RootError> for CliError {
    fn from(error: RootError) -> Self {
        Self::new(Exit::Config, error.to_string()).help("choose a directory of your own below your home")
    }
}

impl From<RecordsError> for CliError {
    fn from(error: RecordsError) -> Self {
        let exit = if matches!(error, RecordsError::NoSession(_)) { Exit::NotFound } else { Exit::Failed };
        Self::new(exit, format!("failed to {error}"))
    }
}

impl From<AuditFault> for CliError {
    fn from(fault: AuditFault) -> Self {
        Self::new(Exit::Integrity, fault.to_string())
            .help("compare with a backup; the record was changed outside of chitin")
    }
}

impl From<HostError> for CliError {
    fn from(error: HostError) -> Self {
        let exit = if matches!(error, HostError::Root { .. }) { Exit::Config } else { Exit::Failed };
        Self::new(exit, format!("failed to {error}"))
    }
}

impl From<PortError> for CliError {
    fn from(error: PortError) -> Self {
        Self::failed(format!("failed to {error}"))
    }
}

impl From<NameError> for CliError {
    fn from(error: NameError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::failed(error.to_string())
    }
}
