//! Does a database of an earlier version come up to date with everything that was in it?

use chitin_ports::{Audit, AuditEntry, AuditKind, History, Inbox, KeyValue, Origin, Recall};
use rusqlite::Connection;

use super::*;
use crate::fixture::Home;

const SESSION: &str = "
INSERT INTO sessions (id, channel, reply_target, thread, sender, created_ms, updated_ms)
    VALUES ('s1', 'terminal', 'here', NULL, 'ann', 5, 6);
INSERT INTO turns (session, id, first_seq) VALUES ('s1', 't1', 1);
";

#[tokio::test]
async fn a_database_of_the_first_version_keeps_its_data_and_leaves_a_backup() {
    let home = Home::new();
    let mut first = Connection::open(home.file("state.db")).expect("opens");
    Migrations::from_slice(&VERSIONS[..1]).to_latest(&mut first).expect("migrates");
    first.execute_batch(SESSION).expect("inserts");
    drop(first);

    let records = home.open();
    let sessions = records.sessions().await.expect("reads");
    let found: Vec<_> = sessions.iter().map(|s| (s.id.as_str(), s.key.sender.as_str(), s.turns)).collect();
    assert_eq!(found, [("s1", "ann", 1)]);
    Audit::append(&records, AuditEntry::new(AuditKind::Key, "k", "made")).durable().await.expect("durable");
    assert_eq!(records.emit("webhook", &[], Some("c")).await, Ok(0));
    assert_eq!(records.set("core/a", "", "k", b"v", 10).await, Ok(()));
    let origin = Origin { who: "owner".to_owned(), call: None };
    assert!(records.remember("a text", "notes", &origin).await.is_ok());
    drop(records);

    let version = |name: &str| -> i32 {
        let connection = Connection::open(home.file(name)).expect("opens");
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a number")
    };
    assert_eq!((version("state.db"), version("state.db.backup-v1")), (2, 1));
    let backup = Connection::open(home.file("state.db.backup-v1")).expect("opens");
    let rows: i64 = backup.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0)).expect("counts");
    assert_eq!(rows, 1);
}

#[test]
fn every_version_applies_to_an_empty_file() {
    for migrations in [migrations(), secret_migrations()] {
        migrations.validate().expect("applies");
    }
}

#[test]
fn the_files_name_themselves() {
    for (id, name, schema) in [(APPLICATION_ID, b"chtn", FIRST), (SECRETS_APPLICATION_ID, b"chts", SECRETS_FIRST)] {
        assert_eq!(id, i32::from_be_bytes(*name));
        assert!(schema.contains(&format!("PRAGMA application_id = {id};")));
    }
}
