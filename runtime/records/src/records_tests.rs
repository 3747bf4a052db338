//! Is everything that was acknowledged there afterwards, in order, however it was handed in?

use chitin_ports::Receipt;
use futures::future::join_all;
use serde_json::json;

use super::*;
use crate::fixture::{Home, add, add_all, entry};

fn numbers(records: &[crate::AuditRecord]) -> Vec<u64> {
    records.iter().map(|record| record.entry.detail["n"].as_u64().expect("a number")).collect()
}

#[tokio::test]
async fn one_commit_completes_every_receipt_of_its_batch() {
    let home = Home::new();
    let records = home.open();
    let receipts: Vec<Receipt> = (1..=1_000).map(|n| add(&records, entry(n))).collect();
    for result in join_all(receipts.into_iter().map(Receipt::durable)).await {
        assert_eq!(result, Ok(()));
    }
    let stored = records.audit_since(0, 2_000).await.expect("reads");
    assert_eq!(numbers(&stored), (1..=1_000).collect::<Vec<u64>>());
}

#[tokio::test]
async fn dropping_the_last_handle_writes_what_waits_and_reopening_finds_it() {
    let home = Home::new();
    let records = home.open();
    let clone = records.clone();
    drop(records);
    for n in 1..=300 {
        add(&clone, entry(n)).later();
    }
    drop(clone);
    let again = home.open();
    assert_eq!(numbers(&again.audit_tail(1_000).await.expect("reads")), (1..=300).collect::<Vec<u64>>());
    add_all(&again, 301..=301).await;
    assert_eq!(again.verify_audit().await.map(|report| report.records), Ok(301));
    drop(again);
    let clean: i64 = home.raw().query_row("SELECT clean FROM state", [], |row| row.get(0)).expect("reads");
    assert_eq!(clean, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_callers_each_keep_their_order() {
    let home = Home::new();
    let records = home.open();
    let callers = (0..8).map(|caller| {
        let records = records.clone();
        tokio::spawn(async move {
            for n in 0..50 {
                let receipt = add(&records, entry(n).detail(json!({ "caller": caller, "n": n })));
                if n % 7 == 0 {
                    receipt.durable().await.expect("durable");
                } else {
                    receipt.later();
                }
            }
        })
    });
    for caller in join_all(callers).await {
        caller.expect("no panic");
    }
    let stored = records.audit_since(0, 1_000).await.expect("reads");
    assert_eq!(stored.len(), 400);
    for caller in 0..8 {
        let own: Vec<_> = stored.iter().filter(|record| record.entry.detail["caller"] == caller).cloned().collect();
        assert_eq!(numbers(&own), (0..50).collect::<Vec<u64>>());
    }
}

#[tokio::test]
async fn after_closing_everything_fails_at_once() {
    let home = Home::new();
    let records = home.open();
    add_all(&records, 1..=1).await;
    records.close().expect("closes");
    records.close().expect("does nothing");
    let error = add(&records, entry(2)).durable().await.expect_err("closed");
    assert_eq!(error.to_string(), "use the records: the writer has stopped");
    assert!(matches!(records.audit_tail(1).await, Err(RecordsError::Stopped)));
}

#[tokio::test]
async fn a_full_queue_refuses_and_loses_nothing() {
    let home = Home::new();
    let records = home.open();
    let other = home.raw();
    other.execute_batch("BEGIN IMMEDIATE").expect("locks");
    let receipts: Vec<Receipt> = (0..WAITING_MAX + 2_000).map(|n| add(&records, entry(n))).collect();
    other.execute_batch("COMMIT").expect("unlocks");
    let results = join_all(receipts.into_iter().map(Receipt::durable)).await;
    let stored = results.iter().filter(|result| result.is_ok()).count();
    assert!(stored < results.len(), "nothing was refused");
    assert_eq!(records.verify_audit().await.map(|report| report.records), Ok(stored as u64));
}

#[tokio::test]
async fn an_entry_that_is_too_large_fails_alone() {
    let home = Home::new();
    let records = home.open();
    let receipts = [entry(1), entry(2).detail(json!("x".repeat(70_000))), entry(3)].map(|entry| add(&records, entry));
    let results = join_all(receipts.into_iter().map(Receipt::durable)).await;
    assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(records.verify_audit().await.map(|report| report.records), Ok(2));
}

#[tokio::test]
async fn a_change_that_the_database_refuses_fails_and_the_next_one_does_not() {
    let home = Home::new();
    let records = home.open();
    let change = async |sql: &'static str| {
        records.change(move |connection| Ok(Ok::<_, PortError>(connection.execute(sql, [])?))).await
    };
    let error = change("INSERT INTO nowhere VALUES (1)").await.expect_err("no such table");
    assert!(error.to_string().contains("nowhere"), "{error}");
    assert_eq!(change("INSERT INTO cursors VALUES ('webhook', 'c')").await, Ok(1));
    add_all(&records, 1..=1).await;
    assert_eq!(records.verify_audit().await.map(|report| report.records), Ok(1));
}

#[tokio::test]
async fn a_change_that_is_wrong_alone_leaves_its_neighbours() {
    let home = Home::new();
    let records = home.open();
    let receipt = add(&records, entry(1));
    let refused = records.change(|_| Ok(Err::<(), _>(PortError("do it".to_owned()))));
    let made = records.change(|connection| {
        Ok(Ok::<_, PortError>(connection.execute("INSERT INTO cursors VALUES ('webhook', 'c')", [])?))
    });
    let (receipt, refused, made) = tokio::join!(receipt.durable(), refused, made);
    assert_eq!((receipt, refused, made), (Ok(()), Err(PortError("do it".to_owned())), Ok(1)));
}
