//! How does one audit record hang on the one before? Records go in; each gets a hash over itself and the last hash, and
//! the end of the chain gets a seal.
//!
//! ```text
//!   record n:  hash(n) = MAC(link key, hash(n - 1) ‖ body(n))      body holds its own number and time
//!   head:      mac     = MAC(head key, n ‖ hash(n))                in the same transaction as record n
//!   anchor:    mac     = MAC(anchor key, n ‖ hash(n))              in a file of its own, after the commit
//! ```
//!
//! The keys come from the home key, so whoever can write the database but not read that key can make no link that fits.

use chitin_ports::{AuditEntry, PortError};
use chitin_types::canonical::canonical;
use hmac::{Hmac, KeyInit, Mac};
use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::Value;
use sha2::Sha256;

use crate::schema;

/// A place in the chain: the number of a record and its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The number of the record; 0 before the first.
    pub(crate) seq: u64,
    /// Its hash; zeros before the first.
    pub(crate) hash: [u8; 32],
}

impl Mark {
    /// Before the first record.
    pub(crate) const GENESIS: Self = Self { seq: 0, hash: [0; 32] };
}

/// What a seal is for. Each has a key of its own, so that a seal of one never passes for the other.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Seal {
    /// The row in the database.
    Head,
    /// The file beside it.
    Anchor,
}

/// The keys of the chain.
#[derive(Clone)]
pub(crate) struct Keys {
    link: [u8; 32],
    head: [u8; 32],
    anchor: [u8; 32],
}

impl Keys {
    /// The keys that belong to this home.
    pub(crate) fn derive(home_key: &[u8; 32]) -> Self {
        let key = |label: &str| derived(home_key, label);
        Self { link: key("audit-link-v1"), head: key("audit-head-v1"), anchor: key("audit-anchor-v1") }
    }

    /// The hash of a record.
    pub(crate) fn link(&self, prev: &[u8; 32], body: &str) -> [u8; 32] {
        finish(keyed(&self.link, &[prev, body.as_bytes()]))
    }

    /// Whether this is the hash of a record. Takes the same time for every wrong hash.
    pub(crate) fn links(&self, prev: &[u8; 32], body: &str, hash: &[u8; 32]) -> bool {
        keyed(&self.link, &[prev, body.as_bytes()]).verify_slice(hash).is_ok()
    }

    /// The seal of a place in the chain.
    pub(crate) fn seal(&self, what: Seal, mark: &Mark) -> [u8; 32] {
        finish(self.seal_of(what, mark))
    }

    /// Whether this is the seal of a place in the chain.
    pub(crate) fn seals(&self, what: Seal, mark: &Mark, mac: &[u8]) -> bool {
        self.seal_of(what, mark).verify_slice(mac).is_ok()
    }

    fn seal_of(&self, what: Seal, mark: &Mark) -> Hmac<Sha256> {
        let key = match what {
            Seal::Head => &self.head,
            Seal::Anchor => &self.anchor,
        };
        keyed(key, &[&mark.seq.to_be_bytes(), &mark.hash])
    }
}

/// The end of the chain while one transaction makes it longer.
pub(crate) struct Tip {
    mark: Mark,
    stored: Mark,
}

impl Tip {
    /// The end of the stored chain, or nothing when the last record and the sealed head disagree: such a chain is not
    /// made longer, because a new head would cover up what happened to the old one.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) fn load(connection: &Connection, keys: &Keys) -> Result<Option<Self>, rusqlite::Error> {
        let last = connection
            .prepare_cached("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")?
            .query_row([], mark_of)
            .optional()?;
        let head = stored_head(connection)?;
        Ok(match (last, head) {
            (None, None) => Some(Self { mark: Mark::GENESIS, stored: Mark::GENESIS }),
            (Some(last), Some((head, mac))) if last == head && keys.seals(Seal::Head, &head, &mac) => {
                Some(Self { mark: last, stored: last })
            }
            (Some(_), _) | (None, Some(_)) => None,
        })
    }

    /// The newest record.
    pub(crate) fn mark(&self) -> Mark {
        self.mark
    }

    /// Adds one record. The inner error is about this entry alone: it is too large, or no JSON.
    ///
    /// # Errors
    /// The database failed, and with it the transaction.
    pub(crate) fn append(
        &mut self,
        connection: &Connection,
        keys: &Keys,
        entry: &AuditEntry,
        at_ms: u64,
    ) -> Result<Result<(), PortError>, rusqlite::Error> {
        let seq = self.mark.seq + 1;
        let body = match body_of(entry, seq, at_ms) {
            Ok(body) => body,
            Err(error) => return Ok(Err(error)),
        };
        let hash = keys.link(&self.mark.hash, &body);
        connection
            .prepare_cached("INSERT INTO audit (seq, at_ms, body, prev, hash) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute((schema::to_sql(seq), schema::to_sql(at_ms), &body, self.mark.hash, hash))?;
        self.mark = Mark { seq, hash };
        Ok(Ok(()))
    }

    /// Stores the new head, and gives it; nothing when no record was added.
    ///
    /// # Errors
    /// The database failed, and with it the transaction.
    pub(crate) fn store(&self, connection: &Connection, keys: &Keys) -> Result<Option<Mark>, rusqlite::Error> {
        if self.mark == self.stored {
            return Ok(None);
        }
        let mac = keys.seal(Seal::Head, &self.mark);
        connection
            .prepare_cached("INSERT OR REPLACE INTO audit_head (id, seq, hash, mac) VALUES (1, ?1, ?2, ?3)")?
            .execute((schema::to_sql(self.mark.seq), self.mark.hash, mac))?;
        Ok(Some(self.mark))
    }
}

