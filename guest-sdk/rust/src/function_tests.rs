//! What a marked function becomes: its description, and its answer to a call.

use chitin_sdk::{Call, Context, Effects, Failure, Json, Part, ToolFunction, ToolPack, tool};

/// Repeats a text,
/// as often as wanted.
///
/// Never more than nine times.
///
/// # Errors
///
/// When there is nothing to repeat.
#[tool(reads, idempotent, open_world, title = "Say it again")]
fn repeat(
    /// What to say.
    #[arg(max_length = 20)]
    text: String,
    ctx: &Context,
    /// How often.
    #[arg(minimum = 1, maximum = 9, default = 2)]
    times: u32,
    /// What stands between.
    between: Option<String>,
) -> Result<(String, Json<u32>), Failure> {
    ctx.progress("repeating", None);
    if text.is_empty() || ctx.cancelled() {
        return Err(Failure::invalid_input("there is nothing to repeat"));
    }
    let pieces = vec![text; times as usize];
    Ok((pieces.join(&between.unwrap_or_default()), Json(times)))
}

/// Does nothing.
#[tool]
fn rest_a_while() {}

#[derive(chitin_sdk::Argument)]
struct Amounts {
    /// The first number.
    one: i64,
    /// The second number.
    other: i64,
}

/// Adds two numbers.
#[tool]
fn add(#[args] amounts: Amounts) -> Json<i64> {
    Json(amounts.one + amounts.other)
}

fn check(tool: &str, args: &str, expected: &str) {
    let call = Call { tool: tool.to_owned(), args: args.to_owned(), files: Vec::new() };
    let said = match Tools::invoke(call) {
        Ok(parts) => format!("{parts:?}"),
        Err(failure) => format!("{} {}: {}", failure.kind, failure.code.unwrap_or_default(), failure.message),
    };
    assert_eq!(said, expected);
}

/// What `export_tools!` writes, under a name that can be called here.
struct Tools;

impl ToolPack for Tools {
    fn tools() -> Vec<chitin_sdk::Tool> {
        vec![<repeat as ToolFunction>::tool(), <rest_a_while as ToolFunction>::tool(), <add as ToolFunction>::tool()]
    }

    fn invoke(call: Call) -> Result<Vec<Part>, Failure> {
        match call.tool.as_str() {
            <repeat as ToolFunction>::NAME => <repeat as ToolFunction>::call(call),
            <rest_a_while as ToolFunction>::NAME => <rest_a_while as ToolFunction>::call(call),
            <add as ToolFunction>::NAME => <add as ToolFunction>::call(call),
            _ => Err(call.unknown_tool()),
        }
    }
}

#[test]
fn a_function_is_described_by_its_comment_and_its_parameters() {
    let [repeat, rest, add] = Tools::tools().try_into().expect("three tools");
    assert_eq!((repeat.name.as_str(), repeat.title.as_str()), ("repeat", "Say it again"));
    assert_eq!(repeat.summary, "Repeats a text, as often as wanted.\n\nNever more than nine times.");
    assert_eq!(repeat.effects, Effects::READS | Effects::IDEMPOTENT | Effects::OPEN_WORLD);
    assert_eq!(
        repeat.input_schema,
        concat!(
            r#"{"type":"object","properties":{"text":{"type":"string","description":"What to say.","maxLength":20},"#,
            r#""times":{"type":"integer","description":"How often.","minimum":1,"maximum":9,"default":2},"#,
            r#""between":{"type":"string","description":"What stands between."}},"#,
            r#""required":["text"],"additionalProperties":false}"#
        )
    );
    assert_eq!((rest.title.as_str(), rest.effects), ("Rest a while", Effects::empty()));
    assert_eq!(rest.input_schema, r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#);
    assert!(add.input_schema.contains(r#""required":["one","other"]"#), "{}", add.input_schema);
}

#[test]
fn a_call_reaches_the_function_and_its_result_comes_back() {
    check("repeat", r#"{"text":"a"}"#, r#"[Part::Text("aa"), Part::Data("2")]"#);
    check("repeat", r#"{"text":"a","times":3,"between":"-"}"#, r#"[Part::Text("a-a-a"), Part::Data("3")]"#);
    check("rest_a_while", "{}", "[]");
    check("add", r#"{"one":1,"other":-3}"#, r#"[Part::Data("-2")]"#);
}

#[test]
fn a_bad_call_is_answered_with_a_failure() {
    check("repeat", r#"{"text":""}"#, "invalid-input : there is nothing to repeat");
    check("repeat", "{}", "invalid-input bad-argument: missing field `text`");
    check(
        "rest_a_while",
        r#"{"long":true}"#,
        "invalid-input bad-argument: argument `long`: unknown field `long`, there are no fields",
    );
    check("sleep", "{}", "not-found unknown-tool: this component has no tool named `sleep`");
}

#[test]
fn the_function_itself_stays_callable() {
    rest_a_while();
    assert_eq!(add(Amounts { one: 1, other: 2 }), Json(3));
}
