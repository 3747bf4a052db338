//! Which tables are there? The versions of the schema, oldest first; opening applies the ones that are missing.
//!
//! A released version is never edited: the next change is the next entry of the list.

use rusqlite_migration::{M, Migrations};

/// `chtn`: tells our databases from every other.
pub(crate) const APPLICATION_ID: i32 = 1_667_789_934;
/// `chts`: tells the file of the secrets from the database.
pub(crate) const SECRETS_APPLICATION_ID: i32 = 1_667_789_939;

/// Every version of the database, oldest first.
pub(crate) fn migrations() -> Migrations<'static> {
    Migrations::from_slice(VERSIONS)
}

/// Every version of the file of the secrets, oldest first.
pub(crate) fn secret_migrations() -> Migrations<'static> {
    Migrations::from_slice(SECRET_VERSIONS)
}

/// A number as SQLite stores it. Times and places in the chain stay far below the limit.
pub(crate) fn to_sql(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A number as it was stored. A negative one was never written by us and reads as zero, which no check accepts.
pub(crate) fn from_sql(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

const VERSIONS: &[M<'static>] = &[M::up(FIRST), M::up(SECOND)];
const SECRET_VERSIONS: &[M<'static>] = &[M::up(SECRETS_FIRST)];

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

// - `inbox` is never emptied: the ids in it are what a repeated message is recognised by, however late it comes.
// - `kv_used` is kept by triggers, so that no path to `kv` can forget it, and a quota costs one row and not a sum.
// - `memory_index` keeps the words of its own rows, so that a row can be removed after the way of making words changed.
//   Each word is one token of the `ascii` tokenizer, which splits at ASCII punctuation only. `secure-delete` takes a
//   removed row out of the index at once; without it, the words would stay until some later merge.
const SECOND: &str = "
CREATE TABLE inbox (
    n INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    id TEXT NOT NULL,
    sender TEXT NOT NULL,
    target TEXT NOT NULL,
    thread TEXT,
    text TEXT NOT NULL,
    sent_ms INTEGER NOT NULL,
    received_ms INTEGER NOT NULL,
    answer TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    delivered_ms INTEGER,
    receipt TEXT,
    UNIQUE (channel, id)
) STRICT;
CREATE INDEX inbox_waiting ON inbox (n) WHERE answer IS NULL;
CREATE INDEX inbox_waiting_of_channel ON inbox (channel) WHERE answer IS NULL;
CREATE INDEX inbox_undelivered ON inbox (n) WHERE answer IS NOT NULL AND delivered_ms IS NULL;
CREATE TABLE cursors (
    channel TEXT NOT NULL PRIMARY KEY,
    cursor TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE kv (
    owner TEXT NOT NULL,
    bucket TEXT NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (owner, bucket, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE kv_used (
    owner TEXT NOT NULL PRIMARY KEY,
    bytes INTEGER NOT NULL,
    entries INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER kv_insert AFTER INSERT ON kv BEGIN
    INSERT INTO kv_used (owner, bytes, entries)
        VALUES (NEW.owner, octet_length(NEW.key) + octet_length(NEW.value), 1)
        ON CONFLICT (owner) DO UPDATE SET bytes = bytes + excluded.bytes, entries = entries + 1;
END;
CREATE TRIGGER kv_update AFTER UPDATE OF value ON kv BEGIN
    UPDATE kv_used SET bytes = bytes + octet_length(NEW.value) - octet_length(OLD.value) WHERE owner = NEW.owner;
END;
CREATE TRIGGER kv_delete AFTER DELETE ON kv BEGIN
    UPDATE kv_used SET bytes = bytes - octet_length(OLD.key) - octet_length(OLD.value), entries = entries - 1
        WHERE owner = OLD.owner;
END;

CREATE TABLE memories (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    text TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    origin TEXT NOT NULL,
    call TEXT,
    stored_ms INTEGER NOT NULL,
    UNIQUE (scope, hash)
) STRICT;
CREATE VIRTUAL TABLE memory_index USING fts5 (words, tokenize = 'ascii');
INSERT INTO memory_index (memory_index, rank) VALUES ('secure-delete', 1);
";

// The names are no secrets: they stand in policies. The values are never in the file but encrypted.
const SECRETS_FIRST: &str = "
PRAGMA application_id = 1667789939;

CREATE TABLE secrets (
    name TEXT NOT NULL PRIMARY KEY,
    nonce BLOB NOT NULL,
    sealed BLOB NOT NULL,
    set_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
