//! What the model is told about each type, and what a call may give for it.

use std::fmt;

use super::*;
use crate::Call;

/// A part of a file.
#[derive(chitin_sdk::Argument)]
struct Range {
    /// First line, from 1.
    #[arg(minimum = 1)]
    from: u32,
    /// How many lines.
    #[arg(default = 100)]
    lines: u32,
}

#[derive(chitin_sdk::Argument, Clone, Copy, Debug)]
enum Order {
    Newest,
    /// The one that was touched longest ago comes first.
    LeastUsed,
    #[arg(name = "a-z")]
    Alphabetical,
}

/// How to look.
#[derive(chitin_sdk::Argument)]
struct Search {
    /// What to look for,
    /// in words.
    #[arg(min_length = 1, max_length = 64)]
    query: String,
    /// Where.
    #[arg(name = "type", choices = ["mail", "note"])]
    place: Option<String>,
    /// Parts of it.
    ranges: Option<Vec<Range>>,
    /// Which comes first.
    #[arg(default = Order::LeastUsed)]
    order: Order,
    /// How sure to be.
    #[arg(default = 0.5, minimum = 0, maximum = 1)]
    score: f64,
    /// In which language.
    #[arg(default = "en")]
    language: String,
    /// Names and values.
    headers: Option<BTreeMap<String, String>>,
    /// Anything else.
    extras: Option<Value>,
    /// Steps back.
    back: Option<i64>,
}

#[test]
fn a_schema_shows_everything_in_its_order() {
    let expected = concat!(
        r#"{"type":"object","properties":{"#,
        r#""query":{"type":"string","description":"What to look for, in words.","minLength":1,"maxLength":64},"#,
        r#""type":{"type":"string","description":"Where.","enum":["mail","note"]},"#,
        r#""ranges":{"type":"array","description":"Parts of it.","items":{"type":"object","description":"A part of a file.","#,
        r#""properties":{"from":{"type":"integer","description":"First line, from 1.","minimum":1},"#,
        r#""lines":{"type":"integer","description":"How many lines.","minimum":0,"default":100}},"#,
        r#""required":["from"],"additionalProperties":false}},"#,
        r#""order":{"type":"string","#,
        r#""description":"Which comes first. `least_used`: The one that was touched longest ago comes first.","#,
        r#""enum":["newest","least_used","a-z"],"default":"least_used"},"#,
        r#""score":{"type":"number","description":"How sure to be.","minimum":0,"maximum":1,"default":0.5},"#,
        r#""language":{"type":"string","description":"In which language.","default":"en"},"#,
        r#""headers":{"type":"object","description":"Names and values.","additionalProperties":{"type":"string"}},"#,
        r#""extras":{"description":"Anything else."},"#,
        r#""back":{"type":"integer","description":"Steps back."}"#,
        r#"},"required":["query"],"additionalProperties":false}"#
    );
    assert_eq!(<Search as Arguments>::schema().into_json(), expected);
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { query, place, ranges, order, score, language, headers, extras, back } = self;
        let ranges: Vec<(u32, u32)> = ranges.iter().flatten().map(|range| (range.from, range.lines)).collect();
        write!(f, "{query} {place:?} {ranges:?} {order:?} {score} {language} {headers:?} {extras:?} {back:?}")
    }
}

fn check(args: &str, expected: &str) {
    let call = Call { tool: "search".to_owned(), args: args.to_owned(), files: Vec::new() };
    let said = match call.args::<Search>() {
        Ok(search) => search.to_string(),
        Err(failure) => failure.message,
    };
    assert_eq!(said, expected, "{args}");
}

#[test]
fn what_is_left_out_is_filled_in() {
    check(r#"{"query":"a"}"#, "a None [] LeastUsed 0.5 en None None None");
    check(
        r#"{"query":"a","type":"note","ranges":[{"from":2}],"order":"a-z","score":1,"language":"ko"}"#,
        r#"a Some("note") [(2, 100)] Alphabetical 1 ko None None None"#,
    );
    check(
        r#"{"query":"a","order":"newest","headers":{"a":"b"},"extras":[1],"back":-1}"#,
        r#"a None [] Newest 0.5 en Some({"a": "b"}) Some(Array [Number(1)]) Some(-1)"#,
    );
}

#[test]
fn a_wrong_argument_is_named_by_the_name_that_the_model_knows() {
    check("{}", "missing field `query`");
    check(r#"{"query":1}"#, "argument `query`: invalid type: integer `1`, expected a string");
    check(r#"{"query":"a","type":1}"#, "argument `type`: invalid type: integer `1`, expected a string");
    check(
        r#"{"query":"a","order":"oldest"}"#,
        "argument `order`: unknown variant `oldest`, expected one of `newest`, `least_used`, `a-z`",
    );
    check(
        r#"{"query":"a","ranges":[{"from":-1}]}"#,
        "argument `ranges[0].from`: invalid value: integer `-1`, expected u32",
    );
    check(
        r#"{"query":"a","ranges":[{"from":1,"to":2}]}"#,
        "argument `ranges[0].to`: unknown field `to`, expected `from` or `lines`",
    );
    check(r#"{"query":"a","ranges":[1]}"#, "argument `ranges[0]`: invalid type: integer `1`, expected an object");
}
