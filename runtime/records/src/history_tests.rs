//! Do dialogues come back as whole turns, in order, and only to the one who had them?

use chitin_types::ToolCall;

use super::*;
use crate::fixture::{Home, NOW_MS};

fn key(sender: &str, thread: Option<&str>) -> SessionKey {
    SessionKey {
        channel: "terminal".to_owned(),
        reply_target: "here".to_owned(),
        thread: thread.map(str::to_owned),
        sender: sender.to_owned(),
    }
}

fn session(id: &str) -> SessionId {
    SessionId::parse(id).expect("an id")
}

fn turn(id: &str) -> TurnId {
    TurnId::parse(id).expect("an id")
}

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

fn says(text: &str) -> Message {
    Message::Assistant { text: text.to_owned(), calls: Vec::new() }
}

fn with_tool(text: &str) -> Vec<Message> {
    let call = ToolCall { id: "c".to_owned(), name: "fs__file_read".to_owned(), arguments: "{}".to_owned() };
    vec![
        user(text),
        Message::Assistant { text: String::new(), calls: vec![call] },
        Message::Tool { call_id: "c".to_owned(), text: "é\0\n".to_owned(), is_error: true },
        says("done"),
    ]
}

#[tokio::test]
async fn a_key_gives_its_newest_session() {
    let home = Home::new();
    let records = home.open();
    let open = async |key: &SessionKey, fresh: &str| {
        History::open(&records, key, session(fresh)).await.expect("opens").to_string()
    };
    assert_eq!(open(&key("ann", None), "s1").await, "s1");
    assert_eq!(open(&key("ann", None), "s2").await, "s1");
    assert_eq!(open(&key("ann", Some("t")), "s3").await, "s3");
    assert_eq!(open(&key("bob", None), "s4").await, "s4");
    assert_eq!(records.start(&key("ann", None), session("s5")).await, Ok(session("s5")));
    assert_eq!(open(&key("ann", None), "s6").await, "s5");
    assert!(records.start(&key("ann", None), session("s1")).await.is_err());
}

#[tokio::test]
async fn whole_turns_come_back_oldest_first_after_reopening() {
    let home = Home::new();
    let one = session("s1");
    let records = home.open();
    History::open(&records, &key("ann", None), one.clone()).await.expect("opens");
    History::append(&records, &one, &turn("t1"), &[user("a"), says("b")]).await.expect("stores");
    for message in with_tool("c") {
        History::append(&records, &one, &turn("t2"), &[message]).await.expect("stores");
    }
    History::append(&records, &one, &turn("t3"), &[user("d")]).await.expect("stores");
    History::append(&records, &one, &turn("t1"), &[says("late")]).await.expect("stores");
    drop(records);
    let records = home.open();
    let first = Turn { id: turn("t1"), messages: vec![user("a"), says("b"), says("late")] };
    let second = Turn { id: turn("t2"), messages: with_tool("c") };
    let third = Turn { id: turn("t3"), messages: vec![user("d")] };
    assert_eq!(records.recent(&one, 2).await, Ok(vec![second.clone(), third.clone()]));
    assert_eq!(records.recent(&one, 50).await, Ok(vec![first, second, third]));
    assert_eq!(records.recent(&one, 0).await, Ok(vec![]));
    assert_eq!(records.recent(&session("none"), 5).await, Ok(vec![]));
    let transcript = records.transcript(&one).await.expect("reads");
    assert_eq!(transcript.len(), 8);
    assert_eq!(transcript[7], TranscriptMessage { turn: turn("t1"), at_ms: NOW_MS, message: says("late") });
    assert!(matches!(records.transcript(&session("none")).await, Err(RecordsError::NoSession(_))));
    let listed = records.sessions().await.expect("reads");
    let expected = SessionSummary { id: one, key: key("ann", None), updated_at_ms: NOW_MS, turns: 3 };
    assert_eq!(listed, vec![expected]);
}

#[tokio::test]
async fn what_makes_no_turn_is_refused_and_leaves_nothing() {
    let home = Home::new();
    let records = home.open();
    let one = session("s1");
    History::open(&records, &key("ann", None), one.clone()).await.expect("opens");
    let refused = async |id: &SessionId, messages: &[Message]| {
        History::append(&records, id, &turn("t1"), messages).await.expect_err("refused").to_string()
    };
    assert!(refused(&one, &[says("a"), user("b")]).await.contains("begins with the message of a person"));
    assert!(refused(&session("none"), &[user("a")]).await.contains("no such session"));
    assert!(History::append(&records, &one, &turn("t1"), &[]).await.is_ok());
    assert_eq!(records.recent(&one, 5).await, Ok(vec![]));
}

#[tokio::test]
async fn sessions_do_not_see_each_other() {
    let home = Home::new();
    let records = home.open();
    for (id, sender) in [("s1", "ann"), ("s2", "bob")] {
        History::open(&records, &key(sender, None), session(id)).await.expect("opens");
        History::append(&records, &session(id), &turn("t1"), &[user(sender)]).await.expect("stores");
    }
    for (id, sender) in [("s1", "ann"), ("s2", "bob")] {
        let expected = Turn { id: turn("t1"), messages: vec![user(sender)] };
        assert_eq!(records.recent(&session(id), 5).await, Ok(vec![expected]));
    }
}
