//! How does a message reach a running daemon from the terminal? It is posted over the socket; events come back and are
//! shown, and what asks for a person is answered here.

use chitin_agent::{EventSink, TurnEnd};
use chitin_types::Event;
use serde_json::json;

use crate::{approve::read_answer, client::Client, error::CliError, output::printable, sink::Printer};

/// A daemon, and whether somebody sits at this terminal.
pub(crate) struct Remote {
    pub(crate) client: Client,
    pub(crate) person: bool,
    /// Whether every question is answered with no.
    pub(crate) no_input: bool,
}

/// Enough of an id to name one question among those that are open.
pub(crate) const SHORT_ID_CHARS: usize = 12;

impl Remote {
    /// One message to its end. Ctrl-C stops the turn.
    ///
    /// # Errors
    /// The daemon went away.
    pub(crate) async fn say(&self, session: &str, text: &str, printer: &Printer) -> Result<TurnEnd, CliError> {
        let body = json!({ "message": text, "session": session });
        let mut events = self.client.events("/api/chat", &body).await?;
        loop {
            let next = tokio::select! {
                next = events.next() => next?,
                Ok(()) = tokio::signal::ctrl_c() => {
                    self.client.json("POST", "/api/stop", Some(&json!({ "session": session }))).await?;
                    continue;
                }
            };
            let Some(value) = next else {
                return Err(CliError::failed("the daemon ended before the answer").help("chitin status"));
            };
            let event: Event = serde_json::from_value(value)
                .map_err(|error| CliError::failed(format!("read the daemon's event: {error}")))?;
            let end = match &event {
                Event::Done { text } => Some(TurnEnd::Answered(text.clone())),
                Event::Error { text } if text.starts_with("stopped") => Some(TurnEnd::Stopped(text.clone())),
                Event::Error { text } => Some(TurnEnd::Failed(text.clone())),
                Event::ApprovalRequest { .. } => {
                    self.ask(&event).await?;
                    None
                }
                Event::Chunk { .. } | Event::ToolCall { .. } | Event::ToolResult { .. } | Event::Notice { .. } => None,
            };
            printer.event(event);
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    async fn ask(&self, event: &Event) -> Result<(), CliError> {
        let Event::ApprovalRequest { id, title, arguments, rule, .. } = event else { return Ok(()) };
        let allow = if self.person {
            let question = format!(
                "\n{} wants to run with\n  {}\n(rule {rule})\nallow this once? [y/N] ",
                printable(title),
                printable(arguments)
            );
            let answer = tokio::task::spawn_blocking(move || read_answer(&question)).await;
            matches!(answer, Ok(Ok(line)) if matches!(line.trim(), "y" | "Y" | "yes"))
        } else if self.no_input {
            false
        } else {
            // Somebody else may answer; nobody here can.
            let short: String = id.chars().take(SHORT_ID_CHARS).collect();
            let (title, arguments) = (printable(title), printable(arguments));
            anstream::eprintln!("waits for a person: {title} {arguments}\nhelp: chitin approve allow {short}");
            return Ok(());
        };
        self.client.json("POST", &format!("/api/approvals/{id}"), Some(&json!({ "allow": allow }))).await?;
        Ok(())
    }
}
