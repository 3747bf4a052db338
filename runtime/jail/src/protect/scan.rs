//! What in a directory would run later? A look through all of it, bounded only against programs that would keep it busy.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    vec,
};

use rustix::fs::{FileType, Mode, fchmod};

use super::{
    at::{self, Budget, Entry},
    names::{FILES, FOLDERS, is_nested, is_telling},
};

/// Everything of a directory that would run later, by path below it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scan {
    /// Files and links.
    pub files: BTreeMap<PathBuf, Found>,
    /// Protected folders.
    pub folders: BTreeSet<PathBuf>,
    /// Directories that git treats as a repository.
    pub repositories: BTreeSet<PathBuf>,
    /// Directories that were closed to ourselves and had to be opened up, with the mode that they had.
    pub shut: BTreeMap<PathBuf, u32>,
    /// Directories that stay closed to us.
    pub closed: BTreeSet<PathBuf>,
    /// True when the directory holds more than was looked at.
    pub cut: bool,
}

/// Which look it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Directories that had to be opened up get their mode back.
    Before,
    /// They stay open, so that what is in them can be put right.
    After,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub role: Role,
    pub content: Content,
}

/// What a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It must stay as it is.
    Fixed,
    /// It configures a repository; keys that run nothing may change.
    GitConfig,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// Bytes and mode.
    File { bytes: Vec<u8>, mode: u32 },
    /// Where it points.
    Link(Vec<u8>),
    /// Too large to keep, or no file; told apart by size and times.
    Opaque { size: i64, changed_s: i64, changed_ns: i64 },
}

/// Looks through `root`, in every directory below it and without recursion: a program decides how deep they lie.
///
/// # Errors
/// The root itself cannot be read.
pub(super) fn scan(root: BorrowedFd<'_>, when: When) -> io::Result<Scan> {
    let budget = Budget { entries: ENTRIES_MAX, names: NAMES_MAX, cut: false };
    let mut looking = Looking { scan: Scan::default(), when, budget, kept_bytes: 0 };
    let was = at::open_up(root)?;
    let top = Within { dir: at::directory(root, Path::new(""))?, restore: was.filter(|_| when == When::Before) };
    let entries = at::entries(top.dir.as_fd(), is_telling, &mut looking.budget)?;
    looking.walk(top, &entries);
    looking.scan.cut |= looking.budget.cut;
    Ok(looking.scan)
}

/// One look.
struct Looking {
    scan: Scan,
    when: When,
    budget: Budget,
    kept_bytes: u64,
}

/// An open directory, which gets back its mode with its end.
struct Within {
    dir: OwnedFd,
    restore: Option<Mode>,
}

impl Drop for Within {
    fn drop(&mut self) {
        if let Some(mode) = self.restore {
            // A directory that stays open to its owner is no reason to stop.
            let _ = fchmod(&self.dir, mode);
        }
    }
}

/// A directory on the way from the root to where the look is.
struct Level {
    within: Within,
    path: PathBuf,
    below: vec::IntoIter<PathBuf>,
    /// Whether what lies below belongs to submodules or worktrees of a repository.
    of_repository: bool,
}

impl Looking {
    fn walk(&mut self, top: Within, entries: &[Entry]) {
        let mut levels = vec![self.level(top, PathBuf::new(), entries, false)];
        while let Some(level) = levels.last_mut() {
            let Some(name) = level.below.next() else {
                levels.pop();
                continue;
            };
            let path = level.path.join(&name);
            let git = self.scan.repositories.contains(&level.path) && (name == *"modules" || name == *"worktrees");
            let of_repository = level.of_repository || git;
            if levels.len() > DEPTH_MAX {
                self.scan.cut = true;
            } else if let Some(level) = levels.last()
                && let Some((within, entries)) = self.open(level.within.dir.as_fd(), &name, &path, is_telling)
            {
                let next = self.level(within, path, &entries, of_repository);
                levels.push(next);
            }
        }
    }

