//! How is it told? What became of each step goes in; sentences and quoted results come out.

use serde_json::Value;

use super::{
    intent::Unclear,
    step::{Source, Step, parts},
};

/// What became of one step.
#[derive(Debug)]
pub(super) struct Report {
    /// The step.
    pub(super) step: Step,
    /// How it ended.
    pub(super) ended: Ended,
    /// How many of its calls gave a result.
    pub(super) calls: usize,
    /// The last result.
    pub(super) text: String,
}

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// All of its calls gave a result.
    Done,
    /// A call did not; holds why.
    Failed(String),
    /// There is no such tool.
    Missing(&'static str),
}

/// The answer to the whole prompt.
pub(super) fn text(reports: &[Report]) -> String {
    match reports {
        [only] => sentence(only),
        several => {
            let numbered = |(index, report): (usize, &Report)| format!("{}. {}", index + 1, sentence(report));
            several.iter().enumerate().map(numbered).collect::<Vec<_>>().join("\n\n")
        }
    }
}

/// The answer to a prompt that is not understood.
pub(super) fn unclear(unclear: &Unclear) -> String {
    let why = match unclear {
        Unclear::Empty => "There is nothing to do.".to_owned(),
        Unclear::Part(part) => format!("I do not understand “{}”, so I did nothing.", beginning(part, PART_CHARS_MAX)),
        Unclear::TooMuch => "That is more than I can match, so I did nothing.".to_owned(),
    };
    format!("{why} {HELP}")
}

fn sentence(report: &Report) -> String {
    let wish = wish(&report.step, report.calls);
    match &report.ended {
        Ended::Done => done(&report.step, &report.text),
        Ended::Failed(why) => format!("I could not {wish}: {}", why.trim()),
        Ended::Missing(tool) => {
            format!(
                "I could not {wish}: the tool `{tool}` is not offered to me; `chitin tool list` shows what is installed."
            )
        }
    }
}

/// What was to be done, after "could not"; `calls` of it were.
fn wish(step: &Step, calls: usize) -> String {
    match step {
        Step::Read { path } => format!("read {path}"),
        Step::Fetch { url } => format!("fetch {url}"),
        Step::Save { path, .. } if calls > 0 => format!("write {path}"),
        Step::Save { from: Source::Page(url), path, .. } => format!("fetch {url} (so {path} is not written)"),
        Step::Save { from: Source::File(file), path, .. } => format!("read {file} (so {path} is not written)"),
        Step::Write { path, .. } => format!("write {path}"),
        Step::List { path } => format!("list {path}"),
        Step::Find { pattern } => format!("find {pattern}"),
        Step::Search { text, path } => format!("search for “{text}” in {path}"),
        Step::Time => "tell the time".to_owned(),
    }
}

fn done(step: &Step, result: &str) -> String {
    let (text, facts) = parts(result);
    match step {
        Step::Read { path } if facts.get("more") == Some(&Value::Bool(true)) => {
            format!("{path} begins with:\n\n{}", quoted(text))
        }
        Step::Read { path } => format!("{path} holds:\n\n{}", quoted(text)),
        Step::Fetch { url } => format!("{url} says:\n\n{}", quoted(text)),
        Step::Save { from: Source::Page(from) | Source::File(from), path, note } => {
            let note = note.as_ref().map_or_else(String::new, |note| format!(", with the note “{note}”"));
            format!("I saved the text of {from} to {path}{note}.")
        }
        Step::Write { content, path } => format!("I wrote {} characters to {path}.", content.chars().count()),
        Step::List { path } => match rows(&facts, "entries", entry) {
            Some(rows) if rows.is_empty() => format!("{path} is empty."),
            Some(rows) => format!("{path} holds:\n\n{}", quoted(&rows)),
            None => format!("{path} holds:\n\n{}", quoted(text)),
        },
        Step::Find { pattern } => match rows(&facts, "matches", |path| path.as_str().map(str::to_owned)) {
            Some(rows) if rows.is_empty() => format!("Nothing matches {pattern}."),
            Some(rows) => format!("{pattern} matches:\n\n{}", quoted(&rows)),
            None => format!("{pattern} matches:\n\n{}", quoted(text)),
        },
        Step::Search { text: wanted, path } if text.trim().is_empty() => format!("“{wanted}” is nowhere in {path}."),
        Step::Search { text: wanted, path } => format!("“{wanted}” is in {path} here:\n\n{}", quoted(text)),
        Step::Time => match (facts.get("utc").and_then(Value::as_str), facts.get("weekday").and_then(Value::as_str)) {
            (Some(utc), Some(weekday)) => format!("It is {weekday}, {utc}."),
            (Some(_), None) | (None, _) => format!("It is {}.", result.trim()),
        },
    }
}

/// One line for each item of a list, where the facts have this list.
fn rows(facts: &Value, list: &str, row: impl Fn(&Value) -> Option<String>) -> Option<String> {
    let items = facts.get(list)?.as_array()?;
    Some(items.iter().filter_map(row).collect::<Vec<_>>().join("\n"))
}

fn entry(entry: &Value) -> Option<String> {
    let name = entry.get("name")?.as_str()?;
    let slash = if entry.get("kind")?.as_str()? == "dir" { "/" } else { "" };
    Some(format!("{name}{slash}"))
}

/// In a fence that nothing in the text closes, so that what a tool returned is never taken for our words.
fn quoted(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let shown = beginning(text, QUOTE_CHARS_MAX);
    let rest = text.chars().count().saturating_sub(QUOTE_CHARS_MAX);
    let rest = if rest > 0 { format!("\n[… {rest} more characters]") } else { String::new() };
    format!("{fence}\n{}{rest}\n{fence}", shown.trim_end_matches('\n'))
}

fn beginning(text: &str, chars_max: usize) -> &str {
    let end = text.char_indices().nth(chars_max).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

const HELP: &str = "I am the offline provider, not a model, and understand plain requests only, for example:

- read notes.txt
- write \"hello\" to notes.txt
- fetch https://example.com
- save the page at https://example.com to page.txt with note TEXT
- list files; list src; find *.md; search for TODO in src
- what time is it

Several of them are set apart by “then”, a semicolon or a line.";
/// Of one result. More is in the file or on the page itself.
const QUOTE_CHARS_MAX: usize = 8_000;
const PART_CHARS_MAX: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_cannot_be_left_and_is_not_endless() {
        assert_eq!(quoted("a\nb\n"), "```\na\nb\n```");
        assert_eq!(quoted("x ``` y"), "````\nx ``` y\n````");
        assert_eq!(quoted(""), "```\n\n```");
        let long = quoted(&"é".repeat(QUOTE_CHARS_MAX + 5));
        assert!(long.ends_with("\n[… 5 more characters]\n```"), "{}", long.len());
    }
}
