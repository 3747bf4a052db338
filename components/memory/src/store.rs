//! `store`: one text is remembered, and can be found and removed by its id.

use chitin_sdk::host::recall;
use chitin_sdk::{Failure, Json, tool};
use serde::Serialize;

use crate::SCOPE_CHARACTERS_MAX;

#[derive(Serialize)]
pub(crate) struct Stored {
    id: String,
    scope: String,
}

/// Remembers a text across conversations: a fact about the user, a preference, a decision. One fact for each call, in words
/// that stand for themselves. The same text in the same scope is kept once. Not for secrets, and not for what only this
/// conversation needs.
#[tool(writes, idempotent, title = "Remember")]
pub(crate) fn store(
    /// What to remember.
    #[arg(min_length = 1, max_length = TEXT_CHARACTERS_MAX)]
    text: String,
    /// Which memory to add it to.
    #[arg(min_length = 1, max_length = SCOPE_CHARACTERS_MAX, default = "default")]
    scope: String,
) -> Result<Json<Stored>, Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::invalid_input("argument `text`: there is nothing to remember").with_code("empty-text"));
    }
    let id = recall::remember(text, &scope)?;
    Ok(Json(Stored { id, scope }))
}

/// The host takes 64 KiB, and a character has up to four bytes.
const TEXT_CHARACTERS_MAX: u32 = 16_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_alone_is_not_remembered() {
        let failure = store(" \n\t".to_owned(), "default".to_owned()).err().expect("nothing to remember");
        assert_eq!(failure.code.as_deref(), Some("empty-text"));
    }
}
