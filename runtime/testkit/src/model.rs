//! How does a model server behave, seen from the wire? A script goes in; a server speaks it in the streaming form of
//! OpenAI's chat completions, tool calls in pieces.

use serde_json::{Value, json};

use crate::server::{Pace, Reply, Seen, Server};

/// What the model says next.
pub enum Say {
    /// An answer.
    Text(String),
    /// A tool call: wire name and arguments.
    Call(&'static str, Value),
}

/// Starts a model that says `script(messages)` to each request, where `messages` are those of the request.
pub async fn start(script: impl Fn(&[Value]) -> Say + Send + Sync + 'static) -> Server {
    Server::start(move |seen| answer(seen, &script)).await
}

/// The same model, which takes its time for each answer; others are answered meanwhile.
pub async fn start_paced(pace: Pace, script: impl Fn(&[Value]) -> Say + Send + Sync + 'static) -> Server {
    Server::start_paced(pace, move |seen| answer(seen, &script)).await
}

fn answer(seen: &Seen, script: &impl Fn(&[Value]) -> Say) -> Reply {
    let request: Value = serde_json::from_slice(&seen.body).unwrap_or(Value::Null);
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    if seen.method != "POST" || !seen.target.ends_with("/chat/completions") {
        return Reply::not_found();
    }
    let said = script(&messages);
    if request["stream"].as_bool() == Some(true) {
        Reply { status: 200, content_type: "text/event-stream", pieces: streamed(&said) }
    } else {
        Reply::ok("application/json", whole(&said).to_string())
    }
}

fn whole(said: &Say) -> Value {
    let (message, finish) = match said {
        Say::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Say::Call(name, arguments) => {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            let call = json!({"id": "call_a", "type": "function", "function": function});
            (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
        }
    };
    json!({"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": finish}]})
}

fn streamed(said: &Say) -> Vec<Vec<u8>> {
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    let finish = match said {
        Say::Text(text) => {
            deltas.extend(pieces(text).into_iter().map(|piece| json!({"content": piece})));
            "stop"
        }
        Say::Call(name, arguments) => {
            let begin =
                json!({"index": 0, "id": "call_a", "type": "function", "function": {"name": name, "arguments": ""}});
            deltas.push(json!({"tool_calls": [begin]}));
            let more = |piece| json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]});
            deltas.extend(pieces(&arguments.to_string()).into_iter().map(more));
            "tool_calls"
        }
    };
    let event = |choice: Value| format!("data: {}\n\n", json!({"id": "x", "choices": [choice]})).into_bytes();
    let mut events: Vec<Vec<u8>> =
        deltas.into_iter().map(|delta| event(json!({"index": 0, "delta": delta, "finish_reason": null}))).collect();
    events.push(event(json!({"index": 0, "delta": {}, "finish_reason": finish})));
    events.push(b"data: [DONE]\n\n".to_vec());
    // Cut in the middle of events, as a network does.
    let all = events.concat();
    all.chunks(PIECE_BYTES).map(<[u8]>::to_vec).collect()
}

fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(7).map(|piece| piece.iter().collect()).collect()
}

const PIECE_BYTES: usize = 61;
