//! `file_edit`: one exact piece of text takes the place of another, or nothing changes and the answer says why.

use std::fs::File;
use std::io::Read;

use chitin_sdk::{Failure, Json, tool};
use serde::Serialize;

use crate::path::{CHARACTERS_MAX, GuestPath};
use crate::refusal;
use crate::store::store;

#[derive(Serialize)]
pub(crate) struct Changed {
    path: String,
    replacements: usize,
    /// The lines, as they were before, on which a replaced piece began; the first few.
    lines: Vec<usize>,
    bytes: usize,
}

/// Replaces one exact piece of text in a file. `old` must occur exactly once, white space included, unless `all` is set;
/// nothing is changed otherwise.
#[tool(reads, writes, title = "Edit a file")]
pub(crate) fn file_edit(
    /// The file to change. Relative paths start at /workspace.
    #[arg(max_length = CHARACTERS_MAX)]
    path: String,
    /// The text to replace, as it stands in the file.
    #[arg(min_length = 1)]
    old: String,
    /// The text that takes its place; empty to delete.
    new: String,
    /// Replace every occurrence.
    #[arg(default = false)]
    all: bool,
) -> Result<Json<Changed>, Failure> {
    let path = GuestPath::parse(&path)?;
    let text = read(&path)?;
    let count = if all { Count::All } else { Count::ExactlyOne };
    let edit = replaced(&text, &old, &new, count).map_err(|refusal| refusal.failure(&path))?;
    if edit.text.len() > EDIT_BYTES_MAX {
        return Err(refusal::too_large("write", &path, EDIT_BYTES_MAX as u64));
    }
    store(&path, edit.text.as_bytes())?;
    let lines = edit.lines.iter().copied().take(LINES_SHOWN).collect();
    let bytes = edit.text.len();
    Ok(Json(Changed { path: path.to_string(), replacements: edit.lines.len(), lines, bytes }))
}

fn read(path: &GuestPath) -> Result<String, Failure> {
    let failed = |error| refusal::failure(&error, "edit", path);
    if path.as_path().metadata().map_err(failed)?.is_dir() {
        return Err(refusal::is_a_directory("edit", path));
    }
    let mut bytes = Vec::new();
    let file = File::open(path.as_path()).map_err(failed)?;
    file.take(EDIT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > EDIT_BYTES_MAX {
        return Err(refusal::too_large("edit", path, EDIT_BYTES_MAX as u64));
    }
    String::from_utf8(bytes).map_err(|_| refusal::not_utf8("edit", path))
}

#[derive(Clone, Copy)]
enum Count {
    ExactlyOne,
    All,
}

#[derive(Debug, PartialEq, Eq)]
struct Edit {
    text: String,
    lines: Vec<usize>,
}

#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Empty,
    Same,
    Missing,
    /// On which line the same words stand, with other white space.
    OnlySpacesDiffer(usize),
    Several(Vec<usize>),
}

fn replaced(text: &str, old: &str, new: &str, count: Count) -> Result<Edit, Refusal> {
    if old.is_empty() {
        return Err(Refusal::Empty);
    }
    if old == new {
        return Err(Refusal::Same);
    }
    let lines = lines_of_matches(text, old);
    match (lines.as_slice(), count) {
        ([], _) => Err(line_but_for_spaces(text, old).map_or(Refusal::Missing, Refusal::OnlySpacesDiffer)),
        ([_], _) | (_, Count::All) => Ok(Edit { text: text.replace(old, new), lines }),
        (_, Count::ExactlyOne) => Err(Refusal::Several(lines)),
    }
}

