//! What does the model read of a command's end? The end of a spawn goes in, an outcome comes out.

use chitin_ports::{Ended, Order, SpawnError, Stopped};
use chitin_types::{Denial, Failure, FailureKind, Part, ToolOutcome};
use serde_json::json;

/// The outcome of a command that was started.
pub(super) fn of_end(ended: &Ended, order: &Order) -> ToolOutcome {
    match ended.stopped {
        Some(Stopped::Wall) => return ToolOutcome::Limited(format!("wall time ({} ms)", order.wall_ms)),
        Some(Stopped::Cancelled) => return ToolOutcome::Cancelled,
        None => {}
    }
    if ended.signal == Some(PROCESSOR_TIME_OVER) {
        return ToolOutcome::Limited(format!("processor time ({} s)", order.cpu_s));
    }
    let first = match (ended.code, ended.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    };
    let mut parts = vec![Part::Text(first)];
    for (name, bytes) in [("stdout", &ended.out), ("stderr", &ended.err)] {
        if !bytes.is_empty() {
            parts.push(Part::Text(format!("{name}:\n{}", String::from_utf8_lossy(bytes))));
        }
    }
    if ended.dropped_bytes > 0 {
        let dropped = ended.dropped_bytes;
        parts.push(Part::Text(format!("[{dropped} more bytes of output were dropped at {} KiB]", order.output_kib)));
    }
    parts.extend(ended.notices.iter().map(|notice| Part::Text(format!("[sandbox: {notice}]"))));
    parts.push(Part::Data(json!({
        "exit_code": ended.code, "signal": ended.signal, "dropped_bytes": ended.dropped_bytes,
    })));
    ToolOutcome::Done(parts)
}

/// The outcome of a command that was not started, or whose end does not count.
pub(super) fn of_error(error: SpawnError) -> ToolOutcome {
    let denied = |rule: &str, reason: String| {
        ToolOutcome::Denied(Denial { rule: rule.to_owned(), reason, help: Some("chitin sandbox explain".to_owned()) })
    };
    match error {
        SpawnError::NoSandbox(_) => denied("sandbox:none", error.to_string()),
        SpawnError::NotTight(_) => denied("sandbox:tight", error.to_string()),
        SpawnError::BadOrder(message) => ToolOutcome::Failed(Failure {
            kind: FailureKind::InvalidInput,
            code: Some("cannot-start".to_owned()),
            message,
            retry_after_ms: None,
        }),
        SpawnError::Unsettled(why) => ToolOutcome::Failed(Failure {
            kind: FailureKind::Other,
            code: Some("unsettled".to_owned()),
            message: unsettled(&why),
            retry_after_ms: None,
        }),
        SpawnError::System(why) => {
            tracing::error!(why, "the sandbox failed");
            ToolOutcome::Broke(format!("sandbox: {why}"))
        }
    }
}

fn unsettled(why: &str) -> String {
    let why: String = why.chars().take(WHY_CHARS_MAX).collect();
    format!(
        "the command ran and its files are left as they are, but the sandbox could not make sure that none of them runs \
         later on the host: {why}. Look through the workspace before you use it outside the sandbox"
    )
}

/// Characters of a reason; a failure says one sentence of at most 2 KiB.
const WHY_CHARS_MAX: usize = 400;
/// SIGXCPU, which the kernel sends when the processor time is over.
const PROCESSOR_TIME_OVER: i32 = libc::SIGXCPU;
