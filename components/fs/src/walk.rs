//! How a tree of directories is visited: in order of path, within bounds, never through a link.
//!
//! A link to a directory is reported like a file and not entered: it may lead to a directory above it, without end.

use std::io::Error;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use chitin_sdk::Failure;

use crate::directory::{self, Calls, Kind, LIST_CALLS};
use crate::path::GuestPath;
use crate::refusal;

/// Something found on the way.
pub(crate) struct Found<'a> {
    /// Below the directory where the walk began, with `/` between names.
    pub(crate) relative: &'a str,
    pub(crate) kind: Kind,
}

/// Which names are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// All, at up to so many levels; a directory that is passed over elsewhere is shown but not entered.
    ToDepth(u32),
    /// All.
    Every,
    /// All but those that start with a dot, and those that hold what programs made.
    Visible,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    pub(crate) entries: usize,
    /// Directories that could not be read, and entries whose name could not.
    pub(crate) unreadable: u32,
    /// Why the walk stopped before the end.
    pub(crate) stopped: Option<&'static str>,
}

/// Visits everything below `base`, until the visitor or a bound says stop.
///
/// # Errors
///
/// When `base` itself cannot be read; what cannot be read below it is counted.
pub(crate) fn walk(
    base: &GuestPath,
    names: Names,
    calls: &Calls,
    mut visit: impl FnMut(&Found<'_>) -> ControlFlow<&'static str>,
) -> Result<Walked, Failure> {
    let mut walk = Walk { base, names, walked: Walked::default() };
    let deadline = Instant::now() + WALK_TIME_MAX;
    let top = Level { relative: String::new(), depth: 0 };
    let mut waiting = walk.entries(&top).map_err(|error| refusal::failure(&error, "list", base))?;
    while let Some(entry) = waiting.pop() {
        let found = Found { relative: &entry.relative, kind: entry.kind };
        let mut next = visit(&found);
        if next.is_continue() && Instant::now() > deadline {
            next = ControlFlow::Break("the tree takes too long to walk; give a narrower `path`");
        }
        if next.is_continue() && entry.enters(names) {
            next = calls.spend(LIST_CALLS);
            if next.is_continue() {
                waiting.extend(walk.entries_or_count(entry));
            }
        }
        if let ControlFlow::Break(reason) = next {
            walk.walked.stopped = Some(reason);
            break;
        }
    }
    Ok(walk.walked)
}

struct Walk<'a> {
    base: &'a GuestPath,
    names: Names,
    walked: Walked,
}

/// A directory on the way.
struct Level {
    relative: String,
    depth: u32,
}

struct Entry {
    relative: String,
    kind: Kind,
    depth: u32,
}

impl Walk<'_> {
    fn entries_or_count(&mut self, directory: Entry) -> Vec<Entry> {
        let level = Level { relative: directory.relative, depth: directory.depth };
        self.entries(&level).unwrap_or_else(|_| {
            self.walked.unreadable += 1;
            Vec::new()
        })
    }

    /// What the directory holds, the first by name at the end, as far as the bound on entries allows.
    fn entries(&mut self, level: &Level) -> Result<Vec<Entry>, Error> {
        let path = if level.relative.is_empty() { self.base.clone() } else { self.base.below(&level.relative) };
        let listing = directory::list(&path, WALK_ENTRIES_MAX - self.walked.entries)?;
        self.walked.entries += listing.entries.len();
        self.walked.unreadable += listing.unnamed;
        if listing.is_cut {
            self.walked.stopped = Some("the tree has too many entries; give a narrower `path`");
        }
        let mut entries: Vec<Entry> =
            listing.entries.into_iter().filter_map(|entry| level.entry(entry, self.names)).collect();
        entries.sort_unstable_by(|one, other| other.relative.cmp(&one.relative));
        Ok(entries)
    }
}

impl Level {
    fn entry(&self, entry: directory::Entry, names: Names) -> Option<Entry> {
        let directory::Entry { name, kind } = entry;
        if names == Names::Visible && (name.starts_with('.') || is_skipped(&name, kind)) {
            return None;
        }
        let relative = if self.relative.is_empty() { name } else { format!("{}/{name}", self.relative) };
        Some(Entry { relative, kind, depth: self.depth + 1 })
    }
}

impl Entry {
    fn enters(&self, names: Names) -> bool {
        let name = self.relative.rsplit('/').next().unwrap_or_default();
        self.kind == Kind::Dir
            && match names {
                Names::ToDepth(deepest) => self.depth < deepest && !is_skipped(name, self.kind),
                Names::Every | Names::Visible => self.depth < WALK_DEPTH_MAX,
            }
    }
}

fn is_skipped(name: &str, kind: Kind) -> bool {
    kind == Kind::Dir && SKIPPED_DIRECTORIES.contains(&name)
}

/// What programs write for themselves: large, and never what a question about somebody's files is about. The comments on
/// `hidden` in `glob` and `grep` tell the model.
pub(crate) const SKIPPED_DIRECTORIES: [&str; 3] = [".git", "node_modules", "__pycache__"];
/// A home directory granted by mistake has millions of entries, and each takes memory and time.
const WALK_ENTRIES_MAX: usize = 20_000;
/// No tree made by hand is deeper; one made to trap a walker is.
const WALK_DEPTH_MAX: u32 = 64;
/// Well below the time that a call gets by default, so that a slow tree gives a part of the answer and not none.
const WALK_TIME_MAX: Duration = Duration::from_secs(3);

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
