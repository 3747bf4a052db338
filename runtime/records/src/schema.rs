//! Which tables are there? The versions of the schema, oldest first; opening applies the ones that are missing.
//!
//! A released version is never edited: the next change is the next entry of the list.

use rusqlite_migration::{M, Migrations};

/// `chtn`: tells our databases from every other.
pub(crate) const APPLICATION_ID: i32 = 1_667_789_934;

/// Every version, oldest first.
pub(crate) fn migrations() -> Migrations<'static> {
    Migrations::from_slice(VERSIONS)
}

/// A number as SQLite stores it. Times and places in the chain stay far below the limit.
pub(crate) fn to_sql(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A number as it was stored. A negative one was never written by us and reads as zero, which no check accepts.
pub(crate) fn from_sql(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

const VERSIONS: &[M<'static>] = &[M::up(FIRST)];

// The call of a record is found through an index over the body itself: a column of its own would not be under the
// record's hash, and whoever changed it could hide a record from `audit why`.
const FIRST: &str = "
PRAGMA application_id = 1667789934;

CREATE TABLE state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    clean INTEGER NOT NULL
) STRICT;
INSERT INTO state (id, clean) VALUES (1, 1);

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    body TEXT NOT NULL,
    prev BLOB NOT NULL CHECK (length(prev) = 32),
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
CREATE INDEX audit_call ON audit (json_extract(body, '$.call')) WHERE json_extract(body, '$.call') IS NOT NULL;
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
CREATE TABLE audit_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    mac BLOB NOT NULL CHECK (length(mac) = 32)
) STRICT;

CREATE TABLE sessions (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    channel TEXT NOT NULL,
    reply_target TEXT NOT NULL,
    thread TEXT,
    sender TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_key ON sessions (channel, reply_target, thread, sender, n);
CREATE TABLE turns (
    session TEXT NOT NULL REFERENCES sessions (id),
    id TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX turns_order ON turns (session, first_seq);
CREATE TABLE messages (
    session TEXT NOT NULL,
    turn TEXT NOT NULL,
    seq INTEGER NOT NULL,
    role TEXT NOT NULL,
    body TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (session, seq),
    FOREIGN KEY (session, turn) REFERENCES turns (session, id)
) STRICT, WITHOUT ROWID;
";
