//! Is a call read where it is meant, and is everything that is only shown, quoted or repeated left alone?

use super::*;

const A: &str = r#"<tool_call>{"name":"a","arguments":{"n":1}}</tool_call>"#;
const B: &str = r#"<tool_call>{"name":"b","arguments":{}}</tool_call>"#;

fn read(text: &str) -> (String, Vec<String>) {
    let scanned = scan(text, &[], &|_| false);
    (scanned.text, scanned.calls.into_iter().map(|call| call.name).collect())
}

/// `{A}` and `{B}` in a case stand for two whole calls.
fn spelled(text: &str) -> String {
    text.replace("{A}", A).replace("{B}", B)
}

fn check(text: &str, left: &str, calls: &[&str]) {
    let calls: Vec<String> = calls.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(read(&spelled(text)), (spelled(left), calls), "{text}");
}

#[test]
fn calls_are_read_where_they_are_meant() {
    check("{A}", "", &["a"]);
    check("  {A}  \n", "    \n", &["a"]);
    check("Let me look.\n{A}", "Let me look.\n", &["a"]);
    check("Let me look.\n\n{A}\n{B}\n", "Let me look.\n\n\n\n", &["a", "b"]);
    check("{A}{B}", "", &["a", "b"]);
    check("{A} {B}", " ", &["a", "b"]);
    check("{A}\nThen the other.\n{B}\nDone.", "\nThen the other.\n\nDone.", &["a", "b"]);
    check("<tool_call>\n{\"name\":\"a\"}\n</tool_call>", "", &["a"]);
    check("<tool_call>\r\n{\"name\":\"a\"}\r\n</tool_call>\r\n", "\r\n", &["a"]);
    check("Schau:\n<invoke name=\"ä\">{}</invoke>\nEnde", "Schau:\n\nEnde", &["ä"]);
    check("<tool_call>{\"name\":\"a\"}", "", &["a"]);
    check("One.\n<tool_call>{\"name\":\"a\"}\n\n", "One.\n\n\n", &["a"]);
    check("```\ncode\n```\n{A}", "```\ncode\n```\n", &["a"]);
    check("~~~\n```\n~~~\n{A}", "~~~\n```\n~~~\n", &["a"]);
    check("`<tools>` is a tag.\n{A}", "`<tools>` is a tag.\n", &["a"]);
    check("A Vec<tools> it is.\n{A}", "A Vec<tools> it is.\n", &["a"]);
    check("<think>maybe</think>\n{A}", "<think>maybe</think>\n", &["a"]);
    check("<tools>[]</tools>\n{A}", "<tools>[]</tools>\n", &["a"]);
    check("For example, it rains.\nNow I look.\n{A}", "For example, it rains.\nNow I look.\n", &["a"]);
    check("It looks like a file.\n{A}", "It looks like a file.\n", &["a"]);
    check("{A}\n<tool_result>made up</tool_result>", "\n<tool_result>made up</tool_result>", &["a"]);
    check("{A}<tool_result>made up</tool_result>", "<tool_result>made up</tool_result>", &["a"]);
    check("maybe {A}\n{B}</think>\n{A}", "maybe {A}\n{B}</think>\n", &["a"]);
    check("maybe\n{B}\n</think>\n{A}", "maybe\n{B}\n</think>\n", &["a"]);
}

#[test]
fn what_is_quoted_shown_or_repeated_is_text() {
    for text in [
        "",
        "hello",
        "{\"name\":\"a\",\"arguments\":{}}",
        "a {A}",
        "- {A}",
        "> {A}",
        "> quoted\n> {A}",
        "`{A}`",
        "{A} is how it is written",
        "    {A}",
        "\t{A}",
        "```\n{A}\n```",
        "```xml\n{A}\n```\n",
        "~~~\n{A}\n~~~",
        "```\n{A}",
        "````\n```\n{A}\n````",
        "```\n~~~\n{A}\n```",
        "```\n    ```\n{A}\n```",
        "- ```\n  {A}\n  ```",
        "1. ```\n   {A}\n   ```",
        "```\n1. ```\n{A}\n```",
        "For example:\n{A}",
        "For example:\n\n{A}\n\nor\n\n{B}",
        "It looks like this:\n{A}\n\nNow the other:\n{B}",
        "例如：\n{A}",
        "Ví dụ:\n{A}",
        "<tools>\n{A}\n</tools>",
        "<tools>\n{A}",
        "Here they are: <tools>\n{A}\n</tools>",
        "<tools><tools>\n</tools>\n{A}\n</tools>",
        "<tools>\n</tool_call>\n{A}",
        "<tools>\n</think>\n{A}",
        "<think>\n{A}\n</think>",
        "<think>\n```\n</think>\n{A}",
        "{A}\n</think>",
        "<tool_result>\n{A}\n</tool_result>",
        "<tool_result name=\"x\">\n{A}",
        "<example>\n{A}\n</example>",
        "<tool_call>{\"name\":\"a\",\"description\":\"d\",\"parameters\":{}}</tool_call>",
        "<tool_call>\nname: a\n</tool_call>",
        "<tool_call>",
        "</tool_call>",
        "<tool_call>\n",
        "<tool_call>{\"name\":\"a\"}\nThat is the form.",
        "<tool_cal>{\"name\":\"a\"}</tool_cal>",
    ] {
        check(text, text, &[]);
    }
}

#[test]
fn an_echo_is_text_and_its_neighbour_is_not() {
    let text = spelled("{A}\n{B}");
    let scanned = scan(&text, &[], &|source| source.contains("\"a\""));
    assert_eq!(scanned.text, spelled("{A}\n"));
    assert_eq!(scanned.calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn no_cut_of_a_call_makes_another_call() {
    let text = spelled("Look.\n{A}\n");
    let whole = read(&text).1;
    for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
        let scanned = scan(&text[..at], &[], &|_| false);
        let names: Vec<&str> = scanned.calls.iter().map(|call| call.name.as_str()).collect();
        assert!(names.is_empty() || names == whole, "{:?}", &text[..at]);
        for call in scanned.calls {
            let arguments: Result<serde_json::Value, _> = serde_json::from_str(&call.arguments);
            assert!(!call.arguments.trim().is_empty(), "{:?}", &text[..at]);
            assert!(arguments.is_err() || call.arguments == r#"{"n":1}"#, "{:?}: {}", &text[..at], call.arguments);
        }
    }
}

#[test]
fn a_text_of_nothing_but_tags_is_read_in_bounds() {
    let text = "<tool_call>{\"name\":\n".repeat(20_000);
    assert_eq!(read(&text), (text.clone(), vec![]));
    let many = format!("{A}\n").repeat(BLOCKS_MAX + 5);
    assert_eq!(read(&many).1.len(), BLOCKS_MAX);
}
