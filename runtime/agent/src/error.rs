//! Why is there no answer? One variant for each thing that the user can do about it.

use chitin_ports::{PortError, ProviderError};

/// What ended the handling of a message. The text fits after "failed to ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TurnError {
    #[error("read the message: it is empty")]
    Empty,
    #[error("read the message: it has {bytes} bytes, and the limit is {bytes_max}")]
    TooLong { bytes: usize, bytes_max: usize },
    #[error("understand {0}: there is no such command")]
    UnknownCommand(String),
    #[error("choose a model: {0:?} is no name of one")]
    NoModelName(String),
    #[error("take the message: {waiting} others of this session are waiting")]
    LaneFull { waiting: usize },
    #[error("take the message: {lanes} sessions are busy")]
    TooManyLanes { lanes: usize },
    #[error("get an answer: {0}")]
    Provider(#[from] ProviderError),
    #[error("{0}")]
    Port(#[from] PortError),
    #[error("finish: somebody asked to stop")]
    Stopped,
}

impl TurnError {
    /// One sentence with a next step.
    pub(crate) fn for_user(&self) -> String {
        let next = self.next_step();
        match self {
            Self::Provider(ProviderError::Overflow) => format!("⚠️ Context window exceeded: {self}; {next}"),
            Self::Stopped => format!("stopped; {next}"),
            Self::Empty
            | Self::TooLong { .. }
            | Self::UnknownCommand(_)
            | Self::NoModelName(_)
            | Self::LaneFull { .. }
            | Self::TooManyLanes { .. }
            | Self::Provider(_)
            | Self::Port(_) => format!("failed to {self}; {next}"),
        }
    }

    /// What closes the turn in the history, so that the model later knows that it did not answer.
    pub(crate) fn for_history(&self) -> String {
        if *self == Self::Stopped { "[Task stopped by the user]".to_owned() } else { format!("[Task failed] {self}") }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Empty => "write what you want".to_owned(),
            Self::TooLong { .. } => "put the text into a file that a tool may read".to_owned(),
            Self::UnknownCommand(_) => format!("the commands are {COMMANDS}, each alone in a message"),
            Self::NoModelName(_) => "write /model and one name, or /model alone to see which one answers".to_owned(),
            Self::LaneFull { .. } => "wait for an answer, or send /stop".to_owned(),
            Self::TooManyLanes { .. } => "try again in a minute".to_owned(),
            Self::Provider(ProviderError::Overflow) => "send /new to begin a new session".to_owned(),
            Self::Provider(ProviderError::Unauthorized(_)) => {
                "check the provider's key with `chitin doctor`".to_owned()
            }
            Self::Provider(ProviderError::RateLimited { retry_after_ms: Some(ms) }) => {
                format!("send it again in {} s", ms.div_ceil(1000))
            }
            Self::Provider(ProviderError::RateLimited { retry_after_ms: None }) => {
                "send it again in a minute".to_owned()
            }
            Self::Provider(ProviderError::Unreachable(_)) => {
                "check the network with `chitin doctor`, then send it again".to_owned()
            }
            Self::Provider(ProviderError::BadAnswer(_)) => "send it again, or choose another model".to_owned(),
            Self::Port(_) => "run `chitin doctor`, then send it again".to_owned(),
            Self::Stopped => "send a message to go on".to_owned(),
        }
    }
}

/// What a person can write beside messages.
const COMMANDS: &str = "/new, /stop, /model and /model NAME";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_is_one_sentence_with_a_next_step() {
        let check = |error: TurnError, expected: &str| assert_eq!(error.for_user(), expected);
        check(TurnError::Stopped, "stopped; send a message to go on");
        check(
            TurnError::UnknownCommand("/help".to_owned()),
            "failed to understand /help: there is no such command; \
             the commands are /new, /stop, /model and /model NAME, each alone in a message",
        );
        check(
            TurnError::NoModelName("a b".to_owned()),
            "failed to choose a model: \"a b\" is no name of one; \
             write /model and one name, or /model alone to see which one answers",
        );
        check(
            ProviderError::RateLimited { retry_after_ms: Some(1200) }.into(),
            "failed to get an answer: the provider asks to slow down; send it again in 2 s",
        );
        check(
            PortError("write the history: the disk is full".to_owned()).into(),
            "failed to write the history: the disk is full; run `chitin doctor`, then send it again",
        );
        assert!(TurnError::from(ProviderError::Overflow).for_user().starts_with("⚠️ Context window exceeded"));
        assert!(TurnError::from(ProviderError::Overflow).for_history().starts_with("[Task failed]"));
    }
}
