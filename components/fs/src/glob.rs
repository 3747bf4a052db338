//! `glob`: which paths match a pattern.

use std::ops::ControlFlow;

use chitin_sdk::{Failure, Json, tool};
use serde::Serialize;

use crate::directory::{Calls, Kind};
use crate::path::{CHARACTERS_MAX, GuestPath};
use crate::walk::{Names, walk};

#[derive(Serialize)]
pub(crate) struct Answer {
    /// Paths as the other functions take them; directories end with a slash.
    matches: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<&'static str>,
    unreadable: u32,
}

/// Finds files and directories whose path matches a pattern: `*` and `?` within a name, `**` across directories, `[a-z]`,
/// `{a,b}`. A pattern without a slash matches names at any depth. Results are sorted by path.
#[tool(reads, idempotent, repeatable, title = "Find files by name")]
pub(crate) fn glob(
    /// For example `src/**/*.rs` or `*.{md,txt}`.
    #[arg(min_length = 1)]
    pattern: String,
    /// Where to look; the workspace when left out. Relative paths start at /workspace.
    #[arg(max_length = CHARACTERS_MAX)]
    path: Option<String>,
    /// Also look at names that start with a dot, and into .git, node_modules, __pycache__.
    hidden: Option<bool>,
    /// The most results to give.
    #[arg(minimum = 1, maximum = RESULTS_MAX, default = RESULTS_MAX)]
    max_results: u32,
) -> Result<Json<Answer>, Failure> {
    let base = GuestPath::parse_or_workspace(path.as_deref())?;
    let pattern = Pattern::parse("pattern", &pattern)?;
    let results_max = max_results.clamp(1, RESULTS_MAX) as usize;
    let (mut matches, mut path_bytes) = (Vec::new(), 0);
    let walked = walk(&base, names(hidden, &pattern), &Calls::of_one_call(), |found| {
        if !pattern.matches(found.relative) {
            return ControlFlow::Continue(());
        }
        let slash = if found.kind == Kind::Dir { "/" } else { "" };
        let path = format!("{}{slash}", base.below(found.relative));
        path_bytes += path.len();
        if matches.len() == results_max || path_bytes > PATH_BYTES_MAX {
            return ControlFlow::Break("there are more matches");
        }
        matches.push(path);
        ControlFlow::Continue(())
    })?;
    Ok(Json(Answer { matches, stopped: walked.stopped, unreadable: walked.unreadable }))
}

/// Hidden names are visited when that is asked for, or when the pattern itself names one.
pub(crate) fn names(hidden: Option<bool>, pattern: &Pattern) -> Names {
    if hidden.unwrap_or_else(|| pattern.names_hidden()) { Names::Every } else { Names::Visible }
}

/// A pattern for paths below a directory.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    text: String,
}

impl Pattern {
    /// # Errors
    ///
    /// `invalid-input` for a pattern that could match nothing, with a word on how to ask instead.
    pub(crate) fn parse(argument: &str, text: &str) -> Result<Self, Failure> {
        let refuse = |reason: &str| {
            Err(Failure::invalid_input(format!("argument `{argument}`: {reason}")).with_code("bad-pattern"))
        };
        if text.is_empty() {
            return refuse("the pattern is empty");
        }
        if text.len() > PATTERN_BYTES_MAX {
            return refuse("the pattern is too long");
        }
        if text.starts_with('/') {
            return refuse("a pattern is relative; give the directory in `path`");
        }
        if text.split('/').any(|segment| segment == "..") {
            return refuse("a pattern cannot go up with `..`; give the directory in `path`");
        }
        let text = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
        let text = if text.contains('/') { text.to_owned() } else { format!("**/{text}") };
        Ok(Self { text })
    }

    pub(crate) fn matches(&self, relative: &str) -> bool {
        fast_glob::glob_match(&self.text, relative)
    }

    fn names_hidden(&self) -> bool {
        self.text.split('/').any(|segment| segment.starts_with('.'))
    }
}

/// More paths than this are a reason to ask more exactly.
const RESULTS_MAX: u32 = 1000;
/// Keeps deep trees with long names below the output limit.
const PATH_BYTES_MAX: usize = 128 * 1024;
/// A pattern is typed, not generated; matching time grows with it.
const PATTERN_BYTES_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, path: &str, expected: bool) {
        let parsed = Pattern::parse("pattern", pattern).expect("a pattern");
        assert_eq!(parsed.matches(path), expected, "{pattern} on {path}");
    }

    #[test]
    fn patterns_match_as_told_to_the_model() {
        check("*.rs", "lib.rs", true);
        check("*.rs", "src/deep/lib.rs", true);
        check("src/*.rs", "src/lib.rs", true);
        check("src/*.rs", "src/deep/lib.rs", false);
        check("src/**/*.rs", "src/lib.rs", true);
        check("src/**/*.rs", "src/deep/er/lib.rs", true);
        check("./src/*", "src/a", true);
        check("docs/", "docs", true);
        check("*.{md,txt}", "a/readme.md", true);
        check("*.{md,txt}", "a/readme.rs", false);
        check("file[0-9]", "file7", true);
        check("file?", "file", false);
        check("**", "any/thing", true);
    }

    #[test]
    fn a_pattern_that_names_a_hidden_file_finds_it() {
        let named = |text| names(None, &Pattern::parse("pattern", text).expect("a pattern"));
        assert_eq!(named(".github/*"), Names::Every);
        assert_eq!(named(".env"), Names::Every);
        assert_eq!(named("*.rs"), Names::Visible);
    }

    #[test]
    fn patterns_that_lead_elsewhere_are_refused() {
        for text in ["", "/etc/*", "../x", "a/../b"] {
            let code = Pattern::parse("pattern", text).expect_err("not a pattern").code;
            assert_eq!(code.as_deref(), Some("bad-pattern"), "{text}");
        }
    }
}
