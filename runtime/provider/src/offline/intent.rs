//! What does a prompt ask for? Text goes in; steps come out, in order, or the part that is not understood.
//!
//! Every part begins with a verb. Parts are set apart by a line, a semicolon, or "then" or "and" before another verb.
//! "it" after a verb of writing is the text of the part before, which makes one step of both.

use super::{
    step::{Source, Step},
    vocabulary::{OF_A_DIRECTORY, OF_A_FILE, OF_A_NAME, OF_A_TEXT, OF_A_TIME, POLITE, VERBS},
    words::{self, Word, raw},
};

/// Why nothing is done. Half of a prompt is never done: the other half might have been the condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unclear {
    /// There is no text.
    Empty,
    /// This part begins with no verb that is known, or goes on in an unknown way.
    Part(String),
    /// More than is matched word by word.
    TooMuch,
}

/// One part of a prompt.
enum Part {
    Step(Step),
    /// Write "it" somewhere.
    SaveIt(Target),
}

/// Where a text goes.
struct Target {
    path: String,
    note: Option<String>,
}

/// Reads a prompt.
///
/// # Errors
/// Not all of it is understood.
pub(super) fn steps(prompt: &str) -> Result<Vec<Step>, Unclear> {
    if prompt.len() > PROMPT_BYTES_MAX {
        return Err(Unclear::TooMuch);
    }
    let mut steps = Vec::new();
    for line in words::lines(prompt) {
        for run in runs(&line) {
            let unclear = || Unclear::Part(raw(run).to_owned());
            for part in parts(run, STEPS_MAX).ok_or_else(unclear)? {
                let step = match part {
                    Part::Step(step) => step,
                    Part::SaveIt(Target { path, note }) => {
                        let from = source(steps.pop()).ok_or_else(unclear)?;
                        Step::Save { from, path, note }
                    }
                };
                steps.push(step);
            }
        }
    }
    match steps.len() {
        0 => Err(Unclear::Empty),
        1..=STEPS_MAX => Ok(steps),
        _ => Err(Unclear::TooMuch),
    }
}

fn source(step: Option<Step>) -> Option<Source> {
    match step? {
        Step::Fetch { url } => Some(Source::Page(url)),
        Step::Read { path } => Some(Source::File(path)),
        Step::Save { .. } | Step::Write { .. } | Step::List { .. } => None,
        Step::Find { .. } | Step::Search { .. } | Step::Time => None,
    }
}

/// Cuts at "then" before a verb.
fn runs<'w, 'a>(line: &'w [Word<'a>]) -> Vec<&'w [Word<'a>]> {
    let mut runs = Vec::new();
    let mut rest = line;
    while let Some(at) = (1..rest.len()).find(|at| joins(rest, *at, "then")) {
        let (left, right) = rest.split_at(at);
        runs.push(left);
        rest = right.get(1..).unwrap_or(&[]);
    }
    runs.push(rest);
    runs
}

