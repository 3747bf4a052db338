//! What can be wrong with a policy document? One error with its place and the next step.

use chitin_types::Place;

/// A policy document that is refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct PolicyError {
    /// Where, as `file:line:col`.
    pub place: Place,
    /// What is wrong there.
    pub message: String,
    /// What to do next.
    pub help: Option<String>,
}

impl PolicyError {
    /// An error at the first occurrence of `needle`, else at the beginning: serde forgets the place of a value that
    /// parsed but is not allowed.
    pub fn near(file: &str, text: &str, needle: &str, message: impl Into<String>) -> Self {
        let offset = text.find(needle).unwrap_or(0);
        Self { place: Place::at(file, text, offset), message: message.into(), help: None }
    }

    /// The parser's own error, with its place.
    pub fn from_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let offset = error.span().map_or(0, |span| span.start);
        Self { place: Place::at(file, text, offset), message: error.message().trim().to_owned(), help: None }
    }

    /// The same error with a next step.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
