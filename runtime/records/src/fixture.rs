//! What do the tests stand on? A folder with a database in it, a clock that stands still, and entries to write.

use std::{fs, path::PathBuf, sync::Arc};

use chitin_ports::{Audit, AuditEntry, AuditKind, Clock, Receipt};
use serde_json::json;
use tempfile::TempDir;

use crate::Records;

/// The time in every test.
pub(crate) const NOW_MS: u64 = 1_000;

struct Still;

impl Clock for Still {
    fn now_ms(&self) -> u64 {
        NOW_MS
    }
}

/// A folder that goes away with the test.
pub(crate) struct Home(TempDir);

impl Home {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// A file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Its records.
    pub(crate) fn open(&self) -> Records {
        Records::open(&self.file("state.db"), [7; 32], Arc::new(Still)).expect("opens")
    }

    /// How often these bytes stand in its files, whichever they are.
    pub(crate) fn count(&self, bytes: &[u8]) -> usize {
        let files = fs::read_dir(self.0.path()).expect("lists").map(|entry| entry.expect("an entry").path());
        files.map(|path| fs::read(path).expect("reads").windows(bytes.len()).filter(|w| *w == bytes).count()).sum()
    }

    /// A connection that bypasses the records, as a thief would use.
    pub(crate) fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file("state.db")).expect("opens")
    }
}

/// The nth entry.
pub(crate) fn entry(n: usize) -> AuditEntry {
    AuditEntry::new(AuditKind::Decision, "core/fs", "allow").detail(json!({ "n": n }))
}

/// Adds one entry.
pub(crate) fn add(records: &Records, entry: AuditEntry) -> Receipt {
    Audit::append(records, entry)
}

/// Adds entries with these numbers and waits for the last; the ones before it are on disk by then.
pub(crate) async fn add_all(records: &Records, numbers: std::ops::RangeInclusive<usize>) {
    let receipts: Vec<Receipt> = numbers.map(|n| add(records, entry(n))).collect();
    for receipt in receipts {
        receipt.durable().await.expect("durable");
    }
}
