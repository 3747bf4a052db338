//! Does a message get its answer, in both forms, and does a message that is none get nothing?

use axum::http::Request;
use chitin_ports::ProviderError;
use serde_json::json;
use tower::ServiceExt as _;

use super::*;
use crate::testing::{Reply, Script, World, request, send, until};

async fn chat(world: &World, body: &str) -> Reply {
    send(&world.tcp(), request("POST", "/api/chat", body.to_owned())).await
}

fn streamed(body: &str) -> Request<axum::body::Body> {
    let mut request = request("POST", "/api/chat", body.to_owned());
    request.headers_mut().insert("accept", "text/event-stream".parse().expect("a header"));
    request
}

/// Name and data of each frame.
fn frames(body: &str) -> Vec<(String, serde_json::Value)> {
    let of = |frame: &str| {
        let (name, data) = frame.split_once('\n').expect("two lines");
        let name = name.strip_prefix("event: ").expect("a name").to_owned();
        let data = data.strip_prefix("data: ").expect("data");
        (name, serde_json::from_str(data).expect("JSON on one line"))
    };
    body.split_terminator("\n\n").map(of).collect()
}

#[tokio::test]
async fn a_message_is_answered_as_json() {
    let world = World::new();
    let reply = chat(&world, r#"{"message":"hi","session":"work"}"#).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.headers["content-type"], "application/json");
    assert_eq!(reply.json(), json!({ "schema": "chitin/answer/v1", "text": "hello there", "session": "work" }));
    assert_eq!(world.model.asked(), ["hi"]);
    let key = world.history.keys().remove(0);
    let parts = (key.channel.as_str(), key.reply_target.as_str(), key.thread, key.sender.as_str());
    assert_eq!(parts, ("api", "work", None, "owner"));
    assert_eq!(chat(&world, r#"{"message":"hi"}"#).await.json()["session"], "default");
}

#[tokio::test]
async fn a_message_is_answered_as_it_comes() {
    let world = World::new();
    let reply = send(&world.tcp(), streamed(r#"{"message":"hi"}"#)).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.headers["content-type"], "text/event-stream");
    let expected = [
        ("chunk".to_owned(), json!({ "type": "chunk", "text": "hello " })),
        ("chunk".to_owned(), json!({ "type": "chunk", "text": "there" })),
        ("done".to_owned(), json!({ "type": "done", "text": "hello there" })),
    ];
    assert_eq!(frames(&reply.body), expected);
}

#[tokio::test]
async fn a_turn_that_fails_says_so_once() {
    let world = World::new();
    world.model.will([Script::Fails(ProviderError::BadAnswer("odd".to_owned()))]);
    let reply = chat(&world, r#"{"message":"hi"}"#).await;
    assert_eq!((reply.status, &reply.json()["status"]), (502, &json!(502)));
    assert_eq!(reply.headers["content-type"], "application/problem+json");
    assert!(reply.body.contains("odd"), "{}", reply.body);
    world.model.will([Script::Fails(ProviderError::BadAnswer("odd".to_owned()))]);
    let reply = send(&world.tcp(), streamed(r#"{"message":"hi"}"#)).await;
    let frames = frames(&reply.body);
    assert_eq!((reply.status, frames.len(), frames[0].0.as_str()), (200, 1, "error"));
}

#[tokio::test]
async fn a_turn_that_panics_takes_nothing_with_it() {
    let world = World::new();
    world.model.will([Script::Breaks]);
    assert_eq!(chat(&world, r#"{"message":"hi"}"#).await.status, 502);
    assert_eq!(chat(&world, r#"{"message":"hi"}"#).await.status, 200);
    assert_eq!(world.gateway.turns.available_permits(), 64);
}

#[tokio::test]
async fn what_is_no_message_has_no_effect() {
    let check = async |body: &str, status: u16| {
        let world = World::new();
        let reply = chat(&world, body).await;
        assert_eq!(reply.status, status, "{:.80} {}", body, reply.body);
        assert_eq!(world.model.asked().len(), usize::from(status == 200), "{body:.80}");
        if status != 200 {
            assert_eq!(reply.headers["content-type"], "application/problem+json");
            assert!(reply.body.len() < 1000, "{}", reply.body.len());
        }
    };
    check(r#"{"message":"hi"}"#, 200).await;
    check(r#"{"message":"hi","session":null}"#, 200).await;
    for body in [
        "",
        "hi",
        "{",
        r#"{"message":"hi""#,
        r#"{"message":"hi"} x"#,
        r#"{"message":"hi","message":"ho"}"#,
        r#"{"message":"hi","channel":"terminal"}"#,
        r#"{"message":"hi","sender":"owner"}"#,
        r#"{"message":"hi","admin":true}"#,
        r#"{"message":1}"#,
        r#"{"message":null}"#,
        r#"{"message":""}"#,
        r#"{"message":" \n"}"#,
        r#"{"message":"\ud800"}"#,
        r#"{"message":"hi","session":""}"#,
        r#"{"message":"hi","session":"a\nb"}"#,
        r#"{"message":"hi","session":7}"#,
        r#"{"session":"a"}"#,
        r#"["hi"]"#,
        r#"["hi",null]"#,
        "\u{feff}{\"message\":\"hi\"}",
        "NaN",
    ] {
        check(body, 400).await;
    }
    check(&"[".repeat(100_000), 400).await;
    check(&format!(r#"{{"message":"hi","{}":1}}"#, "x".repeat(100_000)), 400).await;
    // The envelope `{"message":""}` is 14 bytes.
    check(&format!(r#"{{"message":"{}"}}"#, "x".repeat(body::BYTES_MAX - 14)), 200).await;
    check(&format!(r#"{{"message":"{}"}}"#, "x".repeat(body::BYTES_MAX - 13)), 413).await;
}

#[tokio::test]
async fn only_json_is_read() {
    let world = World::new();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let mut form = request("POST", "/api/chat", r#"{"message":"hi"}"#);
        form.headers_mut().insert("content-type", kind.parse().expect("a header"));
        assert_eq!(send(&world.tcp(), form).await.status, 415, "{kind}");
    }
    assert!(world.model.asked().is_empty());
}

#[tokio::test]
async fn a_client_that_goes_away_ends_its_turn() {
    for streams in [false, true] {
        let world = World::new();
        world.model.will([Script::Hangs]);
        let body = r#"{"message":"hi"}"#;
        let asked = if streams { streamed(body) } else { request("POST", "/api/chat", body) };
        let call = async {
            let response = world.tcp().oneshot(asked).await.expect("a router never fails");
            axum::body::to_bytes(response.into_body(), usize::MAX).await
        };
        let waited = tokio::time::timeout(std::time::Duration::from_millis(100), call).await;
        assert!(waited.is_err(), "the model hangs");
        assert_eq!(world.model.asked().len(), 1);
        until(|| world.model.gone() == 1).await;
        until(|| world.gateway.turns.available_permits() == 64).await;
    }
}

#[tokio::test]
async fn a_revoked_token_ends_what_it_began() {
    for streams in [false, true] {
        let world = World::new();
        world.model.will([Script::Hangs]);
        let body = r#"{"message":"hi"}"#;
        let asked = if streams { streamed(body) } else { request("POST", "/api/chat", body) };
        let router = world.tcp();
        let waiting = tokio::spawn(async move { send(&router, asked).await });
        until(|| world.model.asked().len() == 1).await;
        std::fs::remove_file(&world.token.path).expect("revoked");
        let reply = tokio::time::timeout(std::time::Duration::from_secs(1), waiting).await;
        let reply = reply.expect("within a second").expect("no panic");
        assert!(reply.body.contains("the token was revoked"), "{}", reply.body);
        assert_eq!(reply.status, if streams { 200 } else { 401 });
        until(|| world.model.gone() == 1).await;
    }
}

#[tokio::test]
async fn turns_at_once_are_bounded() {
    let world = World::new();
    let all = world.gateway.turns.clone().try_acquire_many_owned(64).expect("all places");
    let reply = chat(&world, r#"{"message":"hi"}"#).await;
    assert_eq!((reply.status, &reply.headers["retry-after"]), (503, &"1".parse().expect("a header")));
    assert!(world.model.asked().is_empty());
    drop(all);
    assert_eq!(chat(&world, r#"{"message":"hi"}"#).await.status, 200);
}

#[tokio::test]
async fn a_turn_is_stopped_from_elsewhere() {
    let world = World::new();
    world.model.will([Script::Hangs]);
    let router = world.tcp();
    let waiting = tokio::spawn(async move { send(&router, request("POST", "/api/chat", r#"{"message":"hi"}"#)).await });
    until(|| world.model.asked().len() == 1).await;
    let stop = async |session: &str| {
        let body = json!({ "session": session }).to_string();
        send(&world.tcp(), request("POST", "/api/stop", body)).await.json()["stopped"].clone()
    };
    assert_eq!(stop("another").await, false);
    assert_eq!(stop("default").await, true);
    assert_eq!(waiting.await.expect("no panic").status, 409);
}

#[test]
fn events_are_for_whoever_names_them() {
    let check = |accept: &[&str], expected: Delivery| {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(ACCEPT, value.parse().expect("a header"));
        }
        assert_eq!(delivery(&headers), expected, "{accept:?}");
    };
    check(&[], Delivery::Whole);
    check(&["*/*"], Delivery::Whole);
    check(&["application/json"], Delivery::Whole);
    check(&["text/event-stream"], Delivery::Streamed);
    check(&["application/json, Text/Event-Stream;q=0.5"], Delivery::Streamed);
    check(&["application/json", "text/event-stream"], Delivery::Streamed);
}
