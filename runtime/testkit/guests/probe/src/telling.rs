//! What the user wrote for the guest, and what the guest writes for the operator: settings and lines of the log, under
//! every name that they are linked by.

use chitin_sdk::{Call, Failure, Part};
use serde::Deserialize;
use serde_json::json;

use crate::report;
use crate::wasi::config_draft::wasi::config::store as config_draft;
use crate::wasi::config_rc::wasi::config::store as config_rc;
use crate::wasi::logging_draft::wasi::logging::logging as log_draft;
use crate::wasi::logging_unversioned::wasi::logging::logging as log_unversioned;

#[derive(Deserialize)]
struct Setting {
    key: String,
}

/// One setting and all of them, as both versions tell them.
pub(crate) fn config(call: &Call) -> Result<Vec<Part>, Failure> {
    let key = call.args::<Setting>()?.key;
    let told = || -> Result<_, String> {
        Ok(json!({
            "rc": config_rc::get(&key).map_err(|error| format!("{error:?}"))?,
            "draft": config_draft::get(&key).map_err(|error| format!("{error:?}"))?,
            "rc_all": config_rc::get_all().map_err(|error| format!("{error:?}"))?,
            "draft_all": config_draft::get_all().map_err(|error| format!("{error:?}"))?,
        }))
    };
    report::outcome(told())
}

#[derive(Deserialize)]
struct Line {
    message: String,
    #[serde(default)]
    context: String,
    #[serde(default = "once")]
    times: u64,
}

/// Writes the line under both names, as often as it is told to: a flood of it must end the call.
pub(crate) fn log(call: &Call) -> Result<Vec<Part>, Failure> {
    let Line { message, context, times } = call.args::<Line>()?;
    for _ in 0..times {
        log_draft::log(log_draft::Level::Info, &context, &message);
        log_unversioned::log(log_unversioned::Level::Warn, &context, &message);
    }
    report::value(json!({ "lines": times * 2 }))
}

fn once() -> u64 {
    1
}
