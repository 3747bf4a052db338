//! What does a doc comment say to the model? The attributes of an item go in; one text comes out.
//!
//! The lines of a paragraph are joined, because they were broken for the width of an editor. Paragraphs and the items of
//! a list stay apart. What follows a heading (`# Errors`, `# Examples`) is for readers of the code and is left out.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The text, empty when there is no comment.
///
/// # Errors
///
/// The comment is put together by a macro, so that it cannot be read here.
pub(crate) fn text(attributes: &[Attribute]) -> syn::Result<String> {
    let mut comment = String::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        match &attribute.meta {
            Meta::NameValue(pair) => match &pair.value {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => comment.push_str(&text.value()),
                other => return Err(syn::Error::new_spanned(other, "the model reads this: write it as plain text")),
            },
            // `#[doc(hidden)]` and the like say nothing.
            Meta::Path(_) | Meta::List(_) => continue,
        }
        comment.push('\n');
    }
    Ok(joined(&comment))
}

fn joined(comment: &str) -> String {
    let mut text = String::new();
    let mut is_after_gap = false;
    for line in comment.lines().map(str::trim) {
        if line.starts_with("# ") {
            break;
        }
        if line.is_empty() {
            is_after_gap = true;
            continue;
        }
        let is_item = line.starts_with("- ") || line.starts_with("* ");
        if !text.is_empty() {
            text.push_str(if is_after_gap {
                "\n\n"
            } else if is_item {
                "\n"
            } else {
                " "
            });
        }
        text.push_str(line);
        is_after_gap = false;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(comment: &str, expected: &str) {
        assert_eq!(joined(comment), expected);
    }

    #[test]
    fn lines_are_joined_and_paragraphs_kept() {
        check(" Reads a file,\n line by line.\n", "Reads a file, line by line.");
        check("\n One.\n\n\n Two:\n - a\n   and b\n - c\n", "One.\n\nTwo:\n- a and b\n- c");
        check(" One.\n\n # Errors\n\n When it cannot.\n", "One.");
        check("", "");
    }
}