impl Refusal {
    fn failure(self, path: &GuestPath) -> Failure {
        match self {
            Self::Empty => {
                Failure::invalid_input("`old` is empty; it is the text to replace").with_code("bad-argument")
            }
            Self::Same => Failure::invalid_input("`old` and `new` are the same").with_code("no-change"),
            Self::Missing => {
                let message = format!("`old` does not occur in `{path}`; read the file and copy the text exactly");
                Failure::not_found(message).with_code("text-not-found")
            }
            Self::OnlySpacesDiffer(line) => {
                let message =
                    format!("`old` does not occur in `{path}`, but line {line} differs from it only in white space");
                Failure::not_found(message).with_code("text-not-found")
            }
            Self::Several(lines) => {
                let shown: Vec<String> = lines.iter().take(LINES_SHOWN).map(usize::to_string).collect();
                let message = format!(
                    "`old` occurs {} times in `{path}`, on lines {}; add text around it to make it unique, or set `all`",
                    lines.len(),
                    shown.join(", ") + if lines.len() > LINES_SHOWN { ", …" } else { "" }
                );
                Failure::invalid_input(message).with_code("text-not-unique")
            }
        }
    }
}

/// The line, counted from 1, on which each match begins.
fn lines_of_matches(text: &str, old: &str) -> Vec<usize> {
    let (mut line, mut counted_to) = (1, 0);
    let mut lines = Vec::new();
    for (at, _) in text.match_indices(old) {
        line += line_feeds(text.get(counted_to..at).unwrap_or_default());
        counted_to = at;
        lines.push(line);
    }
    lines
}

fn line_feeds(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// The usual reason why nothing was found: tabs for spaces, another indent, or `\r\n`. Compared line by line, trimmed.
fn line_but_for_spaces(text: &str, old: &str) -> Option<usize> {
    let wanted: Vec<&str> = old.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (first, rest) = wanted.split_first()?;
    let found: Vec<(usize, &str)> =
        text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty()).collect();
    let starts = found.iter().enumerate().filter(|(_, (_, line))| line == first);
    starts.map(|(at, (index, _))| (at, index + 1)).find_map(|(at, line)| {
        let follow = found.iter().skip(at + 1).map(|(_, line)| line);
        (follow.take(rest.len()).eq(rest.iter())).then_some(line)
    })
}

/// Bounds the memory of an edit: the text, its successor and the copy on the way to the host.
const EDIT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Enough to find the places, few enough to read.
const LINES_SHOWN: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, old: &str, new: &str, count: Count, expected: &Result<(&str, &[usize]), Refusal>) {
        let said = replaced(text, old, new, count);
        let said = said.as_ref().map(|edit| (edit.text.as_str(), edit.lines.as_slice()));
        assert_eq!(said, expected.as_ref().map(|edit| *edit), "{old:?} in {text:?}");
    }

    #[test]
    fn one_exact_match_is_replaced() {
        check("a\nb\nc\n", "b", "x\ny", Count::ExactlyOne, &Ok(("a\nx\ny\nc\n", &[2])));
        check("a\nb\nc\n", "b\nc", "", Count::ExactlyOne, &Ok(("a\n\n", &[2])));
        check("a b a", "a", "x", Count::All, &Ok(("x b x", &[1, 1])));
        check("a\na\n\na", "a", "aa", Count::All, &Ok(("aa\naa\n\naa", &[1, 2, 4])));
    }

    #[test]
    fn anything_else_changes_nothing_and_says_why() {
        check("a", "", "x", Count::All, &Err(Refusal::Empty));
        check("a", "a", "a", Count::All, &Err(Refusal::Same));
        check("a", "b", "x", Count::All, &Err(Refusal::Missing));
        check("x\na\na", "a", "x", Count::ExactlyOne, &Err(Refusal::Several(vec![2, 3])));
    }

    #[test]
    fn other_white_space_is_pointed_out() {
        let text = "fn f() {\n\tone();\n\n\ttwo();\n}\n";
        check(text, "  one();\n  two();", "x", Count::ExactlyOne, &Err(Refusal::OnlySpacesDiffer(2)));
        check("a\r\nb\r\n", "a\nb", "x", Count::ExactlyOne, &Err(Refusal::OnlySpacesDiffer(1)));
        check(text, "  one();\n  three();", "x", Count::ExactlyOne, &Err(Refusal::Missing));
        check("one", "one\ntwo", "x", Count::ExactlyOne, &Err(Refusal::Missing));
    }
}
