//! Do these arguments fit? The model's text and the pinned schema go in; a JSON object comes out, or a text by which
//! the model can repair them.

use chitin_types::{ToolCall, ToolOutcome, canonical::canonical};
use serde_json::{Map, Value};

use crate::cut;

/// Reads and validates the arguments of one call.
///
/// # Errors
/// [`ToolOutcome::InvalidInput`] names each field and what is expected; [`ToolOutcome::Broke`] when it is the schema
/// that cannot be used, which the install refuses.
pub(crate) fn read(text: &str, schema: &Value) -> Result<Value, ToolOutcome> {
    let args = object(text).map_err(ToolOutcome::InvalidInput)?;
    // Offline: a schema that points elsewhere fails instead of fetching, however this library is built.
    let validator = jsonschema::options().offline().build(schema).map_err(|error| {
        tracing::warn!(%error, "the pinned schema cannot be used");
        ToolOutcome::Broke("schema-unusable".to_owned())
    })?;
    let wrong: Vec<String> = validator
        .iter_errors(&args)
        .take(FIELDS_NAMED_MAX)
        // Masked: the model knows what it wrote, and a large value would bury what is wrong with it.
        .map(|error| named(error.instance_path().as_str(), &error.masked().to_string()))
        .collect();
    if wrong.is_empty() { Ok(args) } else { Err(ToolOutcome::InvalidInput(wrong.join("; "))) }
}

/// Builds what every schema is checked against, which takes some milliseconds once in a process. Whoever starts a call has
/// other things to do meanwhile.
pub fn prepare() {
    // The result is of no use; the library keeps what it built for it.
    drop(jsonschema::options().offline().build(&Value::Object(Map::new())));
}

/// What makes two calls of one reply the same: the name and the arguments, however they were spelled.
pub(crate) fn signature(call: &ToolCall) -> (String, String) {
    let args = object(&call.arguments).map_or_else(|_| call.arguments.clone(), |args| canonical(&args));
    (call.name.clone(), args)
}

fn object(text: &str) -> Result<Value, String> {
    if text.len() > ARGUMENTS_BYTES_MAX {
        return Err(format!("they have {} bytes, and the limit is {ARGUMENTS_BYTES_MAX}", text.len()));
    }
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match parse(text)? {
        // Some models encode the object twice; once more is read, not twice.
        Value::String(inner) => only_object(parse(&inner)?),
        other => only_object(other),
    }
}

fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("expected one JSON object, and the text is no JSON: {error}"))
}

fn only_object(value: Value) -> Result<Value, String> {
    let found = match value {
        Value::Object(_) => return Ok(value),
        Value::Null => return Ok(Value::Object(Map::new())),
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
    };
    Err(format!("expected one JSON object, found {found}"))
}

fn named(pointer: &str, message: &str) -> String {
    let message = cut::middle(message, MESSAGE_CHARS_MAX);
    if pointer.is_empty() { message } else { format!("field {pointer}: {message}") }
}

/// Text of the arguments of one call. A larger one is a file that should travel as one.
const ARGUMENTS_BYTES_MAX: usize = 1024 * 1024;
/// Fields named in one answer; a model repairs a few at a time.
const FIELDS_NAMED_MAX: usize = 5;
/// One field's message: a schema can hold an enumeration of thousands.
const MESSAGE_CHARS_MAX: usize = 300;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": { "city": { "type": "string" }, "days": { "type": "integer", "maximum": 7 } },
            "required": ["city"],
            "additionalProperties": false
        })
    }

    #[test]
    fn each_wrong_field_is_named_with_what_is_expected() {
        let check = |text: &str, expected: Result<Value, &[&str]>| match (read(text, &schema()), expected) {
            (Ok(args), Ok(expected)) => assert_eq!(args, expected, "{text}"),
            (Err(ToolOutcome::InvalidInput(message)), Err(parts)) => {
                for part in parts {
                    assert!(message.contains(part), "{text}: {message}");
                }
            }
            (found, expected) => panic!("{text}: {found:?} is not {expected:?}"),
        };
        check(r#"{"city":"Hue","days":2}"#, Ok(json!({"city": "Hue", "days": 2})));
        check(r#""{\"city\":\"Hue\"}""#, Ok(json!({"city": "Hue"})));
        check("", Err(&["\"city\" is a required property"]));
        check("null", Err(&["\"city\" is a required property"]));
        check(r#"{"city":"Hue","days":"two"}"#, Err(&["field /days", "integer"]));
        check(r#"{"days":9}"#, Err(&["\"city\"", "field /days", "maximum of 7"]));
        check(r#"{"city":"Hue","when":1}"#, Err(&["when"]));
        check("[]", Err(&["expected one JSON object, found an array"]));
        check("{", Err(&["no JSON"]));
        check(&"x".repeat(ARGUMENTS_BYTES_MAX + 1), Err(&["the limit is 1048576"]));
    }

    #[test]
    fn nothing_at_all_is_an_empty_object() {
        assert_eq!(read("  ", &json!({"type": "object"})), Ok(json!({})));
    }

    #[test]
    fn a_schema_that_points_elsewhere_is_never_fetched() {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/schema.json"}}});
        assert_eq!(read(r#"{"a":1}"#, &schema), Err(ToolOutcome::Broke("schema-unusable".to_owned())));
    }

    #[test]
    fn spelling_does_not_make_two_calls_differ() {
        let call = |arguments: &str| ToolCall {
            id: "c1".to_owned(),
            name: "box__read".to_owned(),
            arguments: arguments.to_owned(),
        };
        assert_eq!(signature(&call(r#"{"b":1, "a":2}"#)), signature(&call(r#"{"a":2,"b":1}"#)));
        assert_eq!(signature(&call("")), signature(&call("{}")));
        assert_ne!(signature(&call(r#"{"a":1}"#)), signature(&call(r#"{"a":2}"#)));
    }
}
