//! Is a message there until it is answered, an answer until it is delivered, and neither of them twice?

use super::*;
use crate::fixture::Home;

fn message(id: &str, text: &str) -> Inbound {
    Inbound {
        id: id.to_owned(),
        sender: "ann".to_owned(),
        target: "room".to_owned(),
        thread: (id == "m2").then(|| "thread".to_owned()),
        text: text.to_owned(),
        sent_at_ms: 77,
    }
}

async fn texts(records: &Records) -> Vec<String> {
    records.waiting(100).await.expect("reads").into_iter().map(|waiting| waiting.message.text).collect()
}

async fn number(records: &Records, id: &str) -> i64 {
    let waiting = records.waiting(100).await.expect("reads");
    waiting.iter().find(|waiting| waiting.message.id == id).expect("waits").number
}

#[tokio::test]
async fn messages_wait_in_their_order_after_reopening() {
    let home = Home::new();
    let records = home.open();
    let messages = [message("m1", "a"), message("m2", "é\0\u{202e}")];
    assert_eq!(records.cursor("webhook").await, Ok(None));
    assert_eq!(records.emit("webhook", &messages, Some("c1")).await, Ok(2));
    assert_eq!(records.emit("mail", &[message("m1", "b")], None).await, Ok(1));
    drop(records);
    let records = home.open();
    let waiting = records.waiting(100).await.expect("reads");
    let expected = [("webhook", messages[0].clone()), ("webhook", messages[1].clone()), ("mail", message("m1", "b"))];
    let found: Vec<_> = waiting.iter().map(|w| (w.channel.as_str(), w.message.clone())).collect();
    assert_eq!(found, expected);
    assert!(waiting.windows(2).all(|pair| pair[0].number < pair[1].number));
    assert_eq!(records.waiting(1).await.expect("reads"), waiting[..1]);
    assert_eq!(records.waiting(0).await, Ok(Vec::new()));
    assert_eq!(records.cursor("webhook").await, Ok(Some("c1".to_owned())));
    assert_eq!(records.cursor("mail").await, Ok(None));
}

#[tokio::test]
async fn a_message_is_taken_once_for_ever() {
    let home = Home::new();
    let records = home.open();
    assert_eq!(records.emit("webhook", &[message("m1", "a"), message("m1", "again")], None).await, Ok(1));
    assert_eq!(records.emit("webhook", &[message("m1", "b"), message("m2", "c")], None).await, Ok(1));
    for id in ["m1", "m2"] {
        let number = number(&records, id).await;
        records.answer(number, "answer").await.expect("answers");
        records.delivered(number, Some("r")).await.expect("delivers");
    }
    drop(records);
    let records = home.open();
    assert_eq!(records.emit("webhook", &[message("m1", "d"), message("m3", "e")], Some("c2")).await, Ok(1));
    assert_eq!(texts(&records).await, ["e"]);
    assert_eq!(records.emit("mail", &[message("m1", "f")], None).await, Ok(1));
    assert_eq!(texts(&records).await, ["e", "f"]);
}

#[tokio::test]
async fn an_emission_that_is_refused_leaves_neither_message_nor_cursor() {
    let home = Home::new();
    let records = home.open();
    let long = "x".repeat(TEXT_BYTES_MAX + 1);
    let name = "x".repeat(NAME_BYTES_MAX + 1);
    let many: Vec<Inbound> = (0..=MESSAGES_MAX).map(|n| message(&format!("n{n}"), "a")).collect();
    let cases: [(&str, Vec<Inbound>, &str); 6] = [
        ("webhook", vec![message("m1", "a"), message("m2", &long)], "a message has 262145 bytes"),
        ("webhook", vec![message("m1", "a"), message("", "b")], "has no id"),
        ("webhook", vec![message("m1", "a"), message(&name, "b")], "an id, sender or target has 1025 bytes"),
        ("webhook", vec![Inbound { thread: Some(name.clone()), ..message("m1", "a") }], "a thread has 1025 bytes"),
        (name.as_str(), vec![message("m1", "a")], "the name of a channel has 1025 bytes"),
        ("webhook", many, "1001 came at once"),
    ];
    for (channel, messages, why) in cases {
        let error = records.emit(channel, &messages, Some("c")).await.expect_err("refused");
        assert!(error.to_string().contains(why), "{error}");
    }
    assert!(records.emit("webhook", &[], Some(&"x".repeat(CURSOR_BYTES_MAX + 1))).await.is_err());
    assert_eq!(texts(&records).await, Vec::<String>::new());
    assert_eq!(records.cursor("webhook").await, Ok(None));
    assert_eq!(records.emit("webhook", &[message("m1", &long[1..])], Some("c")).await, Ok(1));
    assert_eq!(records.cursor("webhook").await, Ok(Some("c".to_owned())));
}

