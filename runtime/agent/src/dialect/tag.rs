//! Which tags are there? The beginning of a text goes in; the tag that stands there comes out.

/// What models wrap a call in when they do not speak their provider's own form.
pub(crate) const CALL_TAGS: [&str; 10] = [
    "tool_call",
    "toolcall",
    "tool-call",
    "tool_calls",
    "minimax:tool_call",
    "minimax:toolcall",
    "invoke",
    "function_call",
    "function-call",
    "function_calls",
];
/// What nothing is called from: declarations, results and examples that a model repeats, and what it only thinks.
pub(super) const INERT_TAGS: [&str; 11] = [
    "tools",
    "tool_result",
    "tool_results",
    "tool_response",
    "function_results",
    "example",
    "examples",
    "quote",
    "think",
    "thinking",
    "reasoning",
];

/// A tag that opens a call, or a group of calls.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Open<'a> {
    /// Its length.
    pub(super) bytes: usize,
    /// The function, where the tag itself names it.
    pub(super) function: Option<&'a str>,
    /// Whether it closes itself.
    pub(super) is_closed: bool,
}

/// What the beginning of a line, of which more may come, can still become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Text, whatever comes.
    Text,
    /// Either.
    Open,
    /// The tag of a call.
    Call,
}

/// The opening tag at the beginning of `text`.
pub(super) fn open(text: &str) -> Option<Open<'_>> {
    let (name, rest) = word(text.strip_prefix('<')?);
    let end = rest.bytes().take(TAG_BYTES_MAX).position(|b| b == b'>')?;
    let (inside, _) = rest.split_at_checked(end)?;
    let is_separate = inside.is_empty() || inside.starts_with(|c: char| c.is_whitespace() || c == '/');
    if !is_call(name) || !is_separate || inside.contains('<') {
        return None;
    }
    let (inside, is_closed) = inside.trim_end().strip_suffix('/').map_or((inside, false), |inside| (inside, true));
    Some(Open { bytes: 1 + name.len() + end + 1, function: attribute(inside, "name"), is_closed })
}

/// The length of the closing tag at the beginning of `text`.
pub(super) fn close(text: &str) -> Option<usize> {
    let (name, rest) = word(text.strip_prefix("</")?);
    let after = rest.trim_start().strip_prefix('>')?;
    is_call(name).then_some(text.len() - after.len())
}

/// The letters with which a tag's name goes on, and the rest.
pub(super) fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | ':')).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// The value of an attribute, from what stands between a tag's name and its end.
pub(super) fn attribute<'a>(inside: &'a str, wanted: &str) -> Option<&'a str> {
    let mut rest = inside;
    // Ends: each round takes an attribute from what is left.
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, after) = after.get(1..)?.split_once(quote)?;
        if name.trim() == wanted {
            return Some(value);
        }
        rest = after;
    }
}

/// What this beginning of a line can still become.
pub(super) fn beginning(line: &str) -> Beginning {
    let text = line.trim_start_matches(' ');
    if line.len() - text.len() > INDENT_MAX {
        return Beginning::Text;
    }
    if text.is_empty() {
        return Beginning::Open;
    }
    let Some(inside) = text.strip_prefix('<') else { return Beginning::Text };
    let (name, after) = word(inside);
    let name = name.to_ascii_lowercase();
    let is_whole = !after.is_empty();
    if is_whole && CALL_TAGS.contains(&name.as_str()) {
        Beginning::Call
    } else if !is_whole && CALL_TAGS.iter().any(|tag| tag.starts_with(&name)) {
        Beginning::Open
    } else {
        Beginning::Text
    }
}

fn is_call(name: &str) -> bool {
    CALL_TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(name))
}

/// Blanks before a tag at the beginning of a line; with more it is a block of code in Markdown.
pub(super) const INDENT_MAX: usize = 3;
/// A tag with its attributes, of which we read a name of at most 64; a longer one is none.
const TAG_BYTES_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_tags_are_known_in_every_spelling() {
        let check = |text: &str, expected: Option<(usize, Option<&str>, bool)>| {
            let found = open(text).map(|open| (open.bytes, open.function, open.is_closed));
            assert_eq!(found, expected, "{text}");
        };
        for tag in CALL_TAGS {
            check(&format!("<{tag}>{{}}"), Some((tag.len() + 2, None, false)));
            check(&format!("<{}>{{}}", tag.to_uppercase()), Some((tag.len() + 2, None, false)));
            check(&format!("<{tag}s2>"), None);
        }
        check("<tool_call >", Some((12, None, false)));
        check("<invoke name=\"a__b\">", Some((20, Some("a__b"), false)));
        check("<invoke id='7' name = 'a__b' />x", Some((31, Some("a__b"), true)));
        check("<invoke name=a>", Some((15, None, false)));
        check("<invoke", None);
        check("<invoke\n<invoke>", None);
        check("<invoke(>", None);
        check("<tool>", None);
        check("tool_call>", None);
        check(&format!("<invoke {}>", "x".repeat(TAG_BYTES_MAX)), None);
    }

    #[test]
    fn closing_tags_end_where_they_end() {
        let check = |text: &str, expected: Option<usize>| assert_eq!(close(text), expected, "{text}");
        check("</tool_call>x", Some(12));
        check("</invoke >", Some(10));
        check("</tool_call", None);
        check("</tools>", None);
        check("<tool_call>", None);
    }

    #[test]
    fn the_beginning_of_a_line_is_told_as_soon_as_possible() {
        let check = |line: &str, expected: Beginning| assert_eq!(beginning(line), expected, "{line:?}");
        check("", Beginning::Open);
        check("   ", Beginning::Open);
        check("    ", Beginning::Text);
        check("<", Beginning::Open);
        check("  <too", Beginning::Open);
        check("<TOOL", Beginning::Open);
        check("<tool_call", Beginning::Open);
        check("<tool_call>", Beginning::Call);
        check("<invoke name", Beginning::Call);
        check("<tool_callx", Beginning::Text);
        check("<tools>", Beginning::Text);
        check("a <", Beginning::Text);
        check("> <tool_call>", Beginning::Text);
    }
}
