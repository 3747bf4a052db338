//! Does each door let in who may, and nobody else? Every refusal stands beside a request that differs in one thing and
//! is let in; a refusal is in the audit and has no effect.

use axum::{body::Body, http::Request};

use super::*;
use crate::testing::{PORT, TOKEN, World, bare, request, send};

const CHAT: &str = r#"{"message":"hi"}"#;

fn with(headers: &[(&'static str, &str)]) -> Request<Body> {
    let mut request = bare("POST", "/api/chat", CHAT);
    for (name, value) in headers {
        request.headers_mut().append(*name, value.parse().expect("a header"));
    }
    request
}

/// Sends one request to a fresh world; `rule` is the one that refuses it.
async fn check(name: &str, request: Request<Body>, status: u16, rule: Option<&str>) {
    let world = World::new();
    let reply = send(&world.tcp(), request).await;
    assert_eq!(reply.status, status, "{name}: {}", reply.body);
    assert_eq!(world.refusals(), rule.into_iter().map(str::to_owned).collect::<Vec<_>>(), "{name}");
    let asked = usize::from(rule.is_none() && status == 200);
    assert_eq!(world.model.asked().len(), asked, "{name}");
    assert!(!reply.body.contains(TOKEN), "{name}");
}

#[tokio::test]
async fn only_the_whole_token_in_the_right_place_is_let_in() {
    let right = format!("Bearer {TOKEN}");
    check("the token", with(&[("authorization", &right)]), 200, None).await;
    check("the scheme in another case", with(&[("authorization", &format!("bearer {TOKEN}"))]), 200, None).await;
    let hash = TokenFile::hash(TOKEN);
    let wrong: [(&str, Vec<(&'static str, String)>); 19] = [
        ("missing", vec![]),
        ("empty header", vec![("authorization", String::new())]),
        ("no token", vec![("authorization", "Bearer".to_owned())]),
        ("empty token", vec![("authorization", "Bearer ".to_owned())]),
        ("wrong", vec![("authorization", "Bearer wrong".to_owned())]),
        ("cut off", vec![("authorization", right[..right.len() - 1].to_owned())]),
        ("too long", vec![("authorization", format!("{right}0"))]),
        ("upper case", vec![("authorization", format!("Bearer {}", TOKEN.to_uppercase()))]),
        ("lower case", vec![("authorization", format!("Bearer {}", TOKEN.to_lowercase()))]),
        ("trailing space", vec![("authorization", format!("{right} "))]),
        ("two spaces", vec![("authorization", format!("Bearer  {TOKEN}"))]),
        ("another scheme", vec![("authorization", format!("Basic {TOKEN}"))]),
        ("no scheme", vec![("authorization", TOKEN.to_owned())]),
        ("twice", vec![("authorization", right.clone()), ("authorization", right.clone())]),
        ("right and wrong", vec![("authorization", "Bearer wrong".to_owned()), ("authorization", right.clone())]),
        ("in a cookie", vec![("cookie", format!("token={TOKEN}"))]),
        ("in a header of its own", vec![("x-api-key", TOKEN.to_owned())]),
        ("the hash of the token", vec![("authorization", format!("Bearer {hash}"))]),
        ("a subprotocol of no socket", vec![("sec-websocket-protocol", format!("chitin.v1, bearer.{TOKEN}"))]),
    ];
    for (name, headers) in wrong {
        let headers: Vec<_> = headers.iter().map(|(header, value)| (*header, value.as_str())).collect();
        check(name, with(&headers), 401, Some("gateway:token")).await;
    }
}

#[tokio::test]
async fn a_token_in_the_url_is_refused_even_beside_the_right_one() {
    check("none", request("POST", "/api/chat", CHAT), 200, None).await;
    for query in
        [format!("?token={TOKEN}"), format!("?access_token={TOKEN}"), format!("?%74oken={TOKEN}"), "?".to_owned()]
    {
        let path = format!("/api/chat{query}");
        check(&query, request("POST", &path, CHAT), 400, Some("gateway:query")).await;
        check(&query, bare("POST", &path, CHAT), 400, Some("gateway:query")).await;
    }
}

#[tokio::test]
async fn a_token_counts_only_as_long_as_its_file_says_so() {
    let world = World::new();
    let status = async || send(&world.tcp(), request("GET", "/api/status", "")).await.status;
    assert_eq!(status().await, 200);
    std::fs::write(&world.token.path, TokenFile::hash("another")).expect("rotated");
    assert_eq!(status().await, 401, "rotated");
    std::fs::write(&world.token.path, "").expect("emptied");
    assert_eq!(status().await, 401, "emptied");
    std::fs::remove_file(&world.token.path).expect("revoked");
    assert_eq!(status().await, 401, "revoked");
    std::fs::write(&world.token.path, TokenFile::hash(TOKEN)).expect("restored");
    assert_eq!(status().await, 200, "restored");
}

#[tokio::test]
async fn only_our_own_host_is_answered() {
    let hosted = |host: &str| {
        let mut request = request("POST", "/api/chat", CHAT);
        request.headers_mut().insert("host", host.parse().expect("a header"));
        request
    };
    for host in ["127.0.0.1:4747", "localhost:4747", "LocalHost:4747", "[::1]:4747"] {
        check(host, hosted(host), 200, None).await;
    }
    for host in [
        "evil.example:4747",
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:4748",
        "127.0.0.1:04747",
        "127.0.0.2:4747",
        "0.0.0.0:4747",
        "localhost.:4747",
        "localhost.evil.example:4747",
        "evil.example@127.0.0.1:4747",
        "2130706433:4747",
        "",
    ] {
        check(host, hosted(host), 403, Some("gateway:host")).await;
    }
    let mut absent = request("POST", "/api/chat", CHAT);
    absent.headers_mut().remove("host");
    check("absent", absent, 403, Some("gateway:host")).await;
    let mut twice = hosted("127.0.0.1:4747");
    twice.headers_mut().append("host", "127.0.0.1:4747".parse().expect("a header"));
    check("twice", twice, 403, Some("gateway:host")).await;
    let same = request("POST", "http://127.0.0.1:4747/api/chat", CHAT);
    check("an absolute address", same, 200, None).await;
    let other = request("POST", "http://evil.example:4747/api/chat", CHAT);
    check("another absolute address", other, 403, Some("gateway:host")).await;
}

#[tokio::test]
async fn no_other_site_is_answered() {
    let from = |name: &'static str, value: &str| {
        let mut request = request("POST", "/api/chat", CHAT);
        request.headers_mut().insert(name, value.parse().expect("a header"));
        request
    };
    check("same origin", from("origin", "http://127.0.0.1:4747"), 200, None).await;
    check("same site", from("sec-fetch-site", "same-origin"), 200, None).await;
    check("typed in", from("sec-fetch-site", "none"), 200, None).await;
    for origin in [
        "null",
        "",
        "http://evil.example",
        "http://evil.example:4747",
        "https://127.0.0.1:4747",
        "http://127.0.0.1",
        "http://127.0.0.1:4748",
        "http://localhost:4747",
        "http://127.0.0.1:4747.evil.example",
        "http://127.0.0.1:4747/",
        "http://evil.example http://127.0.0.1:4747",
        "file://",
    ] {
        check(origin, from("origin", origin), 403, Some("gateway:origin")).await;
    }
    for site in ["cross-site", "same-site", ""] {
        check(site, from("sec-fetch-site", site), 403, Some("gateway:origin")).await;
    }
    let mut twice = from("origin", "http://127.0.0.1:4747");
    twice.headers_mut().append("origin", "http://127.0.0.1:4747".parse().expect("a header"));
    check("twice", twice, 403, Some("gateway:origin")).await;
}

#[tokio::test]
async fn no_other_site_reaches_a_webhook_or_health_either() {
    let world = World::new();
    for path in ["/webhook/hook", "/healthz"] {
        let get = || bare("GET", path, "");
        assert_eq!(send(&world.tcp(), get()).await.status, 200, "{path}");
        let mut foreign = get();
        foreign.headers_mut().insert("origin", "http://evil.example".parse().expect("a header"));
        assert_eq!(send(&world.tcp(), foreign).await.status, 403, "{path}");
        let mut rebound = get();
        rebound.headers_mut().insert("host", "evil.example:4747".parse().expect("a header"));
        assert_eq!(send(&world.tcp(), rebound).await.status, 403, "{path}");
    }
    assert_eq!(world.channels.requests().len(), 1, "only the request of this site");
}

#[tokio::test]
async fn nothing_but_health_and_webhooks_answers_without_a_token() {
    let routes = [
        ("POST", "/api/chat"),
        ("POST", "/api/stop"),
        ("GET", "/api/status"),
        ("GET", "/api/approvals"),
        ("POST", "/api/approvals/x"),
        ("GET", "/metrics"),
        ("GET", "/ws/chat"),
        ("GET", "/"),
        ("GET", "/api/nothing"),
        ("GET", "/health/../api/status"),
        ("GET", "/webhook/../api/status/x"),
        ("GET", "//healthz"),
        ("GET", "/healthz/"),
        ("DELETE", "/api/chat"),
        ("OPTIONS", "/api/chat"),
    ];
    for (method, path) in routes {
        check(path, bare(method, path, ""), 401, Some("gateway:token")).await;
        let world = World::new();
        let reply = send(&world.tcp(), request(method, path, "")).await;
        assert_ne!(reply.status, 401, "{method} {path} with the token");
        assert!(world.refusals().is_empty(), "{method} {path} with the token");
    }
    for path in ["/health", "/healthz", "/ready", "/readyz"] {
        let world = World::new();
        assert_eq!(send(&world.tcp(), bare("GET", path, "")).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn guessing_is_slowed_and_does_not_lock_the_owner_out() {
    let world = World::new();
    let router = world.tcp();
    let guess = || {
        let mut guess = bare("POST", "/api/chat", CHAT);
        guess.headers_mut().insert("authorization", "Bearer guess".parse().expect("a header"));
        guess.headers_mut().insert("x-forwarded-for", "10.1.2.3".parse().expect("a header"));
        guess
    };
    for round in 1..=100 {
        let reply = send(&router, guess()).await;
        assert_eq!(reply.status, if round <= 20 { 401 } else { 429 }, "round {round}");
        assert_eq!(reply.headers.contains_key("retry-after"), round > 20, "round {round}");
    }
    assert_eq!(world.refusals().len(), 60, "the disk is not filled");
    assert_eq!(send(&router, request("POST", "/api/chat", CHAT)).await.status, 200, "the owner");
    world.clock.forward(60_000);
    assert_eq!(send(&router, guess()).await.status, 401);
    assert_eq!(world.model.asked().len(), 1);
}

#[tokio::test]
async fn a_refusal_is_recorded_without_the_token_and_without_the_query() {
    let world = World::new();
    send(&world.tcp(), request("GET", &format!("/api/status?token={TOKEN}"), "")).await;
    let entries = world.audit.entries();
    let expected = serde_json::json!({ "method": "GET", "path": "/api/status" });
    assert_eq!((entries.len(), &entries[0].detail), (1, &expected));
    assert!(!format!("{entries:?}").contains(TOKEN));
}

#[tokio::test]
async fn every_answer_is_hardened() {
    let world = World::new();
    for request in [bare("GET", "/healthz", ""), bare("GET", "/api/status", ""), request("GET", "/nothing", "")] {
        let reply = send(&world.tcp(), request).await;
        assert_eq!(reply.headers["x-content-type-options"], "nosniff");
        assert_eq!(reply.headers["x-frame-options"], "DENY");
        assert_eq!(reply.headers["cache-control"], "no-store");
        assert_eq!(reply.headers["referrer-policy"], "no-referrer");
        assert!(reply.headers["content-security-policy"].to_str().expect("text").contains("default-src 'none'"));
        assert!(!reply.headers.contains_key("access-control-allow-origin"));
    }
}

#[tokio::test]
async fn the_owners_door_needs_no_token() {
    let world = World::new();
    std::fs::remove_file(&world.token.path).expect("no token at all");
    let reply = send(&world.owner(), bare("POST", "/api/chat", CHAT)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(world.history.keys()[0].channel, "terminal");
    assert!(world.refusals().is_empty());
}

#[test]
fn a_socket_may_show_its_token_as_a_subprotocol_once() {
    let check = |headers: &[(HeaderName, &str)], expected: Option<&str>| {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value.parse().expect("a header"));
        }
        assert_eq!(presented(&map, Ways::HeaderOrSubprotocol), expected, "{headers:?}");
    };
    let protocol = SEC_WEBSOCKET_PROTOCOL;
    check(&[(AUTHORIZATION, "Bearer a")], Some("a"));
    check(&[(protocol.clone(), "chitin.v1, bearer.a")], Some("a"));
    check(&[(protocol.clone(), "chitin.v1"), (protocol.clone(), "bearer.a")], Some("a"));
    check(&[(protocol.clone(), "chitin.v1,bearer.")], None);
    check(&[(protocol.clone(), "chitin.v1")], None);
    check(&[(protocol.clone(), "bearer.a, bearer.a")], None);
    check(&[(protocol.clone(), "bearer.a"), (AUTHORIZATION, "Bearer a")], None);
    check(&[(protocol, "BEARER.a")], None);
    let long = "x".repeat(TOKEN_BYTES_MAX + 1);
    check(&[(AUTHORIZATION, &format!("Bearer {long}"))], None);
}

#[tokio::test]
async fn the_owners_own_pass_is_never_revoked() {
    let world = World::new();
    std::fs::remove_file(&world.token.path).expect("removed");
    let revoked = Pass::owner().revoked(Arc::clone(&world.gateway));
    assert!(tokio::time::timeout(Duration::from_millis(300), revoked).await.is_err());
    let by_token = Pass { door: Door::Tcp, token: Some(TokenDigest::of(TOKEN)) };
    let revoked = by_token.revoked(Arc::clone(&world.gateway));
    assert!(tokio::time::timeout(Duration::from_secs(1), revoked).await.is_ok());
}

#[test]
fn the_port_of_a_host_is_ours_to_the_letter() {
    assert!(is_ours("127.0.0.1:4747", PORT));
    assert!(!is_ours("127.0.0.1:+4747", PORT));
    assert!(!is_ours("127.0.0.1:4747 ", PORT));
}