    /// Notes what stands in one directory and which directories come next.
    fn level(&mut self, within: Within, path: PathBuf, entries: &[Entry], of_repository: bool) -> Level {
        let dir = within.dir.as_fd();
        if path.file_name().is_some_and(|name| name == ".git")
            || looks_like_repository(entries)
            || (of_repository && configures(entries))
        {
            self.repository(dir, &path, entries);
        }
        for Entry { name, kind } in entries {
            let full = path.join(name);
            let text = name.to_str().unwrap_or_default();
            if *kind == FileType::Directory {
                // Nobody runs a directory; an empty one may be the cover of another call.
                if FOLDERS.contains(&text) {
                    self.folder(dir, name, full);
                }
            } else if FILES.contains(&text) || FOLDERS.contains(&text) || is_nested(path.file_name(), text) {
                self.keep(dir, name, full, Role::Fixed);
            } else if text == ".git" {
                // A file or link of this name sends git to a repository elsewhere.
                self.keep(dir, name, full, Role::Fixed);
            }
        }
        let below = entries.iter().filter(|entry| entry.kind == FileType::Directory).map(|entry| entry.name.clone());
        let below = below.collect::<Vec<_>>().into_iter();
        Level { within, path, below, of_repository }
    }

    /// Configuration and hooks.
    fn repository(&mut self, dir: BorrowedFd<'_>, path: &Path, entries: &[Entry]) {
        self.scan.repositories.insert(path.to_path_buf());
        for Entry { name, kind } in entries {
            let full = path.join(name);
            match (name.to_str().unwrap_or_default(), *kind) {
                ("hooks", FileType::Directory) => self.hooks(dir, name, &full),
                ("config" | "config.worktree", kind) if kind != FileType::Directory => {
                    self.keep(dir, name, full, Role::GitConfig);
                }
                ("commondir", _) if !plain_worktree(dir, path, name) => self.keep(dir, name, full, Role::Fixed),
                ("hooks", _) => self.keep(dir, name, full, Role::Fixed),
                _ => {}
            }
        }
    }

    fn hooks(&mut self, dir: BorrowedFd<'_>, name: &Path, path: &Path) {
        let Some((below, entries)) = self.open(dir, name, path, |name| !name.ends_with(b".sample")) else {
            return;
        };
        for entry in entries.iter().filter(|entry| !entry.name.as_os_str().as_bytes().ends_with(b".sample")) {
            self.keep(below.dir.as_fd(), &entry.name, path.join(&entry.name), Role::Fixed);
        }
    }

    /// A protected folder; an empty one runs nothing and may be the cover of another call.
    fn folder(&mut self, dir: BorrowedFd<'_>, name: &Path, full: PathBuf) {
        if self.open(dir, name, &full, |_| true).is_some_and(|(_, entries)| !entries.is_empty()) {
            self.fixed(dir, name, &full, 0);
            self.scan.folders.insert(full);
        }
    }

    /// Every file below a protected folder.
    fn fixed(&mut self, dir: BorrowedFd<'_>, name: &Path, path: &Path, depth: usize) {
        let Some((below, entries)) = self.open(dir, name, path, |_| true) else {
            return;
        };
        for Entry { name, kind } in &entries {
            let full = path.join(name);
            if *kind == FileType::Directory && depth < FOLDER_DEPTH_MAX {
                self.fixed(below.dir.as_fd(), name, &full, depth + 1);
            } else {
                self.keep(below.dir.as_fd(), name, full, Role::Fixed);
            }
        }
    }

