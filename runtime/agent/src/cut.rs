//! Which part of a long text is kept? Its head and its tail, with a line between that says how much is missing.

/// Keeps at most `chars_max` characters of `text`: two thirds from its head, the rest from its tail. The marker comes
/// on top of them.
pub(crate) fn middle(text: &str, chars_max: usize) -> String {
    let chars = text.chars().count();
    if chars <= chars_max {
        return text.to_owned();
    }
    let tail_chars = chars_max / 3;
    let head = first(text, chars_max - tail_chars);
    let tail = text.get(offset_of(text, chars - tail_chars)..).unwrap_or("");
    format!("{head}\n[… {} characters left out …]\n{tail}", chars - chars_max)
}

/// The first `chars_max` characters.
pub(crate) fn first(text: &str, chars_max: usize) -> &str {
    text.get(..offset_of(text, chars_max)).unwrap_or(text)
}

fn offset_of(text: &str, char_index: usize) -> usize {
    text.char_indices().nth(char_index).map_or(text.len(), |(offset, _)| offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_are_kept_and_no_character_is_split() {
        let check =
            |text: &str, chars_max: usize, expected: &str| assert_eq!(middle(text, chars_max), expected, "{text}");
        check("", 3, "");
        check("abc", 3, "abc");
        check("abcdef", 3, "ab\n[… 3 characters left out …]\nf");
        check("äöüßéñ", 3, "äö\n[… 3 characters left out …]\nñ");
        check("ab", 0, "\n[… 2 characters left out …]\n");
        assert_eq!(first("äöü", 2), "äö");
        assert_eq!(first("ä", 2), "ä");
    }
}
