//! The inbox port: messages of channels wait here until they are answered, and answers until they are delivered.
//!
//! ```text
//!   row:  answer NULL ─→ answer set, delivered_ms NULL ─→ delivered_ms set      never deleted: the id is remembered
//! ```
//!
//! A step that was taken already is taken again without effect, because after a crash nobody knows whether it was; a
//! step that contradicts an earlier one is refused.

use async_trait::async_trait;
use chitin_ports::{Inbound, Inbox, Letter, PortError, Waiting};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::{Records, RecordsError, schema};

/// What a change came to; the inner error is about it alone, and it changed nothing then.
type Changed<T> = Result<Result<T, PortError>, rusqlite::Error>;

#[async_trait]
impl Inbox for Records {
    async fn emit(&self, channel: &str, messages: &[Inbound], cursor: Option<&str>) -> Result<usize, PortError> {
        check(channel, messages, cursor)?;
        let emission = Emission {
            channel: channel.to_owned(),
            messages: messages.to_vec(),
            cursor: cursor.map(str::to_owned),
            at_ms: schema::to_sql(self.now_ms()),
        };
        self.change(move |connection| store(connection, &emission)).await
    }

    async fn cursor(&self, channel: &str) -> Result<Option<String>, PortError> {
        let channel = channel.to_owned();
        let cursor = self.read(move |connection| {
            let sql = "SELECT cursor FROM cursors WHERE channel = ?1";
            Ok(connection.prepare_cached(sql)?.query_row([channel], |row| row.get(0)).optional()?)
        });
        Ok(cursor.await?)
    }

    async fn waiting(&self, max: usize) -> Result<Vec<Waiting>, PortError> {
        Ok(self.read(move |connection| waiting(connection, max)).await?)
    }

    async fn answer(&self, number: i64, text: &str) -> Result<(), PortError> {
        bounded("an answer", text, ANSWER_BYTES_MAX)?;
        let (text, at_ms) = (text.to_owned(), schema::to_sql(self.now_ms()));
        self.change(move |connection| answer(connection, number, &text, at_ms)).await
    }

    async fn undelivered(&self, max: usize) -> Result<Vec<Letter>, PortError> {
        Ok(self.read(move |connection| undelivered(connection, max)).await?)
    }

    async fn attempt_failed(&self, number: i64) -> Result<(), PortError> {
        self.change(move |connection| count_attempt(connection, number)).await
    }

    async fn delivered(&self, number: i64, receipt: Option<&str>) -> Result<(), PortError> {
        bounded("a receipt", receipt.unwrap_or_default(), NAME_BYTES_MAX)?;
        let (receipt, at_ms) = (receipt.map(str::to_owned), schema::to_sql(self.now_ms()));
        self.change(move |connection| close(connection, number, receipt.as_deref(), at_ms)).await
    }
}

/// What one callback of a channel emitted.
struct Emission {
    channel: String,
    messages: Vec<Inbound>,
    cursor: Option<String>,
    at_ms: i64,
}

