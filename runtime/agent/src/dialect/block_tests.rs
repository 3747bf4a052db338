//! Does a block give the calls that were written, and nothing where it is not certain that calls were meant?

use chitin_types::{Effects, FunctionName, ToolName};
use serde_json::json;

use super::*;

fn tools() -> Vec<ToolSpec> {
    vec![ToolSpec {
        tool: ToolName::parse("acme/box").expect("a name"),
        function: FunctionName::parse("put").expect("a name"),
        title: String::new(),
        summary: String::new(),
        input_schema: json!({
            "type": "object",
            "properties": { "text": { "type": "string" }, "n": { "type": "integer" } }
        }),
        effects: Effects::default(),
    }]
}

/// The calls as name and arguments, and what is left of the text.
fn found(text: &str) -> Option<(Vec<(String, String)>, String)> {
    let block = read(text, &tools())?;
    let calls = block.calls.iter().map(|call| (call.name.clone(), call.arguments.clone())).collect();
    Some((calls, text[block.bytes..].to_owned()))
}

fn check(text: &str, calls: &[(&str, &str)], rest: &str) {
    let calls: Vec<(String, String)> =
        calls.iter().map(|(name, arguments)| ((*name).to_owned(), (*arguments).to_owned())).collect();
    assert_eq!(found(text), Some((calls, rest.to_owned())), "{text}");
}

