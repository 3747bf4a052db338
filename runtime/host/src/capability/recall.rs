//! What of the assistant's memory may a guest see and change? The scopes that its grant names, for reading and for writing.
//!
//! Grant: `[recall]`. Linked: `chitin:host/recall`. For one call: nothing. A change is in the audit, durably, before it
//! happens; the audit holds the digest of a text and never the text.

use std::sync::Arc;

use chitin_policy::Decision;
use chitin_ports::{Origin, PortError};
use chitin_types::{Denial, Digest, RecallMode, is_scope};
use serde_json::json;

use super::failure;
use crate::{
    state::{CallContext, CallState},
    wit::{
        chitin::host::recall::{self, Memory},
        wire::Failure,
    },
};

type Answer<T> = wasmtime::Result<Result<T, Failure>>;

impl recall::Host for CallState {
    async fn query(&mut self, text: String, scope: Option<String>, limit: u32) -> Answer<Vec<Memory>> {
        let call = Arc::clone(&self.call);
        call.charge()?;
        Ok(query(&call, &text, scope, count(limit)).await)
    }

    async fn remember(&mut self, text: String, scope: String) -> Answer<String> {
        let call = Arc::clone(&self.call);
        call.charge()?;
        Ok(remember(&call, &text, scope).await)
    }

    async fn forget(&mut self, id: String) -> Answer<()> {
        let call = Arc::clone(&self.call);
        call.charge()?;
        Ok(forget(&call, &id).await)
    }

    async fn entries(&mut self, scope: Option<String>, after: Option<String>, limit: u32) -> Answer<Vec<Memory>> {
        let call = Arc::clone(&self.call);
        call.charge()?;
        Ok(entries(&call, scope, after.as_deref(), count(limit)).await)
    }
}

async fn query(call: &CallContext, text: &str, scope: Option<String>, limit: usize) -> Result<Vec<Memory>, Failure> {
    check_text(text)?;
    let scopes = readable(call, scope)?;
    call.look(&rule(&scopes), json!({ "memory": "query", "text": Digest::of(text.as_bytes()) }));
    let found = call.stores.recall.query(text, &scopes, limit).await.map_err(|error| failed(call, &error))?;
    Ok(found.into_iter().map(shown).collect())
}

async fn entries(
    call: &CallContext,
    scope: Option<String>,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Memory>, Failure> {
    after.map_or(Ok(()), check_id)?;
    let scopes = readable(call, scope)?;
    call.look(&rule(&scopes), json!({ "memory": "entries" }));
    let found = call.stores.recall.entries(&scopes, after, limit).await.map_err(|error| failed(call, &error))?;
    Ok(found.into_iter().map(shown).collect())
}

async fn remember(call: &CallContext, text: &str, scope: String) -> Result<String, Failure> {
    check_text(text)?;
    if text.trim().is_empty() {
        return Err(failure::invalid("empty-text", "there is no text to remember".to_owned()));
    }
    let scope = allowed(call, scope, RecallMode::Write)?;
    let detail = json!({ "memory": "remember", "scope": scope, "text": Digest::of(text.as_bytes()) });
    let rule = rule(std::slice::from_ref(&scope));
    call.effect(&rule, detail).await.map_err(|denial| failure::denied(call, denial))?;
    let origin = Origin { who: call.grants.tool().to_string(), call: Some(call.id.to_string()) };
    call.stores.recall.remember(text, &scope, &origin).await.map_err(|error| failed(call, &error))
}

async fn forget(call: &CallContext, id: &str) -> Result<(), Failure> {
    check_id(id)?;
    let scopes = granted(call, RecallMode::Write)?;
    call.effect(&rule(&scopes), json!({ "memory": "forget", "id": id }))
        .await
        .map_err(|denial| failure::denied(call, denial))?;
    // Whether there was such an entry is not told: the guest asked that there be none.
    call.stores.recall.forget(id, &scopes).await.map(|_| ()).map_err(|error| failed(call, &error))
}

/// The scope that was asked for, or every one that may be read.
fn readable(call: &CallContext, scope: Option<String>) -> Result<Vec<String>, Failure> {
    match scope {
        Some(scope) => allowed(call, scope, RecallMode::Read).map(|scope| vec![scope]),
        None => granted(call, RecallMode::Read),
    }
}

fn allowed(call: &CallContext, scope: String, mode: RecallMode) -> Result<String, Failure> {
    if !is_scope(&scope) {
        let message = "a scope is 1 to 48 of a-z, 0-9 and hyphen".to_owned();
        return Err(failure::invalid("bad-scope", message));
    }
    match call.grants.recall(&scope, mode) {
        Decision::Allow { .. } => Ok(scope),
        Decision::Deny(denial) => Err(failure::denied(call, denial)),
    }
}

fn granted(call: &CallContext, mode: RecallMode) -> Result<Vec<String>, Failure> {
    let scopes = call.grants.recall_scopes(mode);
    if scopes.is_empty() {
        let (verb, tool) = (verb(mode), call.grants.tool());
        return Err(failure::denied(
            call,
            Denial {
                rule: "grant:recall".to_owned(),
                reason: format!("no scope of the memory is granted for {verb}"),
                help: Some(format!("chitin tool grant {tool} recall SCOPE:{verb}")),
            },
        ));
    }
    Ok(scopes)
}

fn verb(mode: RecallMode) -> &'static str {
    match mode {
        RecallMode::Read => "read",
        RecallMode::Write => "write",
    }
}

/// The rule as policy spells it, with every scope that it covers.
fn rule(scopes: &[String]) -> String {
    format!("recall:{}", scopes.join(","))
}

fn check_text(text: &str) -> Result<(), Failure> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the text has {} bytes; {TEXT_BYTES_MAX} are taken", text.len());
        return Err(failure::limited("text-too-large", message));
    }
    Ok(())
}

/// The id goes into the audit, so it must be one.
fn check_id(id: &str) -> Result<(), Failure> {
    let plain = id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b':' | b'.'));
    if plain && (1..=ID_BYTES_MAX).contains(&id.len()) {
        return Ok(());
    }
    Err(failure::invalid("bad-id", "that is not an id of the memory".to_owned()))
}

fn count(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(ANSWERS_MAX).clamp(1, ANSWERS_MAX)
}

/// Who stored it is not part of the interface, and a tool has no business with other tools' names.
fn shown(memory: chitin_ports::Memory) -> Memory {
    let chitin_ports::Memory { id, scope, text, stored_at_ms, score, origin: _ } = memory;
    Memory { id, scope, text, stored_at_ms, score }
}

fn failed(call: &CallContext, error: &PortError) -> Failure {
    failure::broken(call, "memory-failed", "the memory", error)
}

/// Longest text in bytes, from the WIT contract: a memory is a note, not a file.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Most entries of one answer, from the WIT contract; at their longest they are 3 MiB.
const ANSWERS_MAX: usize = 50;
/// Longest id in bytes.
const ID_BYTES_MAX: usize = 128;

#[cfg(test)]
#[path = "recall_tests.rs"]
mod tests;
