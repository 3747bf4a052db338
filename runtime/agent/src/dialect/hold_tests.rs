//! Does a person see the text as it comes, all of it, and never a tag that is taken out?

use super::*;
use crate::dialect::scan::scan;

/// Feeds pieces; what was shown on the way, and the rest at the end.
fn heard(reach: Reach, pieces: &[&str], read: &str) -> (String, String) {
    let mut hold = Hold::new(reach);
    let shown: String = pieces.iter().map(|piece| hold.feed(piece)).collect();
    let rest = hold.finish(read).to_owned();
    (shown, rest)
}

const CALL: &str = r#"<tool_call>{"name":"a","arguments":{"text":"ü\n<b>"}}</tool_call>"#;

fn texts() -> Vec<String> {
    [
        "",
        "hello",
        "grüße\n\nvon hier 🦀\n",
        "{C}",
        "Ich schaue nach.\n{C}",
        "Ich schaue nach.\n\n  {C}\n{C}\nDas war's.",
        "<b>fett</b>\n<too long>\n{C}\n",
        "a < b\n<\n<t\n<tool\n<tool_call\n{C}",
        "```\n{C}\n```\nEnde",
        "> {C}\nEnde",
        "vor {C} nach",
        "<invoke name=\"a\">\n<parameter name=\"x\">1</parameter>\n</invoke>\nEnde",
        "<invoke\nname=\"a\"/>",
        "    <tool_call>\n \n\n<function_call>{\"name\":\"a\"}",
    ]
    .iter()
    .map(|text| text.replace("{C}", CALL))
    .collect()
}

#[test]
fn every_cut_shows_the_same_text_and_no_tag() {
    for text in texts() {
        let read = scan(&text, &[], &|_| false);
        let singly: Vec<String> = text.chars().map(String::from).collect();
        let singly: Vec<&str> = singly.iter().map(String::as_str).collect();
        let cuts = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).map(|at| vec![&text[..at], &text[at..]]);
        for pieces in cuts.chain([singly]) {
            let (shown, rest) = heard(Reach::Lines, &pieces, &read.text);
            assert_eq!(format!("{shown}{rest}"), read.text, "{pieces:?}");
            let first = text.find(CALL).filter(|_| !read.calls.is_empty());
            assert!(first.is_none_or(|at| shown.len() <= at), "{pieces:?}: {shown}");
        }
    }
}

#[test]
fn a_piece_is_shown_as_soon_as_it_is_surely_text() {
    let check = |reach: Reach, text: &str, expected: &str| {
        assert_eq!(Hold::new(reach).feed(text), expected, "{text:?}");
    };
    check(Reach::Lines, "hel", "hel");
    check(Reach::Lines, "hello\n  ", "hello\n");
    check(Reach::Lines, "hello\n<to", "hello\n");
    check(Reach::Lines, "hello\n<ton", "hello\n<ton");
    check(Reach::Lines, "hello\n<tool_call>{", "hello\n");
    check(Reach::Lines, "hello <tool_call>", "hello <tool_call>");
    check(Reach::Whole, "hello\n<tool_call>", "hello\n<tool_call>");
    check(Reach::Whole, "\n \n<tool", "");
    check(Reach::Whole, "\n \n<tool_call>{}", "");
    check(Reach::Whole, "<table>\n<tool_call>", "<table>\n<tool_call>");
}