fn store(connection: &Connection, emission: &Emission) -> Changed<usize> {
    let Emission { channel, messages, cursor, at_ms } = emission;
    let waiting = connection
        .prepare_cached("SELECT count(*) FROM inbox WHERE channel = ?1 AND answer IS NULL")?
        .query_row([channel], |row| Ok(schema::from_sql(row.get(0)?)))?;
    let more = u64::try_from(messages.len()).unwrap_or(u64::MAX);
    if more > 0 && waiting.saturating_add(more) > WAITING_MAX {
        let why = format!("{waiting} of {channel} have no answer yet and {WAITING_MAX} may wait");
        return Ok(Err(PortError(format!("store messages: {why}"))));
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO inbox (channel, id, sender, target, thread, text, sent_ms, received_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (channel, id) DO NOTHING",
    )?;
    let mut fresh = 0;
    for message in messages {
        let Inbound { id, sender, target, thread, text, sent_at_ms } = message;
        let sent_ms = schema::to_sql(*sent_at_ms);
        fresh += insert.execute((channel, id, sender, target, thread, text, sent_ms, at_ms))?;
    }
    if let Some(cursor) = cursor {
        connection
            .prepare_cached("INSERT OR REPLACE INTO cursors (channel, cursor) VALUES (?1, ?2)")?
            .execute((channel, cursor))?;
    }
    Ok(Ok(fresh))
}

fn answer(connection: &Connection, number: i64, text: &str, at_ms: i64) -> Changed<()> {
    let refused = |why: &str| Ok(Err(PortError(format!("answer message {number}: {why}"))));
    let earlier = connection
        .prepare_cached("SELECT answer FROM inbox WHERE n = ?1")?
        .query_row([number], |row| row.get::<_, Option<String>>(0))
        .optional()?;
    match earlier {
        None => refused("there is none with this number"),
        Some(Some(earlier)) if earlier == text => Ok(Ok(())),
        // Two answers to one message would both be sent.
        Some(Some(_)) => refused("it has another answer already"),
        Some(None) => {
            // Nothing to send is delivered at once.
            let delivered_ms = text.is_empty().then_some(at_ms);
            connection.prepare_cached("UPDATE inbox SET answer = ?2, delivered_ms = ?3 WHERE n = ?1")?.execute((
                number,
                text,
                delivered_ms,
            ))?;
            Ok(Ok(()))
        }
    }
}

fn count_attempt(connection: &Connection, number: i64) -> Changed<()> {
    let counted = connection
        .prepare_cached(
            "UPDATE inbox SET attempts = min(attempts + 1, ?2)
             WHERE n = ?1 AND answer IS NOT NULL AND delivered_ms IS NULL",
        )?
        .execute((number, u32::MAX))?;
    if counted == 0 {
        return Ok(Err(PortError(format!("count an attempt: no answer to message {number} waits for delivery"))));
    }
    Ok(Ok(()))
}

fn close(connection: &Connection, number: i64, receipt: Option<&str>, at_ms: i64) -> Changed<()> {
    let answered =
        connection.prepare_cached("SELECT 1 FROM inbox WHERE n = ?1 AND answer IS NOT NULL")?.exists([number])?;
    if !answered {
        return Ok(Err(PortError(format!("note a delivery: message {number} has no answer"))));
    }
    connection
        .prepare_cached("UPDATE inbox SET delivered_ms = ?3, receipt = ?2 WHERE n = ?1 AND delivered_ms IS NULL")?
        .execute((number, receipt, at_ms))?;
    Ok(Ok(()))
}

fn waiting(connection: &Connection, max: usize) -> Result<Vec<Waiting>, RecordsError> {
    let mut select = connection.prepare_cached(
        "SELECT n, channel, id, sender, target, thread, text, sent_ms FROM inbox
         WHERE answer IS NULL ORDER BY n LIMIT ?1",
    )?;
    let rows = select.query_map([limit(max)], |row| {
        Ok(Waiting { number: row.get(0)?, channel: row.get(1)?, message: message_of(row)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn undelivered(connection: &Connection, max: usize) -> Result<Vec<Letter>, RecordsError> {
    let mut select = connection.prepare_cached(
        "SELECT n, channel, id, sender, target, thread, text, sent_ms, answer, attempts FROM inbox
         WHERE answer IS NOT NULL AND delivered_ms IS NULL ORDER BY n LIMIT ?1",
    )?;
    let rows = select.query_map([limit(max)], |row| {
        let (number, channel, message) = (row.get(0)?, row.get(1)?, message_of(row)?);
        Ok(Letter { number, channel, message, text: row.get(8)?, attempts: row.get(9)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn message_of(row: &Row<'_>) -> Result<Inbound, rusqlite::Error> {
    Ok(Inbound {
        id: row.get(2)?,
        sender: row.get(3)?,
        target: row.get(4)?,
        thread: row.get(5)?,
        text: row.get(6)?,
        sent_at_ms: schema::from_sql(row.get(7)?),
    })
}

fn check(channel: &str, messages: &[Inbound], cursor: Option<&str>) -> Result<(), PortError> {
    let refused = |why: String| Err(PortError(format!("store messages: {why}")));
    bounded("the name of a channel", channel, NAME_BYTES_MAX)?;
    bounded("a cursor", cursor.unwrap_or_default(), CURSOR_BYTES_MAX)?;
    if messages.len() > MESSAGES_MAX {
        return refused(format!("{} came at once and {MESSAGES_MAX} are allowed", messages.len()));
    }
    for message in messages {
        if message.id.is_empty() {
            return refused("one has no id, by which it could be told from others".to_owned());
        }
        for name in [&message.id, &message.sender, &message.target] {
            bounded("an id, sender or target", name, NAME_BYTES_MAX)?;
        }
        bounded("a thread", message.thread.as_deref().unwrap_or_default(), NAME_BYTES_MAX)?;
        bounded("a message", &message.text, TEXT_BYTES_MAX)?;
    }
    Ok(())
}

fn bounded(what: &str, text: &str, bytes_max: usize) -> Result<(), PortError> {
    if text.len() > bytes_max {
        let bytes = text.len();
        return Err(PortError(format!("use the inbox: {what} has {bytes} bytes and {bytes_max} are allowed")));
    }
    Ok(())
}

fn limit(max: usize) -> i64 {
    i64::try_from(max.min(ROWS_MAX)).unwrap_or(i64::MAX)
}

/// Messages of one channel without an answer. A flood is refused here, where the platform can try again later, before
/// it fills the disk.
const WAITING_MAX: u64 = 10_000;
/// Messages of one emission, so that one transaction does not hold up the audit for long.
const MESSAGES_MAX: usize = 1_000;
/// One message; no model reads more at once, and a channel must not fill the disk with one.
const TEXT_BYTES_MAX: usize = 256 * 1024;
/// One answer, the same as one message of a dialogue, so that nothing is answered that cannot be sent.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Ids, senders, rooms, receipts: they are part of indexes, which must stay small.
const NAME_BYTES_MAX: usize = 1024;
/// What a platform gives to go on from; some put a whole state into it.
const CURSOR_BYTES_MAX: usize = 64 * 1024;
/// Rows of one answer. Whoever works them off asks again, and a full inbox must not fill the memory.
const ROWS_MAX: usize = 1_000;

#[cfg(test)]
#[path = "inbox_tests.rs"]
mod tests;
