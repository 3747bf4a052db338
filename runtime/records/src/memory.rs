//! The recall port: texts are stored by scope and found by their words.
//!
//! A text and its words go in and out in one transaction, so the index never knows more or less than the memory.

use async_trait::async_trait;
use chitin_ports::{Memory, Origin, PortError, Recall};
use chitin_types::is_scope;
use rusqlite::{Connection, OptionalExtension, Row};
use sha2::{Digest, Sha256};

use crate::{Records, RecordsError, schema, words};

#[async_trait]
impl Recall for Records {
    async fn query(&self, text: &str, scopes: &[String], limit: usize) -> Result<Vec<Memory>, PortError> {
        let scopes = list_of(scopes)?;
        let text = text.to_owned();
        let limit = i64::try_from(limit.min(FOUND_MAX)).unwrap_or(0);
        Ok(self.read(move |connection| closest(connection, &text, &scopes, limit)).await?)
    }

    async fn entries(&self, scopes: &[String], after: Option<&str>, limit: usize) -> Result<Vec<Memory>, PortError> {
        if limit > ENTRIES_MAX {
            return Err(PortError(format!("list the memory: {limit} at once are too many, {ENTRIES_MAX} are allowed")));
        }
        let scopes = list_of(scopes)?;
        let after = after.unwrap_or_default().to_owned();
        let limit = i64::try_from(limit).unwrap_or(0);
        Ok(self.read(move |connection| entries(connection, &scopes, &after, limit)).await?)
    }

    async fn remember(&self, text: &str, scope: &str, origin: &Origin) -> Result<String, PortError> {
        let draft = Draft::new(text, scope, origin, self.now_ms())?;
        self.change(move |connection| store(connection, &draft)).await
    }

    async fn forget(&self, id: &str, scopes: &[String]) -> Result<bool, PortError> {
        let (id, scopes) = (id.to_owned(), list_of(scopes)?);
        self.change(move |connection| Ok(Ok(remove(connection, &id, &scopes)?))).await
    }
}

/// A text that is to be stored, with its words made before the writer has it.
struct Draft {
    text: String,
    words: String,
    hash: [u8; 32],
    scope: String,
    origin: Origin,
    at_ms: u64,
    random: [u8; 8],
}

impl Draft {
    fn new(text: &str, scope: &str, origin: &Origin, at_ms: u64) -> Result<Self, PortError> {
        let refused = |why: String| Err(PortError(format!("remember the text: {why}")));
        if text.trim().is_empty() {
            return refused("it is empty".to_owned());
        }
        if text.len() > TEXT_BYTES_MAX {
            return refused(format!("it has {} bytes and {TEXT_BYTES_MAX} are allowed", text.len()));
        }
        if !is_scope(scope) {
            return refused("a scope has 1 to 48 of a-z, 0-9 and hyphen".to_owned());
        }
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| RecordsError::Random(error.to_string()))?;
        Ok(Self {
            text: text.to_owned(),
            words: words::indexed(text),
            hash: Sha256::digest(text).into(),
            scope: scope.to_owned(),
            origin: origin.clone(),
            at_ms,
            random,
        })
    }

    /// An id that comes after every other one in the order of texts, also within one millisecond and when the clock was
    /// put back, and that is not given again when the newest entry was forgotten.
    fn id(&self, newest: Option<&str>) -> String {
        let newest = newest.and_then(|id| id.get(..STAMP_DIGITS)).and_then(|stamp| u64::from_str_radix(stamp, 16).ok());
        let now = self.at_ms.saturating_mul(STAMPS_PER_MS);
        let stamp = newest.map_or(now, |newest| now.max(newest.saturating_add(1)));
        format!("{stamp:016x}{}", hex::encode(self.random))
    }
}

