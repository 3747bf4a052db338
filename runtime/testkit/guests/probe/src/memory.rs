//! The assistant's memory, one function of the host in each function of the probe.

use chitin_sdk::host::recall;
use chitin_sdk::{Call, Failure, Part};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report;

/// The arguments of all functions; each reads those that it describes.
#[derive(Deserialize)]
#[serde(default)]
struct Args {
    text: String,
    scope: Option<String>,
    id: String,
    after: Option<String>,
    limit: u32,
    kib: usize,
}

impl Default for Args {
    fn default() -> Self {
        Self { text: String::new(), scope: None, id: String::new(), after: None, limit: 10, kib: 0 }
    }
}

/// `kib` above 0 stores that much text instead of `text`.
pub(crate) fn remember(call: &Call) -> Result<Vec<Part>, Failure> {
    let args = call.args::<Args>()?;
    let text = if args.kib > 0 { "x".repeat(args.kib * KIB) } else { args.text };
    let stored = recall::remember(&text, args.scope.as_deref().unwrap_or("project"));
    report::answer(stored.map(|id| json!({ "id": id })))
}

pub(crate) fn query(call: &Call) -> Result<Vec<Part>, Failure> {
    let args = call.args::<Args>()?;
    report::answer(recall::query(&args.text, args.scope.as_deref(), args.limit).map(|found| shown(&found)))
}

pub(crate) fn forget(call: &Call) -> Result<Vec<Part>, Failure> {
    let args = call.args::<Args>()?;
    report::answer(recall::forget(&args.id).map(|()| json!({ "forgotten": args.id })))
}

pub(crate) fn entries(call: &Call) -> Result<Vec<Part>, Failure> {
    let args = call.args::<Args>()?;
    let found = recall::entries(args.scope.as_deref(), args.after.as_deref(), args.limit);
    report::answer(found.map(|found| shown(&found)))
}

fn shown(found: &[recall::Memory]) -> Value {
    let one = |memory: &recall::Memory| json!({ "id": memory.id, "scope": memory.scope, "text": memory.text });
    found.iter().map(one).collect()
}

const KIB: usize = 1024;