/// Cuts at "and" before a verb, where both sides make sense by themselves: a text to be written may hold such words.
fn parts(words: &[Word<'_>], depth_max: usize) -> Option<Vec<Part>> {
    let words = trimmed(words);
    let cut = (1..words.len())
        .filter(|at| depth_max > 0 && joins(words, *at, "and"))
        .find_map(|at| Some((part(words.get(..at)?)?, words.get(at + 1..)?)));
    if let Some((left, right)) = cut
        && let Some(mut rest) = parts(right, depth_max - 1)
    {
        rest.insert(0, left);
        return Some(rest);
    }
    part(words).map(|part| vec![part])
}

fn joins(words: &[Word<'_>], at: usize, joint: &str) -> bool {
    let next = words.get(at + 1..).and_then(|rest| after(rest, POLITE).first());
    let before_verb = next.is_some_and(|word| VERBS.contains(&word.key().as_str()));
    before_verb && words.get(at).is_some_and(|word| word.key() == joint)
}

fn part(words: &[Word<'_>]) -> Option<Part> {
    let words = after(trimmed(words), POLITE);
    let (verb, rest) = words.split_first()?;
    match verb.key().as_str() {
        "read" | "cat" | "show" | "print" | "display" | "open" | "get" => show(rest).map(Part::Step),
        "fetch" | "download" | "load" | "visit" | "browse" => fetch(rest).map(Part::Step),
        "write" | "save" | "store" | "put" => write(rest),
        "create" | "make" => create(rest).map(Part::Step),
        "list" | "ls" | "dir" => list(rest).map(Part::Step),
        "find" | "glob" => find(rest).map(Part::Step),
        "search" | "grep" | "look" => search(rest).map(Part::Step),
        "what" | "what's" | "whats" | "which" | "tell" | "the" | "time" | "current" => ask(words).map(Part::Step),
        _ => None,
    }
}

fn show(words: &[Word<'_>]) -> Option<Step> {
    if has(words, &["time", "date"]) && after(words, &["me", "the", "current", "time", "date"]).is_empty() {
        return Some(Step::Time);
    }
    if has(words, &["files", "directory", "folder"]) {
        return list(words);
    }
    let words = after(words, OF_A_TEXT);
    let (first, rest) = words.split_first()?;
    if url_of(first).is_some() {
        return fetch(words);
    }
    after(rest, &["file", "please", "for", "me", "to"]).is_empty().then(|| Step::Read { path: first.name().to_owned() })
}

fn fetch(words: &[Word<'_>]) -> Option<Step> {
    let words = after(words, OF_A_TEXT);
    let (first, rest) = words.split_first()?;
    let url = url_of(first)?;
    if after(rest, &["please", "for", "me"]).is_empty() {
        return Some(Step::Fetch { url });
    }
    let Target { path, note } = target(rest)?;
    Some(Step::Save { from: Source::Page(url), path, note })
}

fn write(words: &[Word<'_>]) -> Option<Part> {
    if let Some(target) = it(words).and_then(target_with_note) {
        return Some(Part::SaveIt(target));
    }
    // "the page at URL" is its text; an address by itself may be just what is to be written.
    let page = after(words, OF_A_TEXT);
    if page.len() < words.len()
        && page.first().and_then(url_of).is_some()
        && let Some(step) = fetch(page)
    {
        return Some(Part::Step(step));
    }
    let (at, Target { path, note }) = (1..words.len()).rev().find_map(|at| Some((at, target(words.get(at..)?)?)))?;
    let text = text_of(words.get(..at)?);
    let content = note.map_or_else(|| text.to_owned(), |note| format!("{text}\n{note}"));
    Some(Part::Step(Step::Write { content, path }))
}

fn create(words: &[Word<'_>]) -> Option<Step> {
    let (path, rest) = after(words, OF_A_FILE).split_first()?;
    let path = path.name().to_owned();
    let Some((joint, text)) = rest.split_first() else { return Some(Step::Write { content: String::new(), path }) };
    let joined = ["with", "containing", "holding", "saying"].contains(&joint.key().as_str());
    (joined && !text.is_empty()).then(|| Step::Write { content: text_of(text).to_owned(), path })
}

fn list(words: &[Word<'_>]) -> Option<Step> {
    let path = match after(words, OF_A_DIRECTORY) {
        [] => HERE,
        [path, rest @ ..] if after(rest, OF_A_DIRECTORY).is_empty() => path.name(),
        [_, ..] => return None,
    };
    Some(Step::List { path: path.to_owned() })
}

fn find(words: &[Word<'_>]) -> Option<Step> {
    if let Some(at) = words.iter().position(|word| ["containing", "contain"].contains(&word.key().as_str())) {
        return text_in(words.get(at + 1..)?);
    }
    let words = after(words, OF_A_NAME);
    let (pattern, rest) = words.split_first()?;
    let rest = after(rest, &["files", "file", "please"]);
    let is_name = pattern.name().contains(['*', '?', '[', '{', '.']);
    match rest {
        [] => Some(Step::Find { pattern: pattern.text().trim_end_matches(',').to_owned() }),
        [joint, place @ ..] if is_name && is_in(joint) => {
            let Step::List { path } = list(place)? else { return None };
            let below = if path == HERE { String::new() } else { format!("{}/**/", path.trim_end_matches('/')) };
            Some(Step::Find { pattern: format!("{below}{}", pattern.name()) })
        }
        [_, ..] => text_in(words),
    }
}

fn search(words: &[Word<'_>]) -> Option<Step> {
    match words.iter().position(|word| word.key() == "for") {
        Some(0) => text_in(words.get(1..)?),
        Some(at) => {
            let Step::List { path } = list(words.get(..at)?)? else { return None };
            let text = text_of(words.get(at + 1..)?).to_owned();
            (!text.is_empty()).then_some(Step::Search { text, path })
        }
        None => match words {
            [text, path] if !is_in(text) => {
                Some(Step::Search { text: text.name().to_owned(), path: path.name().to_owned() })
            }
            other => text_in(other),
        },
    }
}

/// "TEXT in PLACE", or "TEXT" alone.
fn text_in(words: &[Word<'_>]) -> Option<Step> {
    let found = (1..words.len()).rev().filter(|at| words.get(*at).is_some_and(is_in)).find_map(|at| {
        let Step::List { path } = list(words.get(at + 1..)?)? else { return None };
        Some((words.get(..at)?, path))
    });
    let (text, path) = found.unwrap_or((words, HERE.to_owned()));
    let text = text_of(text).to_owned();
    (!text.is_empty()).then_some(Step::Search { text, path })
}

fn ask(words: &[Word<'_>]) -> Option<Step> {
    if has(words, &["files", "directory", "folder"]) {
        return list(after(words, &["what", "which", "tell", "me", "what's", "whats"]));
    }
    if has(words, &["time", "date", "day"]) && after(words, OF_A_TIME).is_empty() {
        return Some(Step::Time);
    }
    match after(words, &["what", "what's", "whats", "is", "does", "tell", "me"]) {
        [joint, rest @ ..] if is_in(joint) => show(rest),
        [path, says] if ["say", "contain", "hold"].contains(&says.key().as_str()) => {
            Some(Step::Read { path: path.name().to_owned() })
        }
        _ => None,
    }
}

/// What follows "it", or words that mean the same.
fn it<'w, 'a>(words: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
    let (first, rest) = words.split_first()?;
    if ["it", "that", "this", "them"].contains(&first.key().as_str()) {
        return Some(rest);
    }
    let (second, rest) = rest.split_first()?;
    let text = ["result", "page", "text", "content", "contents", "answer", "output"].contains(&second.key().as_str());
    (first.key() == "the" && text).then_some(rest)
}

/// "to FILE with note NOTE", or "with NOTE to FILE".
fn target_with_note(words: &[Word<'_>]) -> Option<Target> {
    let (first, rest) = words.split_first()?;
    if first.key() != "with" {
        return target(words);
    }
    let (at, found) = (1..rest.len()).rev().find_map(|at| Some((at, target(rest.get(at..)?)?)))?;
    Some(Target { note: note_of(rest.get(..at)?), ..found })
}

/// "to FILE", or "to FILE with note NOTE".
fn target(words: &[Word<'_>]) -> Option<Target> {
    let (joint, rest) = words.split_first()?;
    if !["to", "into", "in", "as", "onto"].contains(&joint.key().as_str()) {
        return None;
    }
    let (path, rest) = after(rest, OF_A_FILE).split_first()?;
    let path = path.name().to_owned();
    match after(rest, &["please"]) {
        [] => Some(Target { path, note: None }),
        [with, note @ ..] if with.key() == "with" => Some(Target { path, note: Some(note_of(note)?) }),
        [_, ..] => None,
    }
}

fn note_of(words: &[Word<'_>]) -> Option<String> {
    let words = after(words, &["the", "a", "note", "nonce", "line"]);
    let note = raw(words);
    let is_quoted = matches!(words, [only] if only.is_quoted());
    let note = if is_quoted { note } else { note.trim_end_matches([',', '.']) };
    (!note.is_empty()).then(|| note.to_owned())
}

/// A text as it was written. "the text" before quotes only announces them.
fn text_of<'a>(words: &[Word<'a>]) -> &'a str {
    match after(words, &["the", "a", "text", "word", "words", "line", "content", "string"]) {
        [only] if only.is_quoted() => only.text(),
        _ => raw(words),
    }
}

fn url_of(word: &Word<'_>) -> Option<String> {
    let name = word.name();
    let lower = name.to_ascii_lowercase();
    let has_host = |scheme: &str| lower.strip_prefix(scheme).is_some_and(|host| !host.is_empty());
    if has_host("http://") || has_host("https://") {
        Some(name.to_owned())
    } else {
        has_host("www.").then(|| format!("https://{name}"))
    }
}

fn is_in(word: &Word<'_>) -> bool {
    ["in", "inside", "under", "below", "within"].contains(&word.key().as_str())
}

fn has(words: &[Word<'_>], keys: &[&str]) -> bool {
    words.iter().any(|word| keys.contains(&word.key().as_str()))
}

/// The words from the first that is none of these.
fn after<'w, 'a>(words: &'w [Word<'a>], fillers: &[&str]) -> &'w [Word<'a>] {
    let start = words.iter().position(|word| !fillers.contains(&word.key().as_str())).unwrap_or(words.len());
    words.get(start..).unwrap_or(&[])
}

fn trimmed<'w, 'a>(words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    let end = words.iter().rposition(|word| !["and", "please", "thanks"].contains(&word.key().as_str()));
    words.get(..end.map_or(0, |at| at + 1)).unwrap_or(&[])
}

/// The place that is meant when none is named.
const HERE: &str = ".";
/// Steps of one prompt. A turn has a limit of its own, ten replies by default; when that comes first, no tools are
/// offered any more, and the answer says which steps are missing.
const STEPS_MAX: usize = 8;
/// Longer prompts are for a model; matching words in them would take its time.
const PROMPT_BYTES_MAX: usize = 32 * 1024;

#[cfg(test)]
#[path = "intent_tests.rs"]
mod tests;
