//! Do the questions about the log get whole answers, and can nobody edit it in passing?

use chitin_ports::AuditKind;
use chitin_types::SessionId;

use super::*;
use crate::fixture::{Home, NOW_MS, add, add_all, entry};

fn seqs(records: &[AuditRecord]) -> Vec<u64> {
    records.iter().map(|record| record.seq).collect()
}

#[tokio::test]
async fn tail_and_since_give_windows_in_order() {
    let home = Home::new();
    let records = home.open();
    add_all(&records, 1..=5).await;
    assert_eq!(seqs(&records.audit_tail(2).await.expect("reads")), [4, 5]);
    assert_eq!(seqs(&records.audit_tail(9).await.expect("reads")), [1, 2, 3, 4, 5]);
    assert_eq!(seqs(&records.audit_since(0, 2).await.expect("reads")), [1, 2]);
    assert_eq!(seqs(&records.audit_since(3, 9).await.expect("reads")), [4, 5]);
    assert_eq!(seqs(&records.audit_since(5, 9).await.expect("reads")), Vec::<u64>::new());
}

#[tokio::test]
async fn a_call_is_found_with_everything_that_was_said_of_it() {
    let home = Home::new();
    let records = home.open();
    let (one, two) = (CallId::parse("c1").expect("an id"), CallId::parse("c2").expect("an id"));
    let session = SessionId::parse("s1").expect("an id");
    let decision = entry(1).rule("call:read").session(Some(&session)).call(&one);
    let outcome = AuditEntry::new(AuditKind::Outcome, "core/fs", "done").call(&one);
    add(&records, decision.clone()).later();
    add(&records, entry(2).call(&two)).later();
    add(&records, entry(3)).later();
    add(&records, outcome.clone()).later();
    let expected = [(1, decision), (4, outcome)].map(|(seq, entry)| AuditRecord { seq, at_ms: NOW_MS, entry }).to_vec();
    assert_eq!(records.audit_of_call(&one).await.expect("reads"), expected);
}

#[tokio::test]
async fn the_table_refuses_changes() {
    let home = Home::new();
    let records = home.open();
    add_all(&records, 1..=2).await;
    let raw = home.raw();
    for sql in ["UPDATE audit SET body = '{}'", "DELETE FROM audit", "UPDATE audit SET seq = 9 WHERE seq = 1"] {
        let error = raw.execute(sql, []).expect_err("append-only");
        assert!(error.to_string().contains("append-only"), "{sql}: {error}");
    }
    assert_eq!(records.verify_audit().await.map(|report| report.records), Ok(2));
}
