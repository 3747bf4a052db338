//! How is a secret set, and what may be shown of it? Its name, never its text.

use std::io::{IsTerminal, Read};

use chitin_ports::{Audit, AuditEntry, AuditKind, Secrets};
use chitin_types::is_scope;
use serde_json::json;

use crate::{
    args::Secret,
    error::{CliError, Exit},
    output::Output,
    wire::Wire,
};

pub(crate) async fn run(wire: &Wire, args: &Secret, output: &Output) -> Result<(), CliError> {
    let store = wire.secrets();
    match args {
        Secret::List => {
            let names = store.names().await?;
            let lines: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
            let items = names.iter().map(|(name, at)| json!({ "name": name, "set_at_ms": at })).collect();
            output.list("secret", "secrets", items, &lines.join("\n"));
        }
        Secret::Set { name } => {
            check_name(name)?;
            let text = read(name)?;
            record(wire, name, "set").await?;
            store.set(name, &chitin_types::Secret::new(text)).await?;
            output.result("secret", json!({ "name": name }), &format!("{name} is set"));
        }
        Secret::Rm { name } => {
            check_name(name)?;
            record(wire, name, "removed").await?;
            if !store.remove(name).await? {
                let error = CliError::new(Exit::NotFound, format!("there is no secret {name:?}"));
                return Err(error.help("chitin secret list"));
            }
            output.result("secret", json!({ "name": name }), &format!("{name} is removed"));
        }
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), CliError> {
    if is_scope(name) {
        return Ok(());
    }
    Err(CliError::usage(format!("{name:?} is not 1 to 48 of a-z, 0-9 and hyphen")))
}

async fn record(wire: &Wire, name: &str, verdict: &str) -> Result<(), CliError> {
    let entry = AuditEntry::new(AuditKind::Secret, name, verdict);
    Ok(wire.records()?.append(entry).durable().await?)
}

// From a pipe, or from the terminal without showing it; an argument would stand in the shell's history and in the list
// of processes.
fn read(name: &str) -> Result<String, CliError> {
    let mut text = String::new();
    if std::io::stdin().is_terminal() {
        let mut editor = rustyline::DefaultEditor::new().map_err(|e| CliError::failed(e.to_string()))?;
        anstream::eprintln!("the text of {name} (it is not kept in any history):");
        text = editor.readline("").map_err(|e| CliError::failed(format!("read the terminal: {e}")))?;
    } else {
        std::io::stdin().lock().take(SECRET_BYTES_MAX + 1).read_to_string(&mut text)?;
    }
    let text = text.trim_end_matches(['\n', '\r']).to_owned();
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    if !(SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&bytes) {
        let message = format!("a secret has {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes, and this has {bytes}");
        return Err(CliError::usage(message).help(format!("printf %s \"$TOKEN\" | chitin secret set {name}")));
    }
    if text.chars().any(char::is_control) {
        return Err(CliError::usage("a secret has no control characters"));
    }
    Ok(text)
}

/// A shorter one could be guessed, and could not be told from ordinary text when answers are searched for it.
const SECRET_BYTES_MIN: u64 = 8;
/// The longest header value that servers commonly take.
const SECRET_BYTES_MAX: u64 = 4_096;
