//! Does a webhook reach its channel whole, and is every refusal clear, recorded and without effect?

use std::time::Duration;

use axum::http::Request;
use chitin_ports::AuditKind;
use tokio::{sync::Semaphore, time::timeout};

use super::*;
use crate::testing::{Reply, TOKEN, World, bare, out, send, until};

async fn post(world: &World, body: impl Into<Body>) -> Reply {
    send(&world.tcp(), bare("POST", "/webhook/hook", body)).await
}

/// Whether the dispatcher was woken.
async fn woken(world: &World) -> bool {
    timeout(Duration::from_millis(10), world.delivered.notified()).await.is_ok()
}

#[tokio::test]
async fn a_webhook_reaches_its_channel_whole_and_wakes_the_dispatcher() {
    let world = World::new();
    let request = Request::builder()
        .method("PUT")
        .uri("/webhook/hook/events?hub=1&x=%20")
        .header("host", "127.0.0.1:4747")
        .header("x-signature", "sha256=00")
        .header("x-twice", "a")
        .header("x-twice", "b")
        .body(Body::from("body \u{1f980}"))
        .expect("a request");
    let reply = send(&world.tcp(), request).await;
    assert_eq!((reply.status, reply.body.as_str()), (200, "ok"));
    let (channel, inbound) = world.channels.requests().remove(0);
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = HttpIn {
        route: "events".to_owned(),
        method: "PUT".to_owned(),
        path: "/webhook/hook/events".to_owned(),
        query: Some("hub=1&x=%20".to_owned()),
        headers: vec![
            header("host", "127.0.0.1:4747"),
            header("x-signature", "sha256=00"),
            header("x-twice", "a"),
            header("x-twice", "b"),
        ],
        body: "body \u{1f980}".as_bytes().to_vec(),
    };
    assert_eq!((channel.as_str(), inbound), ("hook", expected));
    assert!(woken(&world).await);
    assert!(world.refusals().is_empty());
    post(&world, "x").await;
    assert_eq!(world.channels.requests()[1].1.route, "in");
}

#[tokio::test]
async fn each_refusal_has_its_status_and_its_entry() {
    let check = async |error: ChannelError, status: u16, rule: &str| {
        let world = World::new();
        assert_eq!(post(&world, "x").await.status, 200, "the twin that is taken");
        assert!(woken(&world).await);
        world.channels.will(Err(error));
        let reply = post(&world, "x").await;
        assert_eq!(reply.status, status, "{rule}");
        assert_eq!(reply.headers["content-type"], "application/problem+json", "{rule}");
        assert!(!reply.body.contains("inner"), "{}", reply.body);
        let entries = world.audit.entries();
        let entry = entries.last().expect("an entry");
        let found = (entries.len(), entry.kind, entry.subject.as_str(), entry.verdict.as_str(), entry.rule.as_deref());
        assert_eq!(found, (1, AuditKind::Auth, "hook", "deny", Some(rule)));
        assert!(!woken(&world).await, "{rule}");
        let page = world.gateway.parts.metrics.render(&crate::metrics::Gauges {
            channels_running: 0,
            channels_backed_off: 0,
            channels_stopped: 0,
            open_approvals: 0,
            uptime_s: 0,
        });
        assert!(page.contains(&format!("chitin_webhooks_total{{result=\"{rule}\"}} 1\n")), "{page}");
        assert!(page.contains("chitin_webhooks_total{result=\"accepted\"} 1\n"), "{page}");
        reply
    };
    check(ChannelError::NoRoute, 404, "webhook:no-route").await;
    check(ChannelError::BadSignature, 401, "webhook:signature").await;
    check(ChannelError::Replay, 409, "webhook:replay").await;
    check(ChannelError::TooLarge { bytes_max: 10 }, 413, "webhook:too-large").await;
    check(ChannelError::Refused("not this one".to_owned()), 422, "webhook:refused").await;
    let not_ready = ChannelError::NotReady { reason: "inner trap".to_owned(), retry_after_ms: 1500 };
    let reply = check(not_ready, 503, "webhook:not-ready").await;
    assert_eq!(reply.headers["retry-after"], "2");
}

