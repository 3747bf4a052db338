//! How is a dialogue stored? Sessions, turns and messages as rows; whole turns come back, oldest first.
//!
//! A turn is the unit: it begins with a person's message, and it is read as a whole or not at all, so that no tool call
//! loses its result. Each change first asks whether it makes sense and writes only then; a change that is refused
//! leaves the transaction, which it shares with others, as it was.

use std::collections::BTreeMap;

use chitin_ports::{PortError, SessionKey, SessionSummary};
use chitin_types::{Message, SessionId, Turn, TurnId};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::{RecordsError, schema, writer::Reply};

/// One stored message, for showing and exporting a dialogue.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptMessage {
    /// The turn that it belongs to.
    pub turn: TurnId,
    /// Milliseconds since 1970 at which it was stored.
    pub at_ms: u64,
    /// What was said.
    pub message: Message,
}

/// Messages that are to be added to a turn.
pub(crate) struct Addition {
    session: SessionId,
    turn: TurnId,
    at_ms: u64,
    begins_with_person: bool,
    rows: Vec<(&'static str, String)>,
}

impl Addition {
    /// Turns messages into rows, before they are handed to the writer.
    ///
    /// # Errors
    /// A message is too large.
    pub(crate) fn new(session: &SessionId, turn: &TurnId, messages: &[Message], at_ms: u64) -> Result<Self, PortError> {
        let begins_with_person = matches!(messages.first(), Some(Message::User { .. }));
        let rows = messages.iter().map(row_of).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { session: session.clone(), turn: turn.clone(), at_ms, begins_with_person, rows })
    }
}

/// The newest session with this key, else the fresh one, stored.
///
/// # Errors
/// The database failed.
pub(crate) fn open(
    connection: &Connection,
    key: &SessionKey,
    fresh: &SessionId,
    at_ms: u64,
) -> Result<Reply, rusqlite::Error> {
    let found: Option<String> = connection
        .prepare_cached(
            "SELECT id FROM sessions WHERE channel = ?1 AND reply_target = ?2 AND thread IS ?3 AND sender = ?4
             ORDER BY n DESC LIMIT 1",
        )?
        .query_row((&key.channel, &key.reply_target, &key.thread, &key.sender), |row| row.get(0))
        .optional()?;
    match found {
        Some(id) => Ok(SessionId::parse(id).map(Some).map_err(|error| PortError(format!("open the session: {error}")))),
        None => start(connection, key, fresh, at_ms),
    }
}

/// Stores a fresh session.
///
/// # Errors
/// The database failed.
pub(crate) fn start(
    connection: &Connection,
    key: &SessionKey,
    fresh: &SessionId,
    at_ms: u64,
) -> Result<Reply, rusqlite::Error> {
    let at_ms = schema::to_sql(at_ms);
    let added = connection
        .prepare_cached(
            "INSERT INTO sessions (id, channel, reply_target, thread, sender, created_ms, updated_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT (id) DO NOTHING",
        )?
        .execute((fresh.as_str(), &key.channel, &key.reply_target, &key.thread, &key.sender, at_ms))?;
    if added == 0 {
        return Ok(Err(PortError(format!("start the session {fresh}: there is one with this id"))));
    }
    Ok(Ok(Some(fresh.clone())))
}