/// The stored head and its seal.
///
/// # Errors
/// The database failed.
pub(crate) fn stored_head(connection: &Connection) -> Result<Option<(Mark, Vec<u8>)>, rusqlite::Error> {
    connection.prepare_cached("SELECT seq, hash, mac FROM audit_head WHERE id = 1")?.query_row([], head_of).optional()
}

/// Thirty-two bytes of a row. Anything else reads as zeros, which no link and no seal fits.
///
/// # Errors
/// There is no such column.
pub(crate) fn bytes_of(row: &Row<'_>, column: usize) -> Result<[u8; 32], rusqlite::Error> {
    Ok(row.get_ref(column)?.as_blob().ok().and_then(|blob| <[u8; 32]>::try_from(blob).ok()).unwrap_or_default())
}

fn mark_of(row: &Row<'_>) -> Result<Mark, rusqlite::Error> {
    Ok(Mark { seq: schema::from_sql(row.get(0)?), hash: bytes_of(row, 1)? })
}

fn head_of(row: &Row<'_>) -> Result<(Mark, Vec<u8>), rusqlite::Error> {
    Ok((mark_of(row)?, row.get_ref(2)?.as_blob().map(<[u8]>::to_vec).unwrap_or_default()))
}

fn body_of(entry: &AuditEntry, seq: u64, at_ms: u64) -> Result<String, PortError> {
    let refused = |why: String| PortError(format!("write the audit record: {why}"));
    let mut value = serde_json::to_value(entry).map_err(|error| refused(error.to_string()))?;
    if let Value::Object(fields) = &mut value {
        fields.insert("seq".to_owned(), seq.into());
        fields.insert("at_ms".to_owned(), at_ms.into());
    }
    let body = canonical(&value);
    if body.len() > BODY_BYTES_MAX {
        return Err(refused(format!("it has {} bytes and {BODY_BYTES_MAX} are allowed", body.len())));
    }
    Ok(body)
}

/// The key of a home for one purpose. Each has its own label, so that none of them opens what another one closed.
pub(crate) fn derived(home_key: &[u8; 32], label: &str) -> [u8; 32] {
    finish(keyed(home_key, &[label.as_bytes()]))
}

fn keyed(key: &[u8; 32], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac
}

fn finish(mac: Hmac<Sha256>) -> [u8; 32] {
    mac.finalize().into_bytes().into()
}

/// One record, so that a tool cannot fill the disk or the queue through the details of its own calls.
const BODY_BYTES_MAX: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use chitin_ports::AuditKind;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_is_canonical_and_holds_its_place() {
        let entry = AuditEntry::new(AuditKind::Decision, "core/fs", "allow").rule("call:read");
        let entry = entry.detail(json!({"b": 1, "a": 2}));
        let expected = concat!(
            r#"{"at_ms":9,"call":null,"detail":{"a":2,"b":1},"kind":"decision","rule":"call:read","#,
            r#""seq":3,"session":null,"subject":"core/fs","verdict":"allow"}"#
        );
        assert_eq!(body_of(&entry, 3, 9), Ok(expected.to_owned()));
        let large = entry.detail(Value::String("x".repeat(BODY_BYTES_MAX)));
        assert!(body_of(&large, 3, 9).is_err());
    }

    #[test]
    fn links_and_seals_fit_only_what_they_were_made_for() {
        let (keys, other) = (Keys::derive(&[1; 32]), Keys::derive(&[2; 32]));
        let hash = keys.link(&[0; 32], "a");
        assert!(keys.links(&[0; 32], "a", &hash));
        assert!(!keys.links(&[1; 32], "a", &hash));
        assert!(!keys.links(&[0; 32], "b", &hash));
        assert!(!other.links(&[0; 32], "a", &hash));
        let mark = Mark { seq: 1, hash };
        let seal = keys.seal(Seal::Head, &mark);
        assert!(keys.seals(Seal::Head, &mark, &seal));
        assert!(!keys.seals(Seal::Anchor, &mark, &seal));
        assert!(!keys.seals(Seal::Head, &Mark { seq: 2, hash }, &seal));
        assert!(!other.seals(Seal::Head, &mark, &seal));
        assert!(!keys.seals(Seal::Head, &mark, &[]));
    }
}