#[tokio::test]
async fn a_flood_of_one_channel_is_refused_and_another_channel_goes_on() {
    let home = Home::new();
    let records = home.open();
    let fill = "WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 9999)
                INSERT INTO inbox (channel, id, sender, target, text, sent_ms, received_ms)
                SELECT 'webhook', printf('f%d', i), 'ann', 'room', 'a', 1, 1 FROM c";
    home.raw().execute(fill, []).expect("fills");
    assert_eq!(records.emit("webhook", &[message("m1", "a")], None).await, Ok(1));
    let error = records.emit("webhook", &[message("m2", "b")], Some("c")).await.expect_err("refused");
    assert!(error.to_string().contains("10000 of webhook have no answer yet"), "{error}");
    assert_eq!(records.cursor("webhook").await, Ok(None));
    assert_eq!(records.emit("webhook", &[], Some("c")).await, Ok(0));
    assert_eq!(records.emit("mail", &[message("m2", "b")], None).await, Ok(1));
}

#[tokio::test]
async fn an_answer_waits_until_it_is_delivered() {
    let home = Home::new();
    let records = home.open();
    records.emit("webhook", &[message("m1", "a"), message("m2", "b")], None).await.expect("stores");
    let (one, two) = (number(&records, "m1").await, number(&records, "m2").await);
    records.answer(two, "to b").await.expect("answers");
    records.answer(one, "to a").await.expect("answers");
    assert_eq!(records.waiting(9).await, Ok(Vec::new()));
    records.attempt_failed(one).await.expect("counts");
    records.attempt_failed(one).await.expect("counts");
    drop(records);
    let records = home.open();
    let letter = |number, message: Inbound, text: &str, attempts| Letter {
        number,
        channel: "webhook".to_owned(),
        message,
        text: text.to_owned(),
        attempts,
    };
    let (first, second) = (letter(one, message("m1", "a"), "to a", 2), letter(two, message("m2", "b"), "to b", 0));
    assert_eq!(records.undelivered(1).await, Ok(vec![first.clone()]));
    assert_eq!(records.undelivered(9).await, Ok(vec![first, second.clone()]));
    records.delivered(one, Some("receipt")).await.expect("delivers");
    assert_eq!(records.undelivered(9).await, Ok(vec![second]));
    records.delivered(two, None).await.expect("gives up");
    assert_eq!(records.undelivered(9).await, Ok(Vec::new()));
    let sql = "SELECT receipt FROM inbox ORDER BY n";
    let raw = home.raw();
    let mut select = raw.prepare(sql).expect("prepares");
    let receipts = select.query_map([], |row| row.get(0)).expect("queries").collect::<Result<Vec<Option<String>>, _>>();
    assert_eq!(receipts.expect("reads"), [Some("receipt".to_owned()), None]);
}

#[tokio::test]
async fn an_empty_answer_is_never_sent() {
    let home = Home::new();
    let records = home.open();
    records.emit("webhook", &[message("m1", "a")], None).await.expect("stores");
    let one = number(&records, "m1").await;
    records.answer(one, "").await.expect("answers");
    assert_eq!(records.waiting(9).await, Ok(Vec::new()));
    assert_eq!(records.undelivered(9).await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_step_can_be_repeated_and_not_contradicted() {
    let home = Home::new();
    let records = home.open();
    records.emit("webhook", &[message("m1", "a")], None).await.expect("stores");
    let one = number(&records, "m1").await;
    assert!(records.attempt_failed(one).await.is_err());
    assert!(records.delivered(one, Some("r")).await.is_err());
    assert!(records.answer(one + 1, "to nobody").await.is_err());
    assert_eq!(records.answer(one, "to a").await, Ok(()));
    assert_eq!(records.answer(one, "to a").await, Ok(()));
    let error = records.answer(one, "another").await.expect_err("refused");
    assert!(error.to_string().contains("another answer already"), "{error}");
    assert_eq!(records.undelivered(9).await.expect("reads")[0].text, "to a");
    assert_eq!(records.delivered(one, Some("r")).await, Ok(()));
    assert_eq!(records.delivered(one, None).await, Ok(()));
    assert!(records.attempt_failed(one).await.is_err());
    let receipt: String = home.raw().query_row("SELECT receipt FROM inbox", [], |row| row.get(0)).expect("reads");
    assert_eq!(receipt, "r");
}
