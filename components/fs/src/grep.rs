//! `grep`: which lines of which files match a regular expression.

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;

use chitin_sdk::{Argument, Failure, Json, tool};
use regex_lite::{Regex, RegexBuilder};
use serde::Serialize;

use crate::directory::{Calls, Kind, READ_CALLS};
use crate::glob::{Pattern, names};
use crate::path::{CHARACTERS_MAX, GuestPath};
use crate::refusal;
use crate::walk::{Names, walk};

#[derive(Argument)]
pub(crate) struct Grep {
    /// The regular expression.
    #[arg(min_length = 1)]
    pattern: String,
    /// A directory or one file; the workspace when left out. Relative paths start at /workspace.
    #[arg(max_length = CHARACTERS_MAX)]
    path: Option<String>,
    /// Search only files that match this pattern, as in `glob`.
    glob: Option<String>,
    /// Treat capitals and small letters alike.
    #[arg(default = false)]
    ignore_case: bool,
    /// Also look at names that start with a dot, and into .git, node_modules, __pycache__.
    hidden: Option<bool>,
    /// The most results to give.
    #[arg(minimum = 1, maximum = RESULTS_MAX, default = RESULTS_DEFAULT)]
    max_results: u32,
}

#[derive(Serialize)]
pub(crate) struct Summary {
    matches: usize,
    files_with_matches: u32,
    files_searched: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<&'static str>,
    files_passed_over: u32,
    unreadable: u32,
}

