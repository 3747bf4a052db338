//! How is a request written? A neutral request goes in, the JSON of the wire comes out, the same bytes for the same
//! request.

use chitin_ports::{ChatRequest, Delivery};
use chitin_types::{Message, ToolCall, ToolSpec};
use serde_json::{Map, Value, json};

/// The body of the request to this model, with these of its tools.
pub(super) fn body(model: &str, tools: &[ToolSpec], request: &ChatRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages(request));
    let tools: Vec<Value> = tools.iter().filter_map(tool).collect();
    // An empty list is an error to some servers.
    if !tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    match request.delivery {
        Delivery::Streamed => {
            body.insert("stream".to_owned(), true.into());
            body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
        }
        Delivery::Whole => {
            body.insert("stream".to_owned(), false.into());
        }
    }
    Value::Object(body)
}

fn messages(request: &ChatRequest) -> Value {
    let system = (!request.system.is_empty()).then(|| json!({ "role": "system", "content": request.system }));
    Value::Array(system.into_iter().chain(request.messages.iter().map(message)).collect())
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { text } => json!({ "role": "user", "content": text }),
        Message::Assistant { text, calls } if calls.is_empty() => json!({ "role": "assistant", "content": text }),
        Message::Assistant { text, calls } => {
            // With calls, empty content must be null: some servers refuse an empty text.
            let content = if text.is_empty() { Value::Null } else { Value::from(text.as_str()) };
            let calls: Vec<Value> = calls.iter().map(call).collect();
            json!({ "role": "assistant", "content": content, "tool_calls": calls })
        }
        // The wire has no place for a failure; the text says what went wrong.
        Message::Tool { call_id, text, is_error: _ } => {
            json!({ "role": "tool", "tool_call_id": call_id, "content": text })
        }
    }
}

fn call(call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": arguments(&call.arguments) },
    })
}

// Servers that put the arguments into a template parse them and fail on the whole dialogue when they are no JSON. What
// was wrong with them stands in the result of the call.
fn arguments(text: &str) -> &str {
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if is_json { text } else { "{}" }
}

fn tool(spec: &ToolSpec) -> Option<Value> {
    // Installation refuses names that are too long, so nothing is lost in silence here.
    let name = spec.wire_name().ok()?;
    Some(json!({
        "type": "function",
        "function": { "name": name.as_str(), "description": spec.summary, "parameters": spec.input_schema },
    }))
}

#[cfg(test)]
mod tests {
    use chitin_types::{Effects, FunctionName, ToolName};

    use super::*;

    fn request(messages: Vec<Message>, tools: Vec<ToolSpec>, delivery: Delivery) -> ChatRequest {
        ChatRequest { system: "be brief".to_owned(), messages, tools, delivery, model: None }
    }

    fn spec(tool: &str, function: &str) -> ToolSpec {
        ToolSpec {
            tool: ToolName::parse(tool).expect("a name"),
            function: FunctionName::parse(function).expect("a name"),
            title: "Read".to_owned(),
            summary: "Reads a file.".to_owned(),
            input_schema: json!({ "type": "object" }),
            effects: Effects::default(),
        }
    }

    fn calls(arguments: &str) -> Vec<ToolCall> {
        vec![ToolCall { id: "c1".to_owned(), name: "fs__file_read".to_owned(), arguments: arguments.to_owned() }]
    }

    #[test]
    fn each_message_has_its_form() {
        let check = |given: Message, expected: Value| assert_eq!(message(&given), expected);
        let on_wire = |arguments: &str| json!([{ "id": "c1", "type": "function", "function": { "name": "fs__file_read", "arguments": arguments } }]);
        check(Message::User { text: "hi".to_owned() }, json!({ "role": "user", "content": "hi" }));
        check(Message::Assistant { text: String::new(), calls: vec![] }, json!({ "role": "assistant", "content": "" }));
        check(
            Message::Assistant { text: String::new(), calls: calls(r#"{"path":"a"}"#) },
            json!({ "role": "assistant", "content": null, "tool_calls": on_wire(r#"{"path":"a"}"#) }),
        );
        check(
            Message::Assistant { text: "so".to_owned(), calls: calls("{broken") },
            json!({ "role": "assistant", "content": "so", "tool_calls": on_wire("{}") }),
        );
        check(
            Message::Tool { call_id: "c1".to_owned(), text: "denied".to_owned(), is_error: true },
            json!({ "role": "tool", "tool_call_id": "c1", "content": "denied" }),
        );
    }

    #[test]
    fn a_whole_request_has_system_messages_and_tools() {
        let long = spec(&format!("a/{}", "b".repeat(32)), &"f".repeat(48));
        let said = vec![Message::User { text: "hi".to_owned() }];
        let streamed = request(said.clone(), vec![spec("core/fs", "file_read"), long], Delivery::Streamed);
        let parameters = json!({ "type": "object" });
        let function = json!({ "name": "fs__file_read", "description": "Reads a file.", "parameters": parameters });
        let expected = json!({
            "model": "m",
            "messages": [{ "role": "system", "content": "be brief" }, { "role": "user", "content": "hi" }],
            "tools": [{ "type": "function", "function": function }],
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        assert_eq!(body("m", &streamed.tools, &streamed), expected);
        let mut whole = request(said, vec![], Delivery::Whole);
        whole.system = String::new();
        let expected = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }], "stream": false });
        assert_eq!(body("m", &[], &whole), expected);
    }
}
