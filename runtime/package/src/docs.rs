//! What is said of functions that cannot say it themselves? A component of ordinary typed exports carries no texts, so
//! its signed manifest does.

use std::collections::BTreeSet;

use chitin_types::{Effects, FunctionName};
use serde::{Deserialize, Serialize};

use crate::{asks::Flaw, text::is_shown_text};

/// Texts and claims for one function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionDoc {
    /// The tool name of the function, as `tool inspect` lists it.
    pub name: FunctionName,
    /// A short display name; the name in words when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the model reads, 1 to 1,024 characters.
    pub summary: String,
    /// What it claims to do to the world.
    #[serde(default)]
    pub effects: Effects,
}

pub(crate) fn check_docs(docs: &[FunctionDoc]) -> Result<(), Flaw> {
    let mut names = BTreeSet::new();
    for doc in docs {
        let flaw = |message: String| Err(Flaw { near: doc.name.as_str().to_owned(), message });
        if !names.insert(&doc.name) {
            return flaw(format!("{} is described twice", doc.name));
        }
        let title = doc.title.as_deref().is_none_or(|title| is_shown_text(title, TITLE_CHARS_MAX));
        if !title || !is_shown_text(&doc.summary, SUMMARY_CHARS_MAX) {
            return flaw(format!("title or summary of {} is empty, too long or has control characters", doc.name));
        }
    }
    if docs.len() > FUNCTIONS_MAX {
        return Err(Flaw { near: "function".to_owned(), message: format!("more than {FUNCTIONS_MAX} functions") });
    }
    Ok(())
}

/// Functions of one component.
const FUNCTIONS_MAX: usize = 64;
/// One line of a list.
const TITLE_CHARS_MAX: usize = 80;
/// What the WIT contract allows for a summary.
const SUMMARY_CHARS_MAX: usize = 1_024;
