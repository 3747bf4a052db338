//! Do all the ways of cutting a call give the same call?

use serde_json::json;

use super::*;

type Calls<'a> = &'a [(&'a str, &'a str, &'a str)];

fn reply(cut: Cut, pieces: &[Value], finish: &str) -> ChatReply {
    let mut draft = Draft::default();
    for piece in pieces {
        draft.add(cut, &json!({ "tool_calls": piece })).expect("few calls");
    }
    draft.finish(Some(&json!(finish)));
    draft.into_reply()
}

fn check(cut: Cut, pieces: &[Value], expected: Calls<'_>) {
    let reply = reply(cut, pieces, "tool_calls");
    let found: Vec<_> =
        reply.calls.iter().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str())).collect();
    assert_eq!(found, expected, "{pieces:?}");
    assert_eq!(reply.stop, StopReason::ToolCalls);
}

#[test]
fn pieces_become_calls() {
    let f = |name: &str, arguments: &str| json!({ "name": name, "arguments": arguments });
    let rest = |arguments: &str| json!({ "arguments": arguments });
    // Once, as OpenAI does.
    check(
        Cut::Pieces,
        &[
            json!([{ "index": 0, "id": "a", "type": "function", "function": f("x", "") }]),
            json!([{ "index": 0, "function": rest("{\"p\"") }]),
            json!([{ "index": 0, "function": rest(":1}") }]),
        ],
        &[("a", "x", "{\"p\":1}")],
    );
    // Two at once, mixed.
    check(
        Cut::Pieces,
        &[
            json!([
                { "index": 0, "id": "a", "function": f("x", "") },
                { "index": 1, "id": "b", "function": f("y", "") },
            ]),
            json!([{ "index": 1, "function": rest("{}") }, { "index": 0, "function": rest("{\"q\":2}") }]),
        ],
        &[("a", "x", "{\"q\":2}"), ("b", "y", "{}")],
    );
    // Id and name again with each piece, or another id each time.
    check(
        Cut::Pieces,
        &[
            json!([{ "index": 0, "id": "a", "function": f("x", "{\"p\"") }]),
            json!([{ "index": 0, "id": "a", "function": f("x", ":1}") }]),
            json!([{ "index": 0, "id": "a", "function": f("x", "") }]),
        ],
        &[("a", "x", "{\"p\":1}")],
    );
    check(
        Cut::Pieces,
        &[
            json!([{ "index": 0, "id": "a", "function": f("x", "{\"p\"") }]),
            json!([{ "index": 0, "id": "b", "function": { "name": null, "arguments": ":1}" } }]),
        ],
        &[("a", "x", "{\"p\":1}")],
    );
    // Whole calls that share one index, and no index at all.
    check(
        Cut::Pieces,
        &[
            json!([{ "index": 0, "id": "a", "function": f("x", "{}") }]),
            json!([{ "index": 0, "id": "b", "function": f("x", "{}") }]),
            json!([{ "index": 0, "id": "", "function": f("y", "{}") }]),
        ],
        &[("a", "x", "{}"), ("b", "x", "{}"), ("call_2", "y", "{}")],
    );
    check(
        Cut::Pieces,
        &[
            json!([{ "id": "a", "function": f("x", "{\"p\"") }]),
            json!([{ "function": rest(":1}") }]),
            json!([{ "id": "b", "function": f("y", "") }]),
        ],
        &[("a", "x", "{\"p\":1}"), ("b", "y", "{}")],
    );
}

#[test]
fn whole_calls_stay_apart_and_get_ids() {
    let f = json!({ "name": "x", "arguments": { "p": 1 } });
    check(
        Cut::Whole,
        &[json!([
            { "id": "a", "function": f },
            { "id": "a", "function": f },
            { "function": f },
            { "id": "a_2", "function": f },
        ])],
        &[
            ("a", "x", "{\"p\":1}"),
            ("a_2", "x", "{\"p\":1}"),
            ("call_2", "x", "{\"p\":1}"),
            ("a_2_2", "x", "{\"p\":1}"),
        ],
    );
    check(Cut::Whole, &[json!([{ "id": "a", "function": { "name": "x", "arguments": null } }])], &[("a", "x", "{}")]);
}

#[test]
fn why_it_stopped_is_what_it_came_to() {
    let call = [json!([{ "index": 0, "id": "a", "function": { "name": "x", "arguments": "{}" } }])];
    let check = |pieces: &[Value], finish: &str, expected: StopReason| {
        assert_eq!(reply(Cut::Pieces, pieces, finish).stop, expected, "{finish}");
    };
    check(&[], "stop", StopReason::End);
    check(&[], "tool_calls", StopReason::End);
    check(&[], "length", StopReason::Length);
    check(&[], "content_filter", StopReason::Filtered);
    check(&[], "something new", StopReason::End);
    check(&call, "stop", StopReason::ToolCalls);
    check(&call, "tool_calls", StopReason::ToolCalls);
    check(&call, "length", StopReason::Length);
}

#[test]
fn content_comes_in_several_forms() {
    let check = |message: Value, expected: &str| {
        let added = Draft::default().add(Cut::Pieces, &message);
        assert_eq!(added, Ok(expected.to_owned()), "{message}");
    };
    check(json!({}), "");
    check(json!({ "content": null, "tool_calls": null }), "");
    check(json!({ "content": "a" }), "a");
    check(json!({ "content": [{ "type": "text", "text": "a" }, { "type": "image" }, { "text": "b" }] }), "ab");
    check(json!({ "content": null, "refusal": "no" }), "no");
}

#[test]
fn too_many_calls_are_refused() {
    let mut draft = Draft::default();
    let result = (0..=CALLS_MAX).try_for_each(|index| {
        let call = json!({ "index": index, "id": format!("c{index}"), "function": { "name": "x" } });
        draft.add(Cut::Pieces, &json!({ "tool_calls": [call] })).map(drop)
    });
    assert!(matches!(result, Err(ProviderError::BadAnswer(_))));
}
