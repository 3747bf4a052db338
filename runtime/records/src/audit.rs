//! The audit port, and the questions that a person asks of the log: what was last, what came after, what of this call?

use chitin_ports::{Audit, AuditEntry, Receipt};
use chitin_types::CallId;
use rusqlite::{Connection, Params};

use crate::{
    Records, RecordsError, schema,
    verify::{self, AuditFault, AuditReport},
    writer::{Done, Work},
};

/// One record, with its place in the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRecord {
    /// Its number, from 1 without gaps.
    pub seq: u64,
    /// Milliseconds since 1970 at which it was handed in.
    pub at_ms: u64,
    /// What happened.
    pub entry: AuditEntry,
}

impl Audit for Records {
    fn append(&self, entry: AuditEntry) -> Receipt {
        let (done, receipt) = Receipt::pair();
        self.post(Work::Audit { entry, at_ms: self.now_ms() }, Done::Unit(done));
        receipt
    }
}

impl Records {
    /// The newest `records_max` records, oldest first. What was handed in before is included, here and below.
    ///
    /// # Errors
    /// The database failed, or the writer has stopped.
    pub async fn audit_tail(&self, records_max: usize) -> Result<Vec<AuditRecord>, RecordsError> {
        self.flush().await?;
        self.read(move |connection| {
            let sql = "SELECT seq, at_ms, body FROM audit ORDER BY seq DESC LIMIT ?1";
            let mut records = select(connection, sql, [limit(records_max)])?;
            records.reverse();
            Ok(records)
        })
        .await
    }

    /// At most `records_max` records after the one numbered `seq`, oldest first; 0 begins at the first.
    ///
    /// # Errors
    /// The database failed, or the writer has stopped.
    pub async fn audit_since(&self, seq: u64, records_max: usize) -> Result<Vec<AuditRecord>, RecordsError> {
        self.flush().await?;
        self.read(move |connection| {
            let sql = "SELECT seq, at_ms, body FROM audit WHERE seq > ?1 ORDER BY seq LIMIT ?2";
            select(connection, sql, [schema::to_sql(seq), limit(records_max)])
        })
        .await
    }

    /// Everything that is recorded about one call, oldest first.
    ///
    /// # Errors
    /// The database failed, or the writer has stopped.
    pub async fn audit_of_call(&self, call: &CallId) -> Result<Vec<AuditRecord>, RecordsError> {
        self.flush().await?;
        let call = call.to_string();
        self.read(move |connection| {
            let sql = "SELECT seq, at_ms, body FROM audit
                       WHERE json_extract(body, '$.call') = ?1 ORDER BY seq LIMIT ?2";
            select(connection, sql, (call, limit(usize::MAX)))
        })
        .await
    }

    /// Checks the whole chain: every link, the sealed head, the anchor beside the database.
    ///
    /// # Errors
    /// The first record that is not what was written, or where one is missing; also when the log cannot be read.
    pub async fn verify_audit(&self) -> Result<AuditReport, AuditFault> {
        self.flush().await.map_err(|error| AuditFault::unreadable(&error))?;
        let (keys, anchor) = self.chain();
        self.read(move |connection| Ok(verify::verify(connection, &keys, &anchor)))
            .await
            .unwrap_or_else(|error| Err(AuditFault::unreadable(&error)))
    }
}

fn select(connection: &Connection, sql: &str, params: impl Params) -> Result<Vec<AuditRecord>, RecordsError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        let (seq, body) = (schema::from_sql(row.get(0)?), row.get::<_, String>(2)?);
        let entry = serde_json::from_str(&body)
            .map_err(|error| RecordsError::Unreadable(format!("record {seq} of the audit log: {error}")))?;
        records.push(AuditRecord { seq, at_ms: schema::from_sql(row.get(1)?), entry });
    }
    Ok(records)
}

fn limit(records: usize) -> i64 {
    i64::try_from(records.min(RECORDS_MAX)).unwrap_or(i64::MAX)
}

/// Records of one answer, so that a long log is read in pieces and never into memory as a whole.
const RECORDS_MAX: usize = 10_000;

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
