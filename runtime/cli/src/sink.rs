//! What does a person see while a turn runs? Text as it comes on standard output, everything else on standard error.

use std::{
    io::Write,
    sync::{Mutex, PoisonError},
};

use chitin_agent::EventSink;
use chitin_types::Event;

use crate::output::{Output, printable};

/// Prints the events of one turn.
pub(crate) struct Printer {
    output: Output,
    shown: Mutex<String>,
}

/// Characters of arguments and results shown in one line.
const LINE_CHARS_MAX: usize = 160;

impl Printer {
    pub(crate) fn new(output: &Output) -> Self {
        Self { output: output.clone(), shown: Mutex::default() }
    }

    fn chunk(&self, text: &str) {
        if !self.output.is_json() {
            let mut stdout = anstream::stdout();
            // A closed pipe has no reader to tell.
            let _ = write!(stdout, "{}", printable(text)).and_then(|()| stdout.flush());
            self.shown.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        }
    }

    /// The answer is printed whole only where it did not come in pieces, or ended differently.
    fn done(&self, text: &str) {
        let shown = std::mem::take(&mut *self.shown.lock().unwrap_or_else(PoisonError::into_inner));
        if self.output.is_json() {
            return;
        }
        let rest = text.strip_prefix(shown.as_str());
        let rest = rest.map_or_else(|| format!("\n{text}"), str::to_owned);
        let mut stdout = anstream::stdout();
        let _ = writeln!(stdout, "{}", printable(&rest));
    }
}

/// Shows what a tool says on the way; the result itself is printed by the command.
pub(crate) struct Quiet(pub(crate) Printer);

impl EventSink for Quiet {
    fn event(&self, event: Event) {
        if matches!(event, Event::Notice { .. }) {
            self.0.event(event);
        }
    }
}

impl EventSink for Printer {
    fn event(&self, event: Event) {
        let faint = |text: String| self.output.note(&text);
        match event {
            Event::Chunk { text } => self.chunk(&text),
            Event::ToolCall { name, arguments, .. } => {
                // Text that came before a call is not part of the final answer.
                if !std::mem::take(&mut *self.shown.lock().unwrap_or_else(PoisonError::into_inner)).is_empty() {
                    let _ = writeln!(anstream::stdout());
                }
                faint(format!("→ {name} {}", short(&arguments)));
            }
            Event::ToolResult { outcome, text, help, .. } => {
                let mark = if outcome == "done" { "←" } else { "✗" };
                faint(format!("{mark} {}", short(&text)));
                if let Some(help) = help {
                    faint(format!("  help: {help}"));
                }
            }
            // Whoever is asked at this terminal sees the question itself.
            Event::ApprovalRequest { .. } => {}
            Event::Notice { text } => faint(text),
            Event::Done { text } => self.done(&text),
            Event::Error { .. } => {}
        }
    }
}

fn short(text: &str) -> String {
    let line = text.replace('\n', " ");
    if line.chars().count() <= LINE_CHARS_MAX {
        return line;
    }
    format!("{}…", line.chars().take(LINE_CHARS_MAX).collect::<String>())
}
