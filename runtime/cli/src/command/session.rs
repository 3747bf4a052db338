//! Which dialogues are there, and what was said in one?

use chitin_ports::History;
use chitin_types::{Message, SessionId};
use serde_json::{Value, json};

use crate::{args::Session, error::CliError, output::Output, wire::Wire};

pub(crate) async fn run(wire: &Wire, args: &Session, output: &Output) -> Result<(), CliError> {
    let records = wire.records()?;
    match args {
        Session::List => {
            let sessions = records.sessions().await?;
            let values = sessions.iter().map(|s| {
                json!({ "name": s.id.as_str(), "channel": s.key.channel, "target": s.key.reply_target,
                    "sender": s.key.sender, "turns": s.turns, "updated_at_ms": s.updated_at_ms })
            });
            let lines: Vec<String> = sessions
                .iter()
                .map(|s| format!("{}  {} {}, {} turns", s.id, s.key.channel, s.key.reply_target, s.turns))
                .collect();
            output.list("session", "sessions", values.collect(), &lines.join("\n"));
        }
        Session::Show { id } => {
            let messages = records.transcript(&SessionId::parse(id.as_str())?).await?;
            let values: Vec<Value> = messages
                .iter()
                .map(|m| {
                    let mut value = json!({ "turn": m.turn.as_str(), "at_ms": m.at_ms });
                    if let (Some(fields), Ok(Value::Object(said))) =
                        (value.as_object_mut(), serde_json::to_value(&m.message))
                    {
                        fields.extend(said);
                    }
                    value
                })
                .collect();
            let lines: Vec<String> = messages.iter().map(|m| line(&m.message)).collect();
            output.result("session", json!({ "name": id, "messages": values }), &lines.join("\n"));
        }
    }
    Ok(())
}

fn line(message: &Message) -> String {
    match message {
        Message::User { text } => format!("you: {text}"),
        Message::Assistant { text, calls } => {
            let calls: Vec<String> = calls.iter().map(|c| format!("\n  → {} {}", c.name, c.arguments)).collect();
            format!("chitin: {text}{}", calls.concat())
        }
        Message::Tool { text, is_error, .. } => format!("  ← {}{text}", if *is_error { "error: " } else { "" }),
    }
}
