//! Do the three answers for watching programs say what is so?

use crate::testing::{World, bare, request, send};

#[tokio::test]
async fn health_says_that_it_is_there() {
    let world = World::new();
    for path in ["/health", "/healthz"] {
        let reply = send(&world.tcp(), bare("GET", path, "")).await;
        assert_eq!((reply.status, reply.body.as_str()), (200, r#"{"status":"ok"}"#), "{path}");
    }
}

#[tokio::test]
async fn readiness_ends_when_the_daemon_stops() {
    let world = World::new();
    let ready = async || send(&world.tcp(), bare("GET", "/readyz", "")).await.status;
    assert_eq!(ready().await, 200);
    world.gateway.closing.send_replace(true);
    assert_eq!(ready().await, 503);
    assert_eq!(send(&world.tcp(), bare("GET", "/healthz", "")).await.status, 200);
}

#[tokio::test]
async fn metrics_count_what_happened() {
    let world = World::new();
    let router = world.tcp();
    send(&router, request("POST", "/api/chat", r#"{"message":"hi"}"#)).await;
    send(&router, bare("POST", "/api/chat", "")).await;
    let _asked = world.ask("q1").await;
    world.clock.forward(61_000);
    let reply = send(&router, request("GET", "/metrics", "")).await;
    assert_eq!(reply.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    for line in [
        "chitin_turns_total{end=\"done\"} 1",
        "chitin_auth_failures_total{rule=\"gateway:token\"} 1",
        "chitin_channels{state=\"running\"} 1",
        "chitin_channels{state=\"backed-off\"} 1",
        "chitin_channels{state=\"stopped\"} 1",
        // Its time is over.
        "chitin_open_approvals 0",
        "chitin_uptime_seconds 61",
    ] {
        assert!(reply.body.lines().any(|found| found == line), "{line}\n{}", reply.body);
    }
}

#[tokio::test]
async fn status_is_what_the_daemon_says() {
    let world = World::new();
    let reply = send(&world.tcp(), request("GET", "/api/status", "")).await;
    assert_eq!((reply.status, reply.body.as_str()), (200, r#"{"schema":"chitin/status/v1"}"#));
}
