//! What does the end of a call mean? What the guest returned, or the error that ended it, becomes one outcome.

use chitin_types::{Failure, FailureKind, Part, ToolOutcome};
use wasmtime::{PoolConcurrencyLimitError, Trap};

use crate::{
    limits::LimitReached,
    state::{CallContext, CallState},
    wit::wire::{self, Part as WirePart},
};

/// Longest message of a failure in bytes, from the WIT contract.
const MESSAGE_BYTES_MAX: usize = 2_048;
/// Longest code of a failure in bytes, from the WIT contract.
const CODE_BYTES_MAX: usize = 64;

impl CallState {
    /// The parts of a result as the guest gave them, counted as output. To be called while the store lives: files are
    /// handles of its table.
    pub(crate) fn parts_from_guest(&mut self, parts: Vec<WirePart>) -> wasmtime::Result<Vec<Part>> {
        parts.into_iter().map(|part| self.part_from_guest(part)).collect()
    }

    /// One part as the guest gave it, counted as output; a file that it wrote in this call was counted then.
    pub(crate) fn part_from_guest(&mut self, part: WirePart) -> wasmtime::Result<Part> {
        let (part, bytes) = match part {
            WirePart::Text(text) => {
                let bytes = text.len();
                (Part::Text(text), bytes)
            }
            WirePart::Data(json) => {
                let bytes = json.len();
                // What is no JSON is shown as the text it is, rather than lost.
                let part = serde_json::from_str(&json).map_or(Part::Text(json), Part::Data);
                (part, bytes)
            }
            WirePart::File(blob) => {
                let (file, bytes) = self.table.delete(blob)?.into_file();
                (Part::File(file), bytes)
            }
            WirePart::Other((kind, json)) => {
                let bytes = kind.len() + json.len();
                let value = serde_json::from_str(&json).unwrap_or(serde_json::Value::String(json));
                (Part::Other(kind, value), bytes)
            }
        };
        self.call.charge_output(bytes)?;
        Ok(part)
    }
}

/// The guest's own no. `denied`, `limited` and `cancelled` are words of the host: from a guest they count as its opinion,
/// and become a denial only when the host did refuse something in this call.
pub(crate) fn from_failure(call: &CallContext, failure: wire::Failure) -> ToolOutcome {
    if let Some(denial) = call.last_denial() {
        return ToolOutcome::Denied(denial);
    }
    let wire::Failure { kind, code, message, retry_after_ms } = failure;
    ToolOutcome::Failed(Failure {
        kind: kind_from_guest(kind),
        code: code.map(|code| cut(&code, CODE_BYTES_MAX)),
        message: cut(&message, MESSAGE_BYTES_MAX),
        retry_after_ms,
    })
}

/// An error that ended the guest.
pub(crate) fn from_error(call: &CallContext, error: &wasmtime::Error) -> ToolOutcome {
    if *call.cancelled.borrow() {
        return ToolOutcome::Cancelled;
    }
    if let Some(limit) = call.reached.get() {
        return ToolOutcome::Limited(limit.to_owned());
    }
    if let Some(LimitReached(limit)) = error.downcast_ref::<LimitReached>() {
        return ToolOutcome::Limited(limit.clone());
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return ToolOutcome::Limited("live instances".to_owned());
    }
    if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
        return ToolOutcome::Broke(format!("exit-{}", exit.0));
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => ToolOutcome::Limited("stack (512 KiB)".to_owned()),
        Some(trap) => ToolOutcome::Broke(trap_code(*trap)),
        None => {
            tracing::debug!(call = %call.id, error = %format!("{error:#}"), "a call ended with an error");
            ToolOutcome::Broke("host-error".to_owned())
        }
    }
}

fn trap_code(trap: Trap) -> String {
    let words: String = format!("{trap:?}")
        .chars()
        .flat_map(|c| if c.is_ascii_uppercase() { vec!['-', c.to_ascii_lowercase()] } else { vec![c] })
        .collect();
    format!("trap{words}")
}

fn kind_from_guest(kind: wire::FailureKind) -> FailureKind {
    match kind {
        wire::FailureKind::InvalidInput => FailureKind::InvalidInput,
        wire::FailureKind::Denied => FailureKind::Denied,
        wire::FailureKind::NeedsAuth => FailureKind::NeedsAuth,
        wire::FailureKind::NotFound => FailureKind::NotFound,
        wire::FailureKind::Conflict => FailureKind::Conflict,
        wire::FailureKind::Limited => FailureKind::Limited,
        wire::FailureKind::Upstream => FailureKind::Upstream,
        wire::FailureKind::Internal => FailureKind::Internal,
        wire::FailureKind::Cancelled => FailureKind::Cancelled,
        wire::FailureKind::Other => FailureKind::Other,
    }
}

fn cut(text: &str, bytes_max: usize) -> String {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("").to_owned()
}
