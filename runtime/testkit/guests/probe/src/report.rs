//! How a try is reported: `{"ok": true, "value": …}` or `{"ok": false, "error": …}` as one data part.

use std::fmt::Display;

use chitin_sdk::{Failure, Part};
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) fn value(value: Value) -> Result<Vec<Part>, Failure> {
    Ok(vec![Part::data(&Worked { ok: true, value })?])
}

#[derive(Serialize)]
struct Worked {
    ok: bool,
    value: Value,
}

/// A try that ended in an error of the standard library or the client; `error` is its text.
pub(crate) fn outcome(tried: Result<Value, impl Display>) -> Result<Vec<Part>, Failure> {
    match tried {
        Ok(found) => value(found),
        Err(error) => Ok(vec![Part::data(&json!({ "ok": false, "error": error.to_string() }))?]),
    }
}

/// A try whose error is data already.
pub(crate) fn said(tried: Result<Value, Value>) -> Result<Vec<Part>, Failure> {
    match tried {
        Ok(found) => value(found),
        Err(error) => Ok(vec![Part::data(&json!({ "ok": false, "error": error }))?]),
    }
}

/// A try that the host answered with a failure; `error` holds its kind, code and message.
pub(crate) fn answer(tried: Result<Value, Failure>) -> Result<Vec<Part>, Failure> {
    match tried {
        Ok(found) => value(found),
        Err(refused) => Ok(vec![Part::data(&json!({ "ok": false, "error": as_json(&refused) }))?]),
    }
}

pub(crate) fn as_json(failure: &Failure) -> Value {
    json!({
        "kind": failure.kind.to_string(),
        "code": failure.code,
        "message": failure.message,
        "retry_after_ms": failure.retry_after_ms,
    })
}
