//! What is wrong with a document that a person wrote? One error with its place and the next step; the whole is refused.

use std::ops::Range;

use crate::Place;

/// A configuration, grant, manifest or trust file that is refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct DocumentError {
    /// Where, as `file:line:col`.
    pub place: Place,
    /// What is wrong there.
    pub message: String,
    /// What to do next.
    pub help: Option<String>,
}

impl DocumentError {
    /// An error at the first occurrence of `needle`, else at the beginning: serde forgets the place of a value that
    /// parsed but is not allowed.
    pub fn near(file: &str, text: &str, needle: &str, message: impl Into<String>) -> Self {
        let offset = text.find(needle).unwrap_or(0);
        Self { place: Place::at(file, text, offset), message: message.into(), help: None }
    }

    /// A parser's own error: the bytes it is about, where the parser says so, and its sentence.
    pub fn parser(file: &str, text: &str, span: Option<Range<usize>>, message: &str) -> Self {
        let offset = span.map_or(0, |span| span.start);
        Self { place: Place::at(file, text, offset), message: message.trim().to_owned(), help: None }
    }

    /// The same error with a next step.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
