//! What of the changes to protected files may stay? The looks before and after go in; the disk is put right, and a person
//! is told.
//!
//! What is not allowed is not thrown away: it is renamed to `<name>.blocked`, which nothing runs, so that a person who
//! wanted it renames it back.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
};

use rustix::fs::{FileType, Mode, fchmod};

use super::{
    at, gitconfig,
    scan::{Content, Found, Role, Scan, When, scan},
};

/// What came of it. The texts are for people and models.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Settled {
    /// What was put right, and what should be known.
    pub notices: Vec<String>,
    /// What could not be looked at or put right: the call must not pass for a success.
    pub unsettled: Vec<String>,
}

/// Looks again and puts right what differs, until a look finds nothing that was moved with things in it.
pub(super) fn settle(root: BorrowedFd<'_>, shown: &Path, before: &Scan) -> Settled {
    let mut settling = Settling { root, shown, before, aside: BTreeSet::new(), moved: false, done: Settled::default() };
    let mut shut = BTreeMap::new();
    for round in 1..=ROUNDS_MAX {
        let after = match scan(root, When::After) {
            Ok(after) => after,
            Err(error) => {
                let why = format!("{} could not be looked through: {error}", path_for_people(shown));
                settling.done.unsettled.push(why);
                break;
            }
        };
        settling.put_right(&after);
        settling.tell_of_gaps(&after);
        shut.extend(after.shut);
        if !std::mem::take(&mut settling.moved) {
            break;
        }
        if round == ROUNDS_MAX {
            let why = format!("{} holds protected folders within one another", path_for_people(shown));
            settling.done.unsettled.push(why);
        }
    }
    // The deepest first: one that is closed again is no way to those below.
    for (path, mode) in shut.iter().rev() {
        if before.shut.get(path) == Some(mode) {
            // A directory that stays open to its owner harms nobody.
            let _ = at::directory(root, path).map(|dir| fchmod(dir, Mode::from_raw_mode(*mode)));
        } else {
            let path = path_for_people(&shown.join(path));
            settling.done.notices.push(format!("{path} was closed to its owner, so it was opened to look into it"));
        }
    }
    settling.done
}

struct Settling<'s> {
    root: BorrowedFd<'s>,
    shown: &'s Path,
    before: &'s Scan,
    /// Where things were put aside; they stay there.
    aside: BTreeSet<PathBuf>,
    /// Whether a directory was put aside, in which things may lie that run by themselves.
    moved: bool,
    done: Settled,
}

impl Settling<'_> {
    fn put_right(&mut self, after: &Scan) {
        let mut gone: Vec<&Path> = Vec::new();
        for folder in after.folders.difference(&self.before.folders) {
            if !gone.iter().any(|done| folder.starts_with(done)) {
                gone.push(folder);
                self.told(folder, block(self.root, folder));
            }
        }
        for (path, found) in &after.files {
            if gone.iter().any(|done| path.starts_with(done)) || self.aside.contains(path) {
                continue;
            }
            let was = self.before.files.get(path);
            if was.is_some_and(|was| was.content == found.content) {
                continue;
            }
            if let Some(done) = right(self.root, path, was, found) {
                self.told(path, done);
            }
        }
        for path in after.closed.difference(&self.before.closed) {
            if self.aside.contains(path) {
                continue;
            }
            let done = block(self.root, path);
            self.told(path, done);
            let path = path_for_people(&self.shown.join(path));
            self.done.unsettled.push(format!("{path} is closed and could not be looked into"));
        }
    }

    fn tell_of_gaps(&mut self, after: &Scan) {
        if !after.cut {
            return;
        }
        let shown = path_for_people(self.shown);
        let notice = format!("{shown} holds more files than were looked through for ones that run later");
        let told = if self.before.cut { &mut self.done.notices } else { &mut self.done.unsettled };
        if !told.contains(&notice) {
            told.push(notice);
        }
    }

    fn told(&mut self, path: &Path, done: io::Result<Done>) {
        let shown = path_for_people(&self.shown.join(path));
        match done {
            Ok(Done { what, aside }) => {
                let told = path_for_people(&aside);
                self.done.notices.push(format!("{shown} was put aside as {told}: {what}"));
                let aside = path.with_file_name(aside);
                self.moved |= at::parent(self.root, &aside)
                    .and_then(|(dir, name)| at::stat(dir.as_fd(), Path::new(name)))
                    .is_ok_and(|about| FileType::from_raw_mode(about.st_mode) == FileType::Directory);
                self.aside.insert(aside);
            }
            Err(error) => {
                let why = format!("{shown} would run later on the host and could not be put aside: {error}");
                self.done.unsettled.push(why);
            }
        }
    }
}

/// What was done with one path.
struct Done {
    what: &'static str,
    /// The name that it has now.
    aside: PathBuf,
}

/// What was done with one file; `None` when it may stay.
fn right(root: BorrowedFd<'_>, path: &Path, was: Option<&Found>, is: &Found) -> Option<io::Result<Done>> {
    match (is.role, &is.content) {
        (Role::GitConfig, Content::File { bytes, mode }) => {
            let text = String::from_utf8_lossy(bytes);
            let before = was.map_or(String::new(), |was| match &was.content {
                Content::File { bytes, .. } => String::from_utf8_lossy(bytes).into_owned(),
                Content::Link(_) | Content::Opaque { .. } => String::new(),
            });
            let kept = gitconfig::harmless(&text, &before);
            (kept != text).then(|| replace(root, path, kept.as_bytes(), *mode))
        }
        (Role::GitConfig | Role::Fixed, _) => Some(match was.map(|was| &was.content) {
            Some(Content::File { bytes, mode }) => replace(root, path, bytes, *mode),
            Some(Content::Link(target)) => relink(root, path, target),
            Some(Content::Opaque { .. }) | None => block(root, path),
        }),
    }
}

fn block(root: BorrowedFd<'_>, path: &Path) -> io::Result<Done> {
    let (dir, name) = at::parent(root, path)?;
    let aside = at::put_aside(dir.as_fd(), name)?;
    Ok(Done { what: "it would run later on the host", aside })
}

fn replace(root: BorrowedFd<'_>, path: &Path, bytes: &[u8], mode: u32) -> io::Result<Done> {
    let (dir, name) = at::parent(root, path)?;
    let aside = at::put_aside(dir.as_fd(), name)?;
    at::write_new(dir.as_fd(), Path::new(name), bytes, mode)?;
    Ok(Done { what: "the change could run something, so the file is without it", aside })
}

fn relink(root: BorrowedFd<'_>, path: &Path, target: &[u8]) -> io::Result<Done> {
    let (dir, name) = at::parent(root, path)?;
    let aside = at::put_aside(dir.as_fd(), name)?;
    rustix::fs::symlinkat(target, &dir, name)?;
    Ok(Done { what: "it replaced a link, which was put back", aside })
}

/// A path that a program may have named, without what would move a cursor or look like another line.
fn path_for_people(path: &Path) -> String {
    let text = path.to_string_lossy();
    let mut end: Vec<char> = text.chars().rev().take(PATH_CHARS_MAX).collect();
    if end.len() == PATH_CHARS_MAX {
        end.push('…');
    }
    end.into_iter().rev().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Looks after one call; a program could put protected folders within one another for ever.
const ROUNDS_MAX: usize = 8;
/// Characters of a path that are told, from its end; a program makes paths of any length.
const PATH_CHARS_MAX: usize = 300;
