//! Where does a line go? Results to standard output, everything else to standard error; JSON when asked for.

use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use crate::{
    args::{Color, Global},
    error::CliError,
};

/// How this command prints.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    json: bool,
    quiet: bool,
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HELP: Style = AnsiColor::Cyan.on_default().bold();

impl Output {
    pub(crate) fn new(global: &Global) -> Self {
        let choice = match global.color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        Self { json: global.json, quiet: global.quiet }
    }

    /// Whether a JSON document is wanted.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// The result: a JSON document, or lines of text. Text from tools and models is stripped of terminal controls.
    pub(crate) fn result(&self, schema: &str, value: Value, text: &str) {
        if self.json {
            let mut document = serde_json::Map::new();
            document.insert("schema".to_owned(), Value::String(format!("chitin/{schema}/v1")));
            if let Value::Object(fields) = value {
                document.extend(fields);
            }
            line(&mut anstream::stdout(), &Value::Object(document).to_string());
        } else if !text.is_empty() {
            line(&mut anstream::stdout(), &printable(text));
        }
    }

    /// A list: `{"schema": "chitin/<noun>-list/v1", "<plural>": [...]}`.
    pub(crate) fn list(&self, noun: &str, plural: &str, items: Vec<Value>, text: &str) {
        let mut fields = serde_json::Map::new();
        fields.insert(plural.to_owned(), Value::Array(items));
        self.result(&format!("{noun}-list"), Value::Object(fields), text);
    }

    /// Something the user may want to know while it happens.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            line(&mut anstream::stderr(), &printable(text));
        }
    }

    /// Why the command failed, and what to do.
    pub(crate) fn error(&self, error: &CliError) {
        let mut stderr = anstream::stderr();
        if self.json {
            let code = error.exit.code();
            let body =
                json!({ "schema": "chitin/error/v1", "code": code, "message": error.message, "help": error.help });
            line(&mut stderr, &body.to_string());
            return;
        }
        line(&mut stderr, &format!("{ERROR}error:{ERROR:#} {}", printable(&error.message)));
        if let Some(help) = &error.help {
            line(&mut stderr, &format!("{HELP}help:{HELP:#} {}", printable(help)));
        }
    }
}

/// Whether a person can be asked.
pub(crate) fn person_is_there(global: &Global) -> bool {
    !global.no_input && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Text without control characters other than line feed and tab: a tool or a page must not move the cursor or hide what
/// is asked.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

fn line(to: &mut impl Write, text: &str) {
    // Nobody reads a closed pipe; there is no one to tell.
    let _ = writeln!(to, "{text}");
}
