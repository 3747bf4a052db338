//! Is every way of changing the past found, and nothing else?

use std::fs;

use super::*;
use crate::{
    Records,
    fixture::{Home, add, add_all, entry},
};

const UNLOCK: &str = "DROP TRIGGER audit_no_update; DROP TRIGGER audit_no_delete;";

async fn six_records() -> Home {
    let home = Home::new();
    let records = home.open();
    add_all(&records, 1..=6).await;
    records.close().expect("closes");
    home
}

async fn found(home: &Home) -> Result<u64, (ChainPart, u64, FaultKind)> {
    let verified = home.open().verify_audit().await;
    verified.map(|report| report.records).map_err(|fault| (fault.part, fault.seq, fault.what))
}

#[tokio::test]
async fn every_change_to_the_database_is_named_at_its_place() {
    let swap = "CREATE TEMP TABLE t AS SELECT * FROM audit;";
    let cases = [
        ("SELECT 1", Ok(6)),
        (
            "UPDATE audit SET body = replace(body, '\"allow\"', '\"deny\"') WHERE seq = 3",
            Err((ChainPart::Record, 3, FaultKind::Altered)),
        ),
        ("UPDATE audit SET at_ms = 5 WHERE seq = 2", Err((ChainPart::Record, 2, FaultKind::Altered))),
        ("UPDATE audit SET hash = zeroblob(32) WHERE seq = 6", Err((ChainPart::Record, 6, FaultKind::Altered))),
        ("UPDATE audit SET body = '{}' WHERE seq = 1", Err((ChainPart::Record, 1, FaultKind::Altered))),
        ("DELETE FROM audit WHERE seq = 1", Err((ChainPart::Record, 1, FaultKind::Missing))),
        ("DELETE FROM audit WHERE seq = 4", Err((ChainPart::Record, 4, FaultKind::Missing))),
        (
            "UPDATE audit SET seq = -1 WHERE seq = 3; UPDATE audit SET seq = 3 WHERE seq = 4;
             UPDATE audit SET seq = 4 WHERE seq = -1;",
            Err((ChainPart::Record, 3, FaultKind::Reordered)),
        ),
        (
            "UPDATE audit SET body = (SELECT body FROM t WHERE t.seq = 7 - audit.seq) WHERE seq IN (3, 4)",
            Err((ChainPart::Record, 3, FaultKind::Reordered)),
        ),
        ("DELETE FROM audit WHERE seq > 4", Err((ChainPart::Record, 5, FaultKind::Truncated))),
        ("DELETE FROM audit; DELETE FROM audit_head", Err((ChainPart::Record, 1, FaultKind::Truncated))),
        (
            "DELETE FROM audit WHERE seq > 4;
             UPDATE audit_head SET seq = 4, hash = (SELECT hash FROM audit WHERE seq = 4);",
            Err((ChainPart::Record, 5, FaultKind::Truncated)),
        ),
        ("UPDATE audit_head SET mac = zeroblob(32)", Err((ChainPart::Head, 6, FaultKind::Altered))),
        ("DELETE FROM audit_head", Err((ChainPart::Head, 6, FaultKind::Missing))),
    ];
    for (sql, expected) in cases {
        let home = six_records().await;
        home.raw().execute_batch(&format!("{UNLOCK} {swap} {sql}")).expect("changes");
        assert_eq!(found(&home).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn an_anchor_that_is_gone_or_forged_is_found() {
    let home = six_records().await;
    let anchor = home.file("audit.anchor");
    let text = fs::read_to_string(&anchor).expect("reads");
    fs::write(&anchor, text.replace(":6,", ":4,")).expect("writes");
    assert_eq!(found(&home).await, Err((ChainPart::Anchor, 6, FaultKind::Altered)));
    fs::remove_file(&anchor).expect("removes");
    assert_eq!(found(&home).await, Err((ChainPart::Anchor, 6, FaultKind::Missing)));
    fs::write(&anchor, text).expect("writes");
    assert_eq!(found(&home).await, Ok(6));
}

#[tokio::test]
async fn an_anchor_that_lags_is_no_fault() {
    let home = Home::new();
    let records = home.open();
    add_all(&records, 1..=3).await;
    records.close().expect("closes");
    let older = fs::read(home.file("audit.anchor")).expect("reads");
    let records = home.open();
    add_all(&records, 4..=6).await;
    records.close().expect("closes");
    fs::write(home.file("audit.anchor"), older).expect("writes");
    assert_eq!(found(&home).await, Ok(6));
}

#[tokio::test]
async fn an_older_copy_of_the_database_is_found_even_after_it_went_on() {
    let home = Home::new();
    let records = home.open();
    add_all(&records, 1..=3).await;
    records.close().expect("closes");
    let older = fs::read(home.file("state.db")).expect("reads");
    let records = home.open();
    add_all(&records, 4..=6).await;
    records.close().expect("closes");
    fs::write(home.file("state.db"), older).expect("writes");
    assert_eq!(found(&home).await, Err((ChainPart::Record, 4, FaultKind::Truncated)));
    let records: Records = home.open();
    add_all(&records, 11..=19).await;
    records.close().expect("closes");
    assert_eq!(found(&home).await, Err((ChainPart::Record, 6, FaultKind::Altered)));
}

#[tokio::test]
async fn a_chain_whose_end_was_changed_is_not_made_longer() {
    let home = six_records().await;
    home.raw().execute_batch(&format!("{UNLOCK} DELETE FROM audit WHERE seq = 6")).expect("changes");
    let records = home.open();
    let error = add(&records, entry(7)).durable().await.expect_err("refused");
    assert!(error.to_string().contains("chitin audit verify"), "{error}");
    records.close().expect("closes");
    assert_eq!(found(&home).await, Err((ChainPart::Record, 6, FaultKind::Truncated)));
}

#[tokio::test]
async fn another_home_key_fits_no_record() {
    let home = six_records().await;
    let keys = Keys::derive(&[8; 32]);
    let anchor = Anchor::beside(&home.file("state.db"));
    let fault = verify(&home.raw(), &keys, &anchor).expect_err("another key");
    assert_eq!((fault.seq, fault.what), (1, FaultKind::Altered));
}

#[tokio::test]
async fn an_empty_log_is_whole() {
    assert_eq!(found(&Home::new()).await, Ok(0));
}