#[test]
fn every_form_of_a_call_is_read() {
    check(r#"<tool_call>{"name":"a","arguments":{"n":1}}</tool_call> x"#, &[("a", r#"{"n":1}"#)], " x");
    check("<tool_call>\n{\"name\": \"a\", \"arguments\": {}}\n</tool_call>\nx", &[("a", "{}")], "\nx");
    check(r#"<toolcall>{"name":"a","parameters":{"n":1}}</toolcall>"#, &[("a", r#"{"n":1}"#)], "");
    check(r#"<tool_call>{"name":"a","arguments":"{\"n\":1}"}</tool_call>"#, &[("a", r#"{"n":1}"#)], "");
    check(r#"<tool_call>{"name":"a"}</tool_call>"#, &[("a", "{}")], "");
    check(r#"<tool_call>{"name":"a","arguments":null}</tool_call>"#, &[("a", "{}")], "");
    check(r#"<tool_call>{"name":"a","arguments":[1]}</tool_call>"#, &[("a", "[1]")], "");
    check(
        r#"<tool_call>{"type":"function","function":{"name":"a","arguments":{"n":1}}}</tool_call>"#,
        &[("a", r#"{"n":1}"#)],
        "",
    );
    check(
        r#"<tool_calls>[{"name":"a"},{"name":"b","arguments":{"n":2}}]</tool_calls>"#,
        &[("a", "{}"), ("b", r#"{"n":2}"#)],
        "",
    );
    check("<tool_call>{\"name\":\"a\"}\n{\"name\":\"b\"}</tool_call>", &[("a", "{}"), ("b", "{}")], "");
    check(r#"<tool_calls><tool_call>{"name":"a"}</tool_call></tool_calls>"#, &[("a", "{}")], "");
    check(r#"<invoke name="a">{"n":1}</invoke>"#, &[("a", r#"{"n":1}"#)], "");
    check(r#"<invoke name="a"></invoke>"#, &[("a", "{}")], "");
    check(r#"<invoke name="a"/>"#, &[("a", "{}")], "");
}

#[test]
fn parameters_have_the_types_of_the_schema() {
    let put =
        |inner: &str| format!("<minimax:tool_call>\n<invoke name=\"box__put\">{inner}</invoke>\n</minimax:tool_call>");
    let one = |name: &str, text: &str| format!("<parameter name=\"{name}\">{text}</parameter>");
    check(&put(&one("text", "5")), &[("box__put", r#"{"text":"5"}"#)], "");
    check(&put(&one("n", "5")), &[("box__put", r#"{"n":5}"#)], "");
    check(&put(&one("n", "five")), &[("box__put", r#"{"n":"five"}"#)], "");
    check(&put(&one("more", "{\"a\":[]}")), &[("box__put", r#"{"more":{"a":[]}}"#)], "");
    check(
        &put(&format!("\n{}\n{}\n", one("text", "a <b>\n</tool_call>"), one("n", "1"))),
        &[("box__put", r#"{"text":"a <b>\n</tool_call>","n":1}"#)],
        "",
    );
    assert_eq!(found(&put(&format!("{}{}", one("n", "1"), one("n", "2")))), None);
    assert_eq!(found(&put("<parameter name=\"n\">1")), None);
}

#[test]
fn a_closing_tag_in_a_string_does_not_close() {
    check(
        r#"<tool_call>{"name":"a","arguments":{"text":"</tool_call>{\"name\":\"b\"}"}}</tool_call>"#,
        &[("a", r#"{"text":"</tool_call>{\"name\":\"b\"}"}"#)],
        "",
    );
}

#[test]
fn a_missing_or_foreign_end_is_forgiven_where_nothing_follows() {
    check(r#"<tool_call>{"name":"a"}"#, &[("a", "{}")], "");
    check("<tool_call>{\"name\":\"a\"}\n \n", &[("a", "{}")], "\n \n");
    check(r#"<tool_call>{"name":"a"}</invoke> x"#, &[("a", "{}")], " x");
    check(r#"<tool_call>{"name":"a"}</tool_call></tool_call> x"#, &[("a", "{}")], " x");
    check("<tool_call>{\"name\":\"a\"}\n<tool_call>{\"name\":\"b\"}", &[("a", "{}"), ("b", "{}")], "");
    assert_eq!(found(r#"<tool_call>{"name":"a"} is how it is written"#), None);
    assert_eq!(found(r#"<invoke name="a">"#), None);
}

#[test]
fn a_broken_call_keeps_its_arguments_broken() {
    check(r#"<tool_call>{"name":"a","arguments":{"n":}}</tool_call> x"#, &[("a", r#"{"n":}}"#)], " x");
    check("<tool_call>{\"name\":\"a\",\"arguments\":{\"t\":\"x\ny\"}}</tool_call>", &[("a", "{\"t\":\"x\ny\"}}")], "");
    check(r#"<tool_call>{"name":"a","arguments":{"n":1}"#, &[("a", r#"{"n":1}"#)], "");
    check(r#"<tool_call>{"name":"a","arguments":{"n":"#, &[("a", r#"{"n":"#)], "");
    // Cut off before its arguments, it is no call without any.
    check(r#"<tool_call>{"name":"a""#, &[("a", r#"{"name":"a""#)], "");
    check(r#"<tool_call>{"name":"a","arguments":"#, &[("a", r#"{"name":"a","arguments":"#)], "");
    check(r#"<tool_call>{"name":"a","argu"#, &[("a", r#"{"name":"a","argu"#)], "");
    check(r#"<invoke name="a">{"n":</invoke>"#, &[("a", r#"{"n":"#)], "");
    assert_eq!(found(r#"<tool_call>{"na"#), None);
    assert_eq!(found(r#"<tool_call>{"arguments":{"name":"a"},</tool_call>"#), None);
}

#[test]
fn what_is_no_call_is_none() {
    for text in [
        "<tool_call></tool_call>",
        "<tool_call>box__put</tool_call>",
        "<tool_call>[]</tool_call>",
        "<tool_call>[1]</tool_call>",
        "<tool_call>{}</tool_call>",
        r#"<tool_call>{"name":""}</tool_call>"#,
        r#"<tool_call>{"name":7,"arguments":{}}</tool_call>"#,
        r#"<tool_call>{"name":"a","description":"Reads."}</tool_call>"#,
        r#"<tool_call>{"name":"a","parameters":{"type":"object","properties":{}}}</tool_call>"#,
        r#"<tool_call>{"type":"function","function":{"name":"a","description":"Reads."}}</tool_call>"#,
        r#"<tool_call>[{"name":"a"},{"nom":"b"}]</tool_call>"#,
        "<tool_call>",
        "text",
        "",
    ] {
        assert_eq!(found(text), None, "{text}");
    }
    let many = format!("<tool_call>[{}]</tool_call>", vec![r#"{"name":"a"}"#; CALLS_MAX + 1].join(","));
    assert_eq!(found(&many), None);
}

#[test]
fn the_source_of_a_call_holds_its_name_and_arguments() {
    let check = |text: &str, expected: &str| {
        let block = read(text, &[]).expect("a block");
        assert_eq!(block.calls.first().map(|call| call.source), Some(expected), "{text}");
    };
    check(r#"<tool_call> {"name":"a","arguments":{}} </tool_call>"#, r#"{"name":"a","arguments":{}}"#);
    check(r#"<invoke name="a">{"n":1}</invoke>"#, r#"<invoke name="a">{"n":1}"#);
    check(r#"<invoke name="a"></invoke>"#, r#"<invoke name="a">"#);
}
