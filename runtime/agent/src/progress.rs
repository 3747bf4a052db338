//! What does a running tool say meanwhile? Its lines go in; notices come out, until the call ends.
//!
//! The tool writes into a bounded queue from wherever it runs, and the turn that waits for it shows them. A line is the
//! tool's word, so it carries the tool's name, is one line, and is short.

use std::{pin::pin, sync::Arc};

use chitin_policy::Authorized;
use chitin_ports::{Invocation, Progress};
use chitin_types::{ToolName, ToolOutcome};
use futures::future::{Either, select};
use tokio::sync::mpsc;

use crate::{cut, scope::Scope};

/// Invokes one call and shows what it says while it runs.
pub(crate) async fn invoke(scope: &Scope<'_>, permit: Authorized, mut call: Invocation) -> ToolOutcome {
    let tool = call.tool.clone();
    let (sender, mut lines) = mpsc::channel(LINES_WAITING_MAX);
    let progress: Progress = Arc::new(move |line: String| {
        // A full queue loses the line: nobody reads that fast, and the tool must not wait for a reader.
        let _ = sender.try_send(line);
    });
    call.progress = Some(progress);

    let mut shown = 0;
    let mut running = scope.ports.invoke.invoke(permit, call);
    let outcome = loop {
        let next = pin!(lines.recv());
        let line = match select(next, &mut running).await {
            Either::Left((line, _)) => line,
            Either::Right((outcome, _)) => break outcome,
        };
        match line {
            Some(line) => show(scope, &tool, &line, &mut shown),
            // The call let go of its way to speak.
            None => break running.await,
        }
    };
    while let Ok(line) = lines.try_recv() {
        show(scope, &tool, &line, &mut shown);
    }
    outcome
}

fn show(scope: &Scope<'_>, tool: &ToolName, line: &str, shown: &mut usize) {
    *shown += 1;
    if *shown <= LINES_SHOWN_MAX {
        let plain: String =
            cut::first(line, LINE_CHARS_MAX).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        scope.notice(format!("{tool}: {}", plain.trim()));
    }
}

/// Lines that wait to be shown.
const LINES_WAITING_MAX: usize = 32;
/// Lines of one call that a person sees; a tool that talks without end would hide the answer.
const LINES_SHOWN_MAX: usize = 100;
/// One line; longer ones belong into the result.
const LINE_CHARS_MAX: usize = 200;