fn store(connection: &Connection, draft: &Draft) -> Result<Result<String, PortError>, rusqlite::Error> {
    let stored: Option<String> = connection
        .prepare_cached("SELECT id FROM memories WHERE scope = ?1 AND hash = ?2")?
        .query_row((&draft.scope, draft.hash), |row| row.get(0))
        .optional()?;
    if let Some(id) = stored {
        return Ok(Ok(id));
    }
    let entries = connection
        .prepare_cached("SELECT count(*) FROM memories WHERE scope = ?1")?
        .query_row([&draft.scope], |row| Ok(schema::from_sql(row.get(0)?)))?;
    if entries >= SCOPE_ENTRIES_MAX {
        let why = format!("{} holds {entries} texts already; forget some", draft.scope);
        return Ok(Err(PortError(format!("remember the text: {why}"))));
    }
    let newest: Option<String> =
        connection.prepare_cached("SELECT max(id) FROM memories")?.query_row([], |row| row.get(0))?;
    let id = draft.id(newest.as_deref());
    let Origin { who, call } = &draft.origin;
    let n = connection
        .prepare_cached(
            "INSERT INTO memories (id, scope, text, hash, origin, call, stored_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .insert((&id, &draft.scope, &draft.text, draft.hash, who, call, schema::to_sql(draft.at_ms)))?;
    connection.prepare_cached("INSERT INTO memory_index (rowid, words) VALUES (?1, ?2)")?.execute((n, &draft.words))?;
    Ok(Ok(id))
}

fn remove(connection: &Connection, id: &str, scopes: &str) -> Result<bool, rusqlite::Error> {
    let found: Option<i64> = connection
        .prepare_cached("SELECT n FROM memories WHERE id = ?1 AND scope IN (SELECT value FROM json_each(?2))")?
        .query_row((id, scopes), |row| row.get(0))
        .optional()?;
    let Some(n) = found else { return Ok(false) };
    connection.prepare_cached("DELETE FROM memory_index WHERE rowid = ?1")?.execute([n])?;
    connection.prepare_cached("DELETE FROM memories WHERE n = ?1")?.execute([n])?;
    Ok(true)
}

fn closest(connection: &Connection, text: &str, scopes: &str, limit: i64) -> Result<Vec<Memory>, RecordsError> {
    let Some(query) = words::query(text) else { return Ok(Vec::new()) };
    let found = matching(connection, &query, scopes, limit)?;
    let characters = words::ideographs(text);
    // A question this short is a word, and a word is found as it is written or not at all.
    if !found.is_empty() || characters.len() < CHARACTERS_ASKED_MIN {
        return Ok(found);
    }
    let quoted: Vec<String> = characters.iter().map(|c| format!("\"{c}\"")).collect();
    let mut found = matching(connection, &quoted.join(" OR "), scopes, limit)?;
    let shared = |memory: &Memory| characters.iter().filter(|c| memory.text.contains(**c)).count();
    // One character in common is chance.
    found.retain(|memory| shared(memory) >= CHARACTERS_SHARED_MIN);
    Ok(found)
}

fn matching(connection: &Connection, query: &str, scopes: &str, limit: i64) -> Result<Vec<Memory>, RecordsError> {
    // A cross join is never reordered: the index is asked once for the query, not once for each entry of the scopes.
    let mut select = connection.prepare_cached(
        "SELECT m.id, m.scope, m.text, m.stored_ms, m.origin, -bm25(memory_index)
         FROM memory_index CROSS JOIN memories AS m ON m.n = memory_index.rowid
         WHERE memory_index MATCH ?1 AND m.scope IN (SELECT value FROM json_each(?2))
         ORDER BY bm25(memory_index), m.id DESC LIMIT ?3",
    )?;
    let found = select.query_map((query, scopes, limit), |row| memory_of(row, row.get(5)?))?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn entries(connection: &Connection, scopes: &str, after: &str, limit: i64) -> Result<Vec<Memory>, RecordsError> {
    let mut select = connection.prepare_cached(
        "SELECT id, scope, text, stored_ms, origin FROM memories
         WHERE id > ?1 AND scope IN (SELECT value FROM json_each(?2)) ORDER BY id LIMIT ?3",
    )?;
    let found = select.query_map((after, scopes, limit), |row| memory_of(row, 0.0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn memory_of(row: &Row<'_>, score: f32) -> Result<Memory, rusqlite::Error> {
    Ok(Memory {
        id: row.get(0)?,
        scope: row.get(1)?,
        text: row.get(2)?,
        stored_at_ms: schema::from_sql(row.get(3)?),
        score,
        origin: row.get(4)?,
    })
}

/// The scopes as one parameter of a statement, however many there are.
fn list_of(scopes: &[String]) -> Result<String, PortError> {
    if scopes.len() > SCOPES_MAX {
        let why = format!("{} scopes at once are too many, {SCOPES_MAX} are allowed", scopes.len());
        return Err(PortError(format!("use the memory: {why}")));
    }
    serde_json::to_string(scopes).map_err(|error| PortError(format!("use the memory: {error}")))
}

/// One text: what is longer is a document, and would push everything else out of an answer.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Texts of one scope. A tool that stores in a loop is stopped before it makes the memory useless to its owner.
const SCOPE_ENTRIES_MAX: u64 = 20_000;
/// Characters from which on a question is looked up by single characters.
const CHARACTERS_ASKED_MIN: usize = 3;
/// Characters that a text must share with a question that shares no pair with it.
const CHARACTERS_SHARED_MIN: usize = 2;
/// Texts of one answer; more than these the query asks for nothing in particular.
const FOUND_MAX: usize = 50;
/// Texts of one page of a list, refused and not cut, because a short page says that it is the last.
const ENTRIES_MAX: usize = 1_000;
/// Scopes of one question; a grant names a few.
const SCOPES_MAX: usize = 256;
/// Hexadecimal digits of the part of an id that sorts.
const STAMP_DIGITS: usize = 16;
/// Ids of one millisecond that sort in the order in which they were given.
const STAMPS_PER_MS: u64 = 65_536;

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
