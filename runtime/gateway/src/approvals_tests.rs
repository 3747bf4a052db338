//! Is a question shown and answered once, by the owner only?

use chitin_ports::Answer;

use crate::testing::{World, bare, request, send};

#[tokio::test]
async fn a_question_is_shown_and_answered_once() {
    let world = World::new();
    let asked = world.ask("q1").await;
    let list = send(&world.tcp(), request("GET", "/api/approvals", "")).await.json();
    assert_eq!(list["schema"], "chitin/approval-list/v1");
    assert_eq!(list["approvals"][0]["id"], "q1");
    assert_eq!(list["approvals"][0]["rule"], "call:write");
    let answer = async |id: &str, body: &'static str| {
        send(&world.tcp(), request("POST", &format!("/api/approvals/{id}"), body)).await.status
    };
    assert_eq!(answer("q2", r#"{"allow":true}"#).await, 404);
    assert_eq!(answer("q1", r#"{"allow":"yes"}"#).await, 400);
    assert_eq!(answer("q1", r#"{"allow":true,"always":true}"#).await, 400);
    assert_eq!(answer("q1", "{}").await, 400);
    let stranger = bare("POST", "/api/approvals/q1", r#"{"allow":true}"#);
    assert_eq!(send(&world.tcp(), stranger).await.status, 401);
    assert_eq!(world.board.pending().len(), 1, "nothing was answered");
    assert_eq!(answer("q1", r#"{"allow":true}"#).await, 200);
    assert!(matches!(asked.await.expect("no panic"), Answer::Yes(_)));
    assert_eq!(answer("q1", r#"{"allow":true}"#).await, 404);
}

#[tokio::test]
async fn a_late_answer_does_not_count() {
    let world = World::new();
    let asked = world.ask("q1").await;
    world.clock.forward(1001);
    let late = request("POST", "/api/approvals/q1", r#"{"allow":true}"#);
    assert_eq!(send(&world.tcp(), late).await.status, 410);
    assert!(matches!(asked.await.expect("no panic"), Answer::No(_)));
}

#[tokio::test]
async fn a_no_is_a_no() {
    let world = World::new();
    let asked = world.ask("q1").await;
    let no = request("POST", "/api/approvals/q1", r#"{"allow":false}"#);
    assert_eq!(send(&world.tcp(), no).await.status, 200);
    assert!(matches!(asked.await.expect("no panic"), Answer::No(_)));
}
