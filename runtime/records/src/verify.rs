//! Is the audit log what was written? The chain, its head and its anchor go in; the number of records, or the first
//! place that does not fit, comes out.
//!
//! ```text
//!   anchor ── read first: the chain may grow meanwhile, and must never seem shorter than it
//!   record 1 ─ record 2 ─ … ─ record n      each: number, own place and time, hash over it and the one before
//!   anchor within 1..n and equal there, else truncated or altered
//!   head at n and sealed, else altered
//! ```

use std::fmt;

use chitin_types::Digest;
use rusqlite::{Connection, Row};
use serde::Deserialize;

use crate::{
    RecordsError,
    anchor::{Anchor, Anchored},
    chain::{Keys, Mark, Seal, bytes_of, stored_head},
    schema,
};

/// A log that is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditReport {
    /// How many records there are.
    pub records: u64,
    /// The hash of the newest, which stands for all of them; zeros when there is none. Noted elsewhere, it shows later
    /// that this log was put back.
    pub head: Digest,
}

/// The first thing that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the audit log does not verify: {part} {seq} is {what}")]
pub struct AuditFault {
    /// The number of the first record that is not what was written, or that should be there and is not.
    pub seq: u64,
    /// What was done to it.
    pub what: FaultKind,
    /// Whether it shows in the record itself or in one of the two places that remember the end.
    pub part: ChainPart,
}

/// What was done to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// Its content, its link or its seal is another.
    Altered,
    /// It is not there, and later ones are.
    Missing,
    /// It stands in the place of another.
    Reordered,
    /// It was the newest or one of the newest, and is gone.
    Truncated,
    /// It cannot be read; holds why.
    Unreadable(String),
}

/// Where a fault shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainPart {
    /// In a record.
    Record,
    /// In the sealed head, in the database.
    Head,
    /// In the anchor, beside the database.
    Anchor,
}

impl AuditFault {
    /// A log that cannot be read at all.
    pub(crate) fn unreadable(error: &RecordsError) -> Self {
        fault(ChainPart::Record, 0, FaultKind::Unreadable(error.to_string()))
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Altered => f.write_str("altered"),
            Self::Missing => f.write_str("missing"),
            Self::Reordered => f.write_str("reordered"),
            Self::Truncated => f.write_str("truncated"),
            Self::Unreadable(why) => write!(f, "unreadable: {why}"),
        }
    }
}

impl fmt::Display for ChainPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Record => "record",
            Self::Head => "the head at record",
            Self::Anchor => "the anchor at record",
        })
    }
}

/// Checks everything, in one snapshot of the database.
///
/// # Errors
/// The first thing that does not fit.
pub(crate) fn verify(connection: &Connection, keys: &Keys, anchor: &Anchor) -> Result<AuditReport, AuditFault> {
    let anchored = anchor.read(keys);
    let snapshot = connection.unchecked_transaction().map_err(database)?;
    let mut walk = Walk { last: Mark::GENESIS, anchored: None };
    let mut select =
        snapshot.prepare("SELECT seq, at_ms, body, prev, hash FROM audit ORDER BY seq").map_err(database)?;
    let mut rows = select.query([]).map_err(database)?;
    while let Some(row) = rows.next().map_err(database)? {
        let stored = stored_of(row).map_err(database)?;
        walk.step(keys, &stored)?;
        if anchored == Anchored::At(walk.last) {
            walk.anchored = Some(walk.last);
        }
    }
    walk.check_anchor(anchored)?;
    walk.check_head(keys, stored_head(&snapshot).map_err(database)?)?;
    Ok(AuditReport { records: walk.last.seq, head: Digest::from_bytes(walk.last.hash) })
}

/// A record as it lies in the table. What has the wrong type reads as empty, which no link fits.
struct Stored {
    seq: i64,
    at_ms: i64,
    body: String,
    prev: [u8; 32],
    hash: [u8; 32],
}

/// The place and the time that a body says of itself.
#[derive(Deserialize)]
struct Claim {
    seq: u64,
    at_ms: u64,
}

struct Walk {
    last: Mark,
    anchored: Option<Mark>,
}

impl Walk {
    fn step(&mut self, keys: &Keys, stored: &Stored) -> Result<(), AuditFault> {
        let expected = self.last.seq + 1;
        let seq = schema::from_sql(stored.seq);
        if seq != expected {
            // Numbers come in order and only once each, so a wrong one is too large, or was never given by us.
            let what = if seq > expected { FaultKind::Missing } else { FaultKind::Altered };
            return Err(fault(ChainPart::Record, expected, what));
        }
        let links = keys.links(&stored.prev, &stored.body, &stored.hash);
        let what = match serde_json::from_str::<Claim>(&stored.body) {
            Ok(claim) if claim.seq != seq => FaultKind::Reordered,
            Ok(claim) if links && schema::to_sql(claim.at_ms) == stored.at_ms && stored.prev == self.last.hash => {
                self.last = Mark { seq, hash: stored.hash };
                return Ok(());
            }
            Ok(_) | Err(_) => FaultKind::Altered,
        };
        Err(fault(ChainPart::Record, seq, what))
    }

    fn check_anchor(&self, anchored: Anchored) -> Result<(), AuditFault> {
        let last = self.last.seq;
        match anchored {
            Anchored::Absent if last == 0 => Ok(()),
            Anchored::Absent => Err(fault(ChainPart::Anchor, last, FaultKind::Missing)),
            Anchored::Broken => Err(fault(ChainPart::Anchor, last, FaultKind::Altered)),
            Anchored::At(mark) if mark.seq > last => Err(fault(ChainPart::Record, last + 1, FaultKind::Truncated)),
            Anchored::At(mark) if mark == Mark::GENESIS || self.anchored == Some(mark) => Ok(()),
            // Every link fits and this one is another: the log was put back and went on from there.
            Anchored::At(mark) => Err(fault(ChainPart::Record, mark.seq, FaultKind::Altered)),
        }
    }

    fn check_head(&self, keys: &Keys, head: Option<(Mark, Vec<u8>)>) -> Result<(), AuditFault> {
        let last = self.last;
        match head {
            None if last == Mark::GENESIS => Ok(()),
            None => Err(fault(ChainPart::Head, last.seq, FaultKind::Missing)),
            Some((mark, mac)) if !keys.seals(Seal::Head, &mark, &mac) => {
                Err(fault(ChainPart::Head, mark.seq, FaultKind::Altered))
            }
            Some((mark, _)) if mark.seq > last.seq => Err(fault(ChainPart::Record, last.seq + 1, FaultKind::Truncated)),
            Some((mark, _)) if mark == last => Ok(()),
            Some((mark, _)) => Err(fault(ChainPart::Head, mark.seq, FaultKind::Altered)),
        }
    }
}

fn stored_of(row: &Row<'_>) -> Result<Stored, rusqlite::Error> {
    Ok(Stored {
        seq: row.get_ref(0)?.as_i64().unwrap_or_default(),
        at_ms: row.get_ref(1)?.as_i64().unwrap_or_default(),
        body: row.get_ref(2)?.as_str().unwrap_or_default().to_owned(),
        prev: bytes_of(row, 3)?,
        hash: bytes_of(row, 4)?,
    })
}

fn database(error: rusqlite::Error) -> AuditFault {
    AuditFault::unreadable(&RecordsError::from(error))
}

fn fault(part: ChainPart, seq: u64, what: FaultKind) -> AuditFault {
    AuditFault { seq, what, part }
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
