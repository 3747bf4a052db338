//! How a tree of directories is visited: in order of path, within bounds, never through a link.
//!
//! A link to a directory is reported like a file and not entered: it may lead to a directory above it, without end.

use std::fs::{DirEntry, FileType};
use std::io::Error;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use chitin_sdk::Failure;

use crate::path::GuestPath;
use crate::refusal;

/// Something found on the way.
pub(crate) struct Found<'a> {
    /// Below the directory where the walk began, with `/` between names.
    pub(crate) relative: &'a str,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Dir,
    Link,
    Other,
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
    pub(crate) entries: u32,
    /// Directories that could not be read.
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
    mut visit: impl FnMut(&Found<'_>) -> ControlFlow<&'static str>,
) -> Result<Walked, Failure> {
    let mut walked = Walked::default();
    let deadline = Instant::now() + WALK_TIME_MAX;
    let mut waiting = Vec::new();
    let top = Level { relative: String::new(), depth: 0 };
    let entries = top.entries(base, names, &mut walked).map_err(|error| refusal::failure(&error, "list", base))?;
    waiting.extend(entries.into_iter().rev());
    while let Some(entry) = waiting.pop() {
        if Instant::now() > deadline {
            walked.stopped = Some("the tree takes too long to walk");
            break;
        }
        let found = Found { relative: &entry.relative, kind: entry.kind };
        if let ControlFlow::Break(reason) = visit(&found) {
            walked.stopped = Some(reason);
            break;
        }
        if entry.enters(names) {
            let level = Level { depth: entry.depth, relative: entry.relative };
            match level.entries(base, names, &mut walked) {
                Ok(entries) => waiting.extend(entries.into_iter().rev()),
                Err(_) => walked.unreadable += 1,
            }
        }
    }
    Ok(walked)
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

impl Level {
    /// What the directory holds, sorted, as far as the bound on entries allows.
    fn entries(&self, base: &GuestPath, names: Names, walked: &mut Walked) -> Result<Vec<Entry>, Error> {
        let path = if self.relative.is_empty() { base.clone() } else { base.below(&self.relative) };
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(path.as_path())? {
            if walked.entries == WALK_ENTRIES_MAX {
                walked.stopped = Some("the tree has too many entries");
                break;
            }
            walked.entries += 1;
            // An entry whose name is not Unicode cannot be passed to the guest, nor asked for by it.
            if let Some(entry) = entry.ok().and_then(|entry| self.entry(&entry, names)) {
                entries.push(entry);
            }
        }
        entries.sort_unstable_by(|one, other| one.relative.cmp(&other.relative));
        Ok(entries)
    }

    fn entry(&self, entry: &DirEntry, names: Names) -> Option<Entry> {
        let name = entry.file_name().into_string().ok()?;
        let kind = Kind::of(entry.file_type().ok()?);
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

impl Kind {
    pub(crate) fn of(found: FileType) -> Self {
        if found.is_symlink() {
            Self::Link
        } else if found.is_dir() {
            Self::Dir
        } else if found.is_file() {
            Self::File
        } else {
            Self::Other
        }
    }
}

fn is_skipped(name: &str, kind: Kind) -> bool {
    kind == Kind::Dir && SKIPPED_DIRECTORIES.contains(&name)
}

/// What programs write for themselves: large, and never what a question about somebody's files is about.
pub(crate) const SKIPPED_DIRECTORIES: [&str; 3] = [".git", "node_modules", "__pycache__"];
/// Each entry is a call to the host; a home directory granted by mistake has millions.
const WALK_ENTRIES_MAX: u32 = 20_000;
/// No tree made by hand is deeper; one made to trap a walker is.
const WALK_DEPTH_MAX: u32 = 64;
/// Well below the time that a call gets by default, so that a slow tree gives a part of the answer and not none.
const WALK_TIME_MAX: Duration = Duration::from_secs(3);

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