    fn open(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &Path,
        full: &Path,
        wanted: fn(&[u8]) -> bool,
    ) -> Option<(Within, Vec<Entry>)> {
        let read = at::enter(dir, name).and_then(|at::Entered { dir, was }| {
            if let Some(mode) = was {
                self.scan.shut.insert(full.to_path_buf(), mode.as_raw_mode());
            }
            let within = Within { dir, restore: was.filter(|_| self.when == When::Before) };
            let entries = at::entries(within.dir.as_fd(), wanted, &mut self.budget)?;
            Ok((within, entries))
        });
        match read {
            Ok(read) => Some(read),
            Err(error) => {
                match error.kind() {
                    // It vanished since it was listed, or became something else.
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {}
                    // What another user closed to us, a program of ours cannot have filled.
                    io::ErrorKind::PermissionDenied if !at::is_ours(dir, name) => {}
                    io::ErrorKind::PermissionDenied => {
                        self.scan.closed.insert(full.to_path_buf());
                    }
                    _ => self.scan.cut = true,
                }
                None
            }
        }
    }

    fn keep(&mut self, dir: BorrowedFd<'_>, name: &Path, full: PathBuf, role: Role) {
        // The first look at a file knows best what it is: a hook may be called `config`.
        if self.scan.files.contains_key(&full) {
            return;
        }
        match self.content(dir, name) {
            Ok(content) => {
                self.scan.files.insert(full, Found { role, content });
            }
            // What vanished between listing and looking is not there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => self.scan.cut = true,
        }
    }

    fn content(&mut self, dir: BorrowedFd<'_>, name: &Path) -> io::Result<Content> {
        let about = at::stat(dir, name)?;
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Symlink => {
                return Ok(Content::Link(rustix::fs::readlinkat(dir, name, Vec::new())?.into_bytes()));
            }
            FileType::RegularFile if self.kept_bytes < KEPT_BYTES_MAX => {
                if let Ok(Some(bytes)) = at::read(dir, name, FILE_BYTES_MAX) {
                    self.kept_bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                    return Ok(Content::File { bytes, mode: about.st_mode & 0o777 });
                }
            }
            _ => {}
        }
        let changed_ns = i64::try_from(about.st_ctime_nsec).unwrap_or(i64::MAX);
        Ok(Content::Opaque { size: about.st_size, changed_s: about.st_ctime, changed_ns })
    }
}

/// What git takes for a repository whatever its name, or for the part of one that another directory points to.
fn looks_like_repository(entries: &[Entry]) -> bool {
    let has = |name: &str| entries.iter().any(|entry| entry.name == Path::new(name));
    let stores = has("objects") && has("refs");
    (has("HEAD") && (has("commondir") || stores)) || (stores && has_configuration(entries))
}

fn has_configuration(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| entry.name == Path::new("config") && entry.kind != FileType::Directory)
}

/// Whether a directory of a submodule or worktree holds something that runs.
fn configures(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| matches!(entry.name.to_str(), Some("config" | "hooks" | "config.worktree")))
}

/// A worktree that git made points to the repository that it lies in; any other `commondir` brings foreign configuration.
fn plain_worktree(dir: BorrowedFd<'_>, path: &Path, name: &Path) -> bool {
    let among_worktrees = path.parent().and_then(Path::file_name).is_some_and(|parent| parent == "worktrees");
    among_worktrees && at::read(dir, name, 16).is_ok_and(|text| text.is_some_and(|text| text.trim_ascii() == b"../.."))
}

/// Directories inside one another that are looked into; each holds a descriptor, and a program could nest for ever.
const DEPTH_MAX: usize = 256;
/// Directories inside a protected folder; below that a whole directory counts as one entry.
const FOLDER_DEPTH_MAX: usize = 12;
/// Directories and telling names that are looked at in one mount; memory and time must not grow with what a program makes.
const ENTRIES_MAX: usize = 250_000;
/// Other names that are passed over in one mount; reading them costs little, but a program could make them for ever.
const NAMES_MAX: usize = 5_000_000;
/// The largest file whose content is kept to be put back.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Content that is kept of one mount; the helper's memory must not grow with the workspace.
const KEPT_BYTES_MAX: u64 = 16 * 1024 * 1024;
