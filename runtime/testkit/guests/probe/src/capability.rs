//! Every capability of `chitin:host`, used once each.

use chitin_sdk::host::{blobs, recall, run, schedule, secrets, tools};
use chitin_sdk::http::{HttpRequest, Url};
use chitin_sdk::{Call, Failure, Part};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report;

pub(crate) fn run_info() -> Result<Vec<Part>, Failure> {
    run::progress("half way", Some(0.5));
    run::partial(Part::text("ahead of the end"));
    report::value(json!({
        "call_id": run::call_id(),
        "remaining_ms": run::remaining_ms(),
        "cancelled": run::cancelled(),
    }))
}

#[derive(Deserialize)]
struct UseSecret {
    name: String,
    /// Where to send it as a bearer token; without it the stand-in is only reported.
    url: Option<String>,
}

pub(crate) fn use_secret(call: &Call) -> Result<Vec<Part>, Failure> {
    let wanted = call.args::<UseSecret>()?;
    let available = secrets::available(&wanted.name);
    let tried = secrets::token(&wanted.name).and_then(|token| match &wanted.url {
        None => Ok(json!({ "available": available, "token": token })),
        Some(url) => sent(url, &token).map(|body| json!({ "available": available, "token": token, "body": body })),
    });
    report::answer(tried)
}

fn sent(url: &str, token: &str) -> Result<String, Failure> {
    let request = HttpRequest::new("GET", Url::parse(url)?).header("authorization", &format!("Bearer {token}"));
    Ok(String::from_utf8_lossy(&request.send(SENT_BYTES_MAX)?.body).into_owned())
}

#[derive(Deserialize)]
struct Remember {
    text: String,
    #[serde(default = "project")]
    scope: String,
}

/// Stores, looks it up, and forgets it again.
pub(crate) fn remember(call: &Call) -> Result<Vec<Part>, Failure> {
    let wanted = call.args::<Remember>()?;
    let tried = recall::remember(&wanted.text, &wanted.scope).and_then(|id| {
        let found = recall::query(&wanted.text, Some(&wanted.scope), 5)?;
        let texts: Vec<String> = found.into_iter().map(|memory| memory.text).collect();
        recall::forget(&id)?;
        Ok(json!({ "id": id, "found": texts }))
    });
    report::answer(tried)
}

#[derive(Deserialize)]
struct Subcall {
    alias: String,
    #[serde(default)]
    args: Value,
}

pub(crate) fn subcall(call: &Call) -> Result<Vec<Part>, Failure> {
    let wanted = call.args::<Subcall>()?;
    let args = if wanted.args.is_null() { "{}".to_owned() } else { wanted.args.to_string() };
    let tried = tools::call(&wanted.alias, &args, Vec::new());
    report::answer(tried.map(|parts| parts.iter().map(shown).collect()))
}

fn shown(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Data(json) => json!({ "data": json }),
        Part::File(blob) => json!({ "file": blob.name(), "size": blob.size() }),
        Part::Other((kind, _)) => json!({ "other": kind }),
    }
}

pub(crate) fn schedule_add() -> Result<Vec<Part>, Failure> {
    let tried = schedule::add(&schedule::When::Cron("0 7 * * *".to_owned()), "echo", r#"{"text":"good morning"}"#);
    report::answer(tried.and_then(|id| {
        let known = schedule::entries()?.into_iter().any(|entry| entry.id == id);
        schedule::remove(&id)?;
        Ok(json!({ "id": id, "known": known }))
    }))
}

/// A file part on success, since a blob is what the host must take over.
pub(crate) fn make_blob() -> Result<Vec<Part>, Failure> {
    match Part::file("probe.txt", "text/plain", b"bytes of the probe") {
        Ok(file) => Ok(vec![file]),
        Err(refused) => report::answer(Err(refused)),
    }
}

#[derive(Deserialize)]
struct WriteBlob {
    name: String,
    media_type: String,
    kib: usize,
    /// Bytes of one write, in KiB.
    piece_kib: usize,
    /// Sends the file as a partial result instead.
    #[serde(default)]
    partial: bool,
}

/// Writes a file piece by piece, reads its end back, and returns a report and the file.
pub(crate) fn write_blob(call: &Call) -> Result<Vec<Part>, Failure> {
    let wanted = call.args::<WriteBlob>()?;
    match written(&wanted) {
        Err(refused) => report::answer(Err(refused)),
        Ok((said, file)) => {
            let mut parts = report::value(said)?;
            if wanted.partial {
                run::partial(file);
            } else {
                parts.push(file);
            }
            Ok(parts)
        }
    }
}

fn written(wanted: &WriteBlob) -> Result<(Value, Part), Failure> {
    let writer = blobs::create(Some(&wanted.name), Some(&wanted.media_type))?;
    let bytes = vec![b'b'; wanted.kib * 1024];
    for piece in bytes.chunks(wanted.piece_kib.max(1) * 1024) {
        writer.write(piece)?;
    }
    let blob = blobs::BlobWriter::finish(writer)?;
    let end = blob.read(u64::try_from(bytes.len().saturating_sub(1)).unwrap_or(u64::MAX), 16)?;
    let said = json!({ "name": blob.name(), "media_type": blob.media_type(), "size": blob.size(), "end": end.len() });
    Ok((said, Part::File(blob)))
}

fn project() -> String {
    "project".to_owned()
}

const SENT_BYTES_MAX: usize = 64 * 1024;