/// Finds the lines of text files that match a regular expression (no look-around, no back-references) and gives them as
/// `path:line: text`. Binary and very large files are passed over and counted.
#[tool(reads, idempotent, repeatable, title = "Search in files")]
pub(crate) fn grep(#[args] wanted: Grep) -> Result<(String, Json<Summary>), Failure> {
    let base = GuestPath::parse_or_workspace(wanted.path.as_deref())?;
    let needle = Needle::parse(&wanted.pattern, wanted.ignore_case)?;
    let filter = wanted.glob.as_deref().map(|text| Pattern::parse("glob", text)).transpose()?;
    let results_max = wanted.max_results.clamp(1, RESULTS_MAX) as usize;
    let mut search = Search::new(needle, results_max);
    let found = base.as_path().metadata().map_err(|error| refusal::failure(&error, "search", &base))?;
    if !found.is_dir() {
        let stopped = search.file(&base).break_value();
        return Ok(search.answer(stopped, 0));
    }
    let wanted_names = match (&filter, wanted.hidden) {
        (Some(filter), hidden) => names(hidden, filter),
        (None, Some(true)) => Names::Every,
        (None, _) => Names::Visible,
    };
    let calls = Calls::of_one_call();
    let walked = walk(&base, wanted_names, &calls, |found| {
        let fits = filter.as_ref().is_none_or(|filter| filter.matches(found.relative));
        if found.kind == Kind::File && fits {
            calls.spend(READ_CALLS)?;
            search.file(&base.below(found.relative))
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(search.answer(walked.stopped, walked.unreadable))
}

/// What is looked for. Plain text is most of what is asked, and many times faster than an expression.
enum Needle {
    Plain(String),
    Expression(Regex),
}

impl Needle {
    fn parse(pattern: &str, ignore_case: bool) -> Result<Self, Failure> {
        if !ignore_case && !pattern.is_empty() && regex_lite::escape(pattern) == pattern {
            return Ok(Self::Plain(pattern.to_owned()));
        }
        RegexBuilder::new(pattern)
            .case_insensitive(ignore_case)
            .size_limit(EXPRESSION_BYTES_MAX)
            .build()
            .map(Self::Expression)
            .map_err(|error| {
                Failure::invalid_input(format!("argument `pattern`: not a regular expression: {error}"))
                    .with_code("bad-pattern")
            })
    }

    fn is_in(&self, line: &str) -> bool {
        match self {
            Self::Plain(text) => line.contains(text),
            Self::Expression(expression) => expression.is_match(line),
        }
    }
}

/// One search over any number of files.
struct Search {
    needle: Needle,
    results_max: usize,
    lines: String,
    matches: usize,
    files_with_matches: u32,
    files_searched: u32,
    files_passed_over: u32,
    bytes_left: u64,
}

impl Search {
    fn new(needle: Needle, results_max: usize) -> Self {
        Self {
            needle,
            results_max,
            lines: String::new(),
            matches: 0,
            files_with_matches: 0,
            files_searched: 0,
            files_passed_over: 0,
            bytes_left: SEARCH_BYTES_MAX,
        }
    }

    fn file(&mut self, path: &GuestPath) -> ControlFlow<&'static str> {
        let Some(text) = self.read(path) else {
            self.files_passed_over += 1;
            return ControlFlow::Continue(());
        };
        self.files_searched += 1;
        let before = self.matches;
        let outcome = self.text(&path.to_string(), &text);
        self.files_with_matches += u32::from(self.matches > before);
        if outcome.is_continue() && self.bytes_left == 0 {
            return ControlFlow::Break("the files are too much to search in one call");
        }
        outcome
    }

    /// The text of a file; nothing for one that is too long, not text, or not readable.
    fn read(&mut self, path: &GuestPath) -> Option<String> {
        let file = File::open(path.as_path()).ok()?;
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
        self.bytes_left = self.bytes_left.saturating_sub(bytes.len() as u64);
        if bytes.len() as u64 > FILE_BYTES_MAX || bytes.iter().take(BINARY_SAMPLE_BYTES).any(|byte| *byte == 0) {
            return None;
        }
        String::from_utf8(bytes).ok()
    }

    fn text(&mut self, shown_path: &str, text: &str) -> ControlFlow<&'static str> {
        for (index, line) in text.lines().enumerate() {
            if !self.needle.is_in(line) {
                continue;
            }
            if self.matches == self.results_max {
                return ControlFlow::Break("there are more matches");
            }
            if self.lines.len() > OUTPUT_BYTES_MAX {
                return ControlFlow::Break("the answer is too long");
            }
            self.matches += 1;
            let (line, cut) = shortened(line);
            self.lines.push_str(&format!("{shown_path}:{}: {line}{cut}\n", index + 1));
        }
        ControlFlow::Continue(())
    }

    fn answer(self, stopped: Option<&'static str>, unreadable: u32) -> (String, Json<Summary>) {
        let summary = Summary {
            matches: self.matches,
            files_with_matches: self.files_with_matches,
            files_searched: self.files_searched,
            stopped,
            files_passed_over: self.files_passed_over,
            unreadable,
        };
        let lines = if self.matches == 0 { "no matches".to_owned() } else { self.lines };
        (lines, Json(summary))
    }
}

/// The line as far as it is shown, and a mark when it was cut.
fn shortened(line: &str) -> (&str, &'static str) {
    let end = line.floor_char_boundary(LINE_BYTES_SHOWN);
    (line.get(..end).unwrap_or(line), if end < line.len() { " …" } else { "" })
}

const RESULTS_DEFAULT: u32 = 100;
/// More lines than this are a reason to ask more exactly.
const RESULTS_MAX: u32 = 1000;
/// A minified file is one line of a megabyte.
const LINE_BYTES_SHOWN: usize = 300;
/// Leaves room below the output limit for the last line and the summary.
const OUTPUT_BYTES_MAX: usize = 192 * 1024;
/// Source files are smaller; what is larger is data, and read as a whole it would fill the memory.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// What can be searched in the time of one call, by the slower kind of needle.
const SEARCH_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// A counted repetition can blow up an expression; this holds the usual ones many times over.
const EXPRESSION_BYTES_MAX: usize = 1024 * 1024;
/// Where a null byte gives a binary file away, as in other search tools.
const BINARY_SAMPLE_BYTES: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, ignore_case: bool, text: &str, expected: &str) {
        let mut search = Search::new(Needle::parse(pattern, ignore_case).expect("a pattern"), 2);
        let stopped = search.text("f", text).break_value().unwrap_or_default();
        assert_eq!(format!("{}{stopped}", search.lines), expected);
    }

    #[test]
    fn matching_lines_come_with_their_number() {
        check("b", false, "a\nb\nab\n", "f:2: b\nf:3: ab\n");
        check("^b$", false, "a\nb\nab\n", "f:2: b\n");
        check("B", false, "a\nb\n", "");
        check("B", true, "a\nb\n", "f:2: b\n");
        check("a|b", false, "a\r\nb\r\nc", "f:1: a\nf:2: b\n");
    }

    #[test]
    fn the_number_of_results_is_bounded() {
        check("x", false, "x\nx\nx\n", "f:1: x\nf:2: x\nthere are more matches");
    }

    #[test]
    fn a_long_line_is_cut() {
        let line = format!("x{}", "é".repeat(400));
        check("x", false, &line, &format!("f:1: x{} …\n", "é".repeat(149)));
    }

    #[test]
    fn a_bad_expression_names_the_argument() {
        let failure = Needle::parse("(", false).err().expect("not an expression");
        assert_eq!(failure.code.as_deref(), Some("bad-pattern"));
        assert!(failure.message.starts_with("argument `pattern`: not a regular expression: "));
    }
}
