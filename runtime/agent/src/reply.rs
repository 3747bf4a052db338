//! What does the person read? The model's last text goes in; a text that is never empty, never endless and free of
//! leaked markup comes out.
//!
//! Only bare tags of tool calls are taken out, and only where they are no code: a line with a backtick and everything
//! between code fences stays as it is, because there the tags are what the answer is about.

use crate::{cut, dialect::CALL_TAGS};

/// Cleans `text`; `fallback` stands in when nothing is left.
pub(crate) fn clean(text: &str, fallback: &str) -> String {
    let plain = without_tags(text);
    let plain = plain.trim();
    if plain.is_empty() { fallback.to_owned() } else { cut::middle(plain, REPLY_CHARS_MAX) }
}

fn without_tags(text: &str) -> String {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        fenced ^= fence;
        if fenced || fence || line.contains('`') || !line.contains('<') {
            lines.push(line.to_owned());
            continue;
        }
        let bare = CALL_TAGS
            .iter()
            .chain(&RESULT_TAGS)
            .fold(line.to_owned(), |rest, tag| rest.replace(&format!("<{tag}>"), "").replace(&format!("</{tag}>"), ""));
        // A line that was nothing but tags goes as a whole.
        if bare == line || !bare.trim().is_empty() {
            lines.push(bare);
        }
    }
    lines.join("\n")
}

/// What models wrap a result in that they repeat.
const RESULT_TAGS: [&str; 1] = ["tool_result"];
/// One answer, about 25,000 tokens. A model that repeats itself for ever must not flood a channel.
const REPLY_CHARS_MAX: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_goes_and_code_stays() {
        let check = |text: &str, expected: &str| assert_eq!(clean(text, "nothing"), expected, "{text}");
        check("hello", "hello");
        check(" \n", "nothing");
        check("<tool_call>\n</tool_call>", "nothing");
        check("done</tool_call>", "done");
        check("a\n<tool_call>\nb", "a\nb");
        check("1 < 2 and <b>", "1 < 2 and <b>");
        check("```\n<tool_call>\n```", "```\n<tool_call>\n```");
        check("write `<invoke>` here", "write `<invoke>` here");
        check("```\nx\n```\n<invoke>\nend", "```\nx\n```\nend");
    }

    #[test]
    fn an_endless_answer_is_cut_visibly() {
        let text = clean(&"x".repeat(REPLY_CHARS_MAX + 7), "nothing");
        assert!(text.contains("[… 7 characters left out …]"));
    }
}