#[tokio::test]
async fn what_no_channel_can_read_never_reaches_one() {
    let check = async |request: Request<Body>, status: u16, rule: &str| {
        let world = World::new();
        assert_eq!(send(&world.tcp(), request).await.status, status, "{rule}");
        assert_eq!(world.refusals(), [rule]);
        assert!(world.channels.requests().is_empty(), "{rule}");
        assert!(!woken(&world).await, "{rule}");
    };
    let large = || vec![b'x'; body::BYTES_MAX + 1];
    check(bare("POST", "/webhook/hook", large()), 413, "webhook:too-large").await;
    let mut binary = bare("POST", "/webhook/hook", "x");
    binary.headers_mut().insert("x-odd", HeaderValue::from_bytes(b"\xff\xfe").expect("a header"));
    check(binary, 400, "webhook:unreadable").await;
    for path in ["/webhook/a%2Fb", "/webhook/..", "/webhook/a%00b", "/webhook/hook/a.b", "/webhook/%ff"] {
        check(bare("POST", path, "x"), 404, "webhook:no-route").await;
    }
    let long = format!("/webhook/{}", "x".repeat(NAME_BYTES_MAX + 1));
    check(bare("POST", &long, "x"), 404, "webhook:no-route").await;
    let world = World::new();
    assert_eq!(post(&world, vec![b'x'; body::BYTES_MAX]).await.status, 200, "exactly the limit");
    assert_eq!(send(&world.tcp(), bare("POST", "/webhook/stranger", "x")).await.status, 404, "no such channel");
    assert_eq!(send(&world.tcp(), bare("DELETE", "/webhook/hook", "x")).await.status, 405);
    assert_eq!(world.channels.requests().len(), 1);
}

#[tokio::test]
async fn what_a_component_answers_is_no_page_and_sets_nothing() {
    let check = async |answer: HttpOut, status: u16, kind: &str, body: &str| {
        let world = World::new();
        world.channels.will(Ok(answer));
        let reply = post(&world, "x").await;
        assert_eq!((reply.status, reply.body.as_str()), (status, body));
        assert_eq!(reply.headers["content-type"], kind);
        assert!(!reply.headers.contains_key("set-cookie"));
        assert!(!reply.headers.contains_key("access-control-allow-origin"));
        assert_eq!(reply.headers["x-content-type-options"], "nosniff");
        (woken(&world).await, world.refusals())
    };
    let taken = (true, vec![]);
    let json = out(201, "application/json; charset=utf-8", "{}");
    assert_eq!(check(json, 201, "application/json", "{}").await, taken);
    let page = out(200, "text/html", "<script>");
    assert_eq!(check(page, 200, "application/octet-stream", "<script>").await, taken);
    let refused = out(403, "text/plain", "no");
    let expected = (false, vec!["webhook:refused".to_owned()]);
    assert_eq!(check(refused, 403, "text/plain; charset=utf-8", "no").await, expected);
    for odd in [out(100, "text/plain", ""), out(99, "text/plain", ""), out(1000, "text/plain", "")] {
        let world = World::new();
        world.channels.will(Ok(odd));
        assert_eq!(post(&world, "x").await.status, 502);
        assert_eq!(world.refusals(), ["webhook:answer"]);
    }
    let world = World::new();
    world.channels.will(Ok(out(200, "text/plain", &"x".repeat(REPLY_BYTES_MAX + 1))));
    assert_eq!(post(&world, "x").await.status, 502);
}

#[tokio::test]
async fn a_channel_is_never_shown_our_token() {
    let world = World::new();
    let with = |value: String| {
        let mut request = bare("POST", "/webhook/hook", "x");
        request.headers_mut().insert("authorization", value.parse().expect("a header"));
        request
    };
    send(&world.tcp(), with(format!("Bearer {TOKEN}"))).await;
    send(&world.tcp(), with("Bearer the-platforms-own".to_owned())).await;
    let seen: Vec<_> = world.channels.requests().into_iter().map(|(_, inbound)| inbound.headers).collect();
    let shown = |headers: &[(String, String)]| headers.iter().any(|(name, _)| name == "authorization");
    assert_eq!((shown(&seen[0]), shown(&seen[1])), (false, true));
}

#[tokio::test]
async fn a_platform_that_hangs_up_does_not_break_off_its_channel() {
    let world = World::new();
    let permits = Arc::new(Semaphore::new(0));
    world.channels.wait_for(&permits);
    let waited = timeout(Duration::from_millis(50), post(&world, "x")).await;
    assert!(waited.is_err(), "it waits");
    assert_eq!(world.channels.requests().len(), 1);
    permits.add_permits(1);
    assert!(timeout(Duration::from_secs(1), world.delivered.notified()).await.is_ok());
}

#[tokio::test]
async fn webhooks_at_once_are_bounded() {
    let world = World::new();
    let permits = Arc::new(Semaphore::new(0));
    world.channels.wait_for(&permits);
    let mut waiting = Vec::new();
    for _ in 0..crate::WEBHOOKS_MAX {
        let router = world.tcp();
        waiting.push(tokio::spawn(async move { send(&router, bare("POST", "/webhook/hook", "x")).await.status }));
    }
    until(|| world.channels.requests().len() == crate::WEBHOOKS_MAX).await;
    assert_eq!(post(&world, "x").await.status, 503);
    assert_eq!(send(&world.tcp(), bare("GET", "/healthz", "")).await.status, 200);
    permits.add_permits(crate::WEBHOOKS_MAX + 1);
    for waited in waiting {
        assert_eq!(waited.await.expect("no panic"), 200);
    }
    assert_eq!(post(&world, "x").await.status, 200);
}
