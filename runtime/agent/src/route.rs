//! What does this message want? Text goes in; a command or an ordinary message comes out.
//!
//! Only a word that could be a command is read as one: `/new` is, `/etc/hosts is odd` is an ordinary message. A command
//! stands alone, but for the name of a model, so that a typing mistake or a pasted text never throws a dialogue away.

use chitin_ports::{Delivery, SessionKey};

use crate::{cut, error::TurnError};

/// One message, as it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// Who talks to whom; stamped by the way in, never by the sender.
    pub key: SessionKey,
    /// What the person wrote; at most 1 MiB.
    pub text: String,
    /// Whether they want to see the text as it comes.
    pub delivery: Delivery,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// Answer it.
    Message,
    /// Begin a new session.
    New,
    /// Stop what runs.
    Stop,
    /// Say which model answers.
    ShowModel,
    /// Let this model answer from now on.
    UseModel(String),
}

/// Reads what a message wants.
///
/// # Errors
/// It is empty, too long, or looks like a command that does not exist.
pub(crate) fn read(text: &str) -> Result<Route, TurnError> {
    if text.len() > INBOUND_BYTES_MAX {
        return Err(TurnError::TooLong { bytes: text.len(), bytes_max: INBOUND_BYTES_MAX });
    }
    match text.trim() {
        "" => Err(TurnError::Empty),
        "/new" => Ok(Route::New),
        "/stop" => Ok(Route::Stop),
        "/model" => Ok(Route::ShowModel),
        other => match command_word(other) {
            None => Ok(Route::Message),
            Some("/model") => model(other),
            Some(word) => Err(TurnError::UnknownCommand(word.to_owned())),
        },
    }
}

/// Whether a message asks to stop. It must not wait behind the message that it stops.
pub(crate) fn is_stop(text: &str) -> bool {
    read(text) == Ok(Route::Stop)
}

fn model(text: &str) -> Result<Route, TurnError> {
    let name = text.strip_prefix("/model").unwrap_or(text).trim();
    // A name begins with a letter or digit: `/model --help` must not ask for a model of that name.
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= MODEL_BYTES_MAX
        && name.bytes().all(|b| b.is_ascii_graphic());
    if is_name {
        Ok(Route::UseModel(name.to_owned()))
    } else {
        Err(TurnError::NoModelName(cut::first(name, MODEL_BYTES_MAX).to_owned()))
    }
}

fn command_word(text: &str) -> Option<&str> {
    let word = text.split_whitespace().next()?;
    let name = word.strip_prefix('/')?;
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    plain.then_some(word)
}

/// The text of one message. A larger one is a pasted file or an attack on memory and on the provider's bill.
const INBOUND_BYTES_MAX: usize = 1024 * 1024;
/// A model's name; they have paths and tags in them, and it goes into every request and entry of the audit.
const MODEL_BYTES_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_stands_alone_and_is_known() {
        let check = |text: &str, expected: Result<Route, &str>| {
            let expected = expected.map_err(|word| TurnError::UnknownCommand(word.to_owned()));
            assert_eq!(read(text), expected, "{text}");
        };
        check("hello", Ok(Route::Message));
        check("  /new\n", Ok(Route::New));
        check("/stop", Ok(Route::Stop));
        check("/new plan for today", Err("/new"));
        check("/model", Ok(Route::ShowModel));
        check("/model  openai/gpt-x:latest \n", Ok(Route::UseModel("openai/gpt-x:latest".to_owned())));
        check("/modelx", Err("/modelx"));
        check("/models", Err("/models"));
        check("/etc/hosts is odd", Ok(Route::Message));
        check("/1 of the cake", Ok(Route::Message));
        check("/", Ok(Route::Message));
        check("see /new", Ok(Route::Message));
    }

    #[test]
    fn a_model_is_one_name() {
        let huge = "x".repeat(MODEL_BYTES_MAX + 1);
        for name in ["gpt-x what is it", "--help", "größe", "a\nb", &huge] {
            let found = read(&format!("/model {name}"));
            let expected = cut::first(name, MODEL_BYTES_MAX).to_owned();
            assert_eq!(found, Err(TurnError::NoModelName(expected)), "{name}");
        }
        assert!(is_stop(" /stop\n"));
        assert!(!is_stop("/stop it"));
    }

    #[test]
    fn empty_and_huge_messages_are_refused() {
        assert_eq!(read(" \n"), Err(TurnError::Empty));
        assert_eq!(read(&"x".repeat(INBOUND_BYTES_MAX)), Ok(Route::Message));
        let bytes = INBOUND_BYTES_MAX + 1;
        assert_eq!(read(&"x".repeat(bytes)), Err(TurnError::TooLong { bytes, bytes_max: INBOUND_BYTES_MAX }));
    }
}