/// Adds messages to a turn, which begins here when it is new.
///
/// # Errors
/// The database failed.
pub(crate) fn append(connection: &Connection, addition: &Addition) -> Result<Reply, rusqlite::Error> {
    let (session, turn) = (addition.session.as_str(), addition.turn.as_str());
    let refused = |why: &str| Ok(Err(PortError(format!("store messages of session {session}: {why}"))));
    if !connection.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?.exists([session])? {
        return refused("there is no such session");
    }
    let is_new =
        !connection.prepare_cached("SELECT 1 FROM turns WHERE session = ?1 AND id = ?2")?.exists([session, turn])?;
    if is_new && !addition.begins_with_person {
        return refused("a turn begins with the message of a person");
    }
    let mut seq: i64 = connection
        .prepare_cached("SELECT coalesce(max(seq), 0) FROM messages WHERE session = ?1")?
        .query_row([session], |row| row.get(0))?;
    let at_ms = schema::to_sql(addition.at_ms);
    if is_new {
        connection.prepare_cached("INSERT INTO turns (session, id, first_seq) VALUES (?1, ?2, ?3)")?.execute((
            session,
            turn,
            seq + 1,
        ))?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO messages (session, turn, seq, role, body, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (role, body) in &addition.rows {
        seq += 1;
        insert.execute((session, turn, seq, role, body, at_ms))?;
    }
    connection
        .prepare_cached("UPDATE sessions SET updated_ms = max(updated_ms, ?2) WHERE id = ?1")?
        .execute((session, at_ms))?;
    Ok(Ok(None))
}

/// The newest whole turns of a session, oldest first.
///
/// # Errors
/// The database failed, or a row holds what we never write.
pub(crate) fn recent(
    connection: &Connection,
    session: &SessionId,
    turns_max: usize,
) -> Result<Vec<Turn>, RecordsError> {
    let snapshot = connection.unchecked_transaction()?;
    let limit = i64::try_from(turns_max).unwrap_or(i64::MAX);
    let mut newest = snapshot
        .prepare_cached("SELECT id, first_seq FROM turns WHERE session = ?1 ORDER BY first_seq DESC LIMIT ?2")?
        .query_map((session.as_str(), limit), |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?
        .collect::<Result<Vec<_>, _>>()?;
    newest.reverse();
    let Some((_, first_seq)) = newest.first() else { return Ok(Vec::new()) };
    // A turn outside of the limit may have gone on after the first one inside began; its messages stay out.
    let mut turns: BTreeMap<String, Vec<Message>> = newest.iter().map(|(id, _)| (id.clone(), Vec::new())).collect();
    let mut select =
        snapshot.prepare_cached("SELECT turn, body FROM messages WHERE session = ?1 AND seq >= ?2 ORDER BY seq")?;
    let mut rows = select.query((session.as_str(), first_seq))?;
    while let Some(row) = rows.next()? {
        let turn: String = row.get(0)?;
        if let Some(messages) = turns.get_mut(&turn) {
            messages.push(serde_json::from_str(&row.get::<_, String>(1)?)?);
        }
    }
    newest
        .into_iter()
        .map(|(id, _)| {
            let messages = turns.remove(&id).unwrap_or_default();
            Ok(Turn { id: TurnId::parse(id)?, messages })
        })
        .collect()
}

/// Everything that was said in a session, oldest first.
///
/// # Errors
/// There is no such session, the database failed, or a row holds what we never write.
pub(crate) fn transcript(connection: &Connection, session: &SessionId) -> Result<Vec<TranscriptMessage>, RecordsError> {
    let snapshot = connection.unchecked_transaction()?;
    if !snapshot.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?.exists([session.as_str()])? {
        return Err(RecordsError::NoSession(session.clone()));
    }
    let mut select =
        snapshot.prepare_cached("SELECT turn, at_ms, body FROM messages WHERE session = ?1 ORDER BY seq")?;
    let mut rows = select.query([session.as_str()])?;
    let mut said = Vec::new();
    while let Some(row) = rows.next()? {
        said.push(TranscriptMessage {
            turn: TurnId::parse(row.get::<_, String>(0)?)?,
            at_ms: schema::from_sql(row.get(1)?),
            message: serde_json::from_str(&row.get::<_, String>(2)?)?,
        });
    }
    Ok(said)
}

/// Every session, the one that was spoken in last first.
///
/// # Errors
/// The database failed, or a row holds what we never write.
pub(crate) fn sessions(connection: &Connection) -> Result<Vec<SessionSummary>, RecordsError> {
    let mut select = connection.prepare_cached(
        "SELECT id, channel, reply_target, thread, sender, updated_ms,
                (SELECT count(*) FROM turns WHERE turns.session = sessions.id)
         FROM sessions ORDER BY updated_ms DESC, n DESC",
    )?;
    let mut rows = select.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(summary_of(row)?);
    }
    Ok(found)
}

fn summary_of(row: &Row<'_>) -> Result<SessionSummary, RecordsError> {
    Ok(SessionSummary {
        id: SessionId::parse(row.get::<_, String>(0)?)?,
        key: SessionKey { channel: row.get(1)?, reply_target: row.get(2)?, thread: row.get(3)?, sender: row.get(4)? },
        updated_at_ms: schema::from_sql(row.get(5)?),
        turns: schema::from_sql(row.get(6)?),
    })
}

fn row_of(message: &Message) -> Result<(&'static str, String), PortError> {
    let refused = |why: String| PortError(format!("store a message: {why}"));
    let body = serde_json::to_string(message).map_err(|error| refused(error.to_string()))?;
    if body.len() > MESSAGE_BYTES_MAX {
        return Err(refused(format!("it has {} bytes and {MESSAGE_BYTES_MAX} are allowed", body.len())));
    }
    let role = match message {
        Message::User { .. } => "user",
        Message::Assistant { .. } => "assistant",
        Message::Tool { .. } => "tool",
    };
    Ok((role, body))
}

/// One message. Above every limit of a tool's output, and far below what SQLite refuses.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
