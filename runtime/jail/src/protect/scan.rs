//! What in a directory would run later? A look through it, bounded in depth and number.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::fs::FileType;

use super::{
    at::{self, Entry},
    names::{FILES, FOLDERS},
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
    /// True when the directory holds more than was looked at.
    pub cut: bool,
    seen: usize,
    kept_bytes: u64,
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

/// Looks through `root`.
///
/// # Errors
/// The root itself cannot be read. A directory below it that cannot be read hides nothing: nobody else can enter it either.
pub(super) fn scan(root: BorrowedFd<'_>) -> io::Result<Scan> {
    let mut scan = Scan::default();
    let (entries, cut) = at::entries(root, ENTRIES_MAX)?;
    scan.cut |= cut;
    scan.look(root, Path::new(""), &entries, 0);
    Ok(scan)
}

impl Scan {
    fn look(&mut self, dir: BorrowedFd<'_>, path: &Path, entries: &[Entry], depth: usize) {
        if looks_like_repository(entries) {
            self.repository(dir, path, entries);
        }
        for Entry { name, kind } in entries {
            let full = path.join(name);
            let text = name.to_str().unwrap_or_default();
            if FOLDERS.contains(&text) && *kind == FileType::Directory {
                self.folder(dir, name, full);
            } else if FILES.contains(&text) && *kind == FileType::Directory {
                // Nobody runs a directory; an empty one is the cover of another call.
            } else if FILES.contains(&text) || FOLDERS.contains(&text) {
                self.keep(dir, name, full, Role::Fixed);
            } else if text == ".git" && *kind == FileType::Directory {
                if let Some((below, entries)) = self.open(dir, name) {
                    self.repository(below.as_fd(), &full, &entries);
                }
            } else if text == ".git" {
                // A file or link of this name sends git to a repository elsewhere.
                self.keep(dir, name, full, Role::Fixed);
            } else if *kind == FileType::Directory
                && depth < DEPTH_MAX
                && let Some((below, entries)) = self.open(dir, name)
            {
                self.look(below.as_fd(), &full, &entries, depth + 1);
            }
        }
    }

    /// Configuration, hooks and what belongs to submodules.
    fn repository(&mut self, dir: BorrowedFd<'_>, path: &Path, entries: &[Entry]) {
        if !self.repositories.insert(path.to_path_buf()) {
            return;
        }
        for Entry { name, kind } in entries {
            let full = path.join(name);
            match (name.to_str().unwrap_or_default(), *kind) {
                ("config" | "config.worktree", _) => self.keep(dir, name, full, Role::GitConfig),
                ("commondir", _) if !plain_worktree(dir, path, name) => self.keep(dir, name, full, Role::Fixed),
                ("hooks", FileType::Directory) => self.hooks(dir, name, &full),
                ("hooks", _) => self.keep(dir, name, full, Role::Fixed),
                ("modules" | "worktrees", FileType::Directory) => self.modules(dir, name, &full, 0),
                _ => {}
            }
        }
    }

    fn hooks(&mut self, dir: BorrowedFd<'_>, name: &Path, path: &Path) {
        let Some((below, entries)) = self.open(dir, name) else {
            return;
        };
        for entry in entries.iter().filter(|entry| !entry.name.as_os_str().as_bytes().ends_with(b".sample")) {
            self.keep(below.as_fd(), &entry.name, path.join(&entry.name), Role::Fixed);
        }
    }

    fn modules(&mut self, dir: BorrowedFd<'_>, name: &Path, path: &Path, depth: usize) {
        let Some((below, entries)) = self.open(dir, name) else {
            return;
        };
        if entries.iter().any(|entry| matches!(entry.name.to_str(), Some("config" | "hooks" | "config.worktree"))) {
            self.repository(below.as_fd(), path, &entries);
            return;
        }
        for entry in entries.iter().filter(|entry| entry.kind == FileType::Directory && depth < DEPTH_MAX) {
            self.modules(below.as_fd(), &entry.name, &path.join(&entry.name), depth + 1);
        }
    }

    /// A protected folder; an empty one runs nothing and may be the cover of another call.
    fn folder(&mut self, dir: BorrowedFd<'_>, name: &Path, full: PathBuf) {
        if self.open(dir, name).is_some_and(|(_, entries)| !entries.is_empty()) {
            self.fixed(dir, name, &full);
            self.folders.insert(full);
        }
    }

    /// Every file below a protected folder.
    fn fixed(&mut self, dir: BorrowedFd<'_>, name: &Path, path: &Path) {
        let Some((below, entries)) = self.open(dir, name) else {
            return;
        };
        for Entry { name, kind } in &entries {
            let full = path.join(name);
            if *kind == FileType::Directory && full.components().count() < FOLDER_DEPTH_MAX {
                self.fixed(below.as_fd(), name, &full);
            } else {
                self.keep(below.as_fd(), name, full, Role::Fixed);
            }
        }
    }

    fn open(&mut self, dir: BorrowedFd<'_>, name: &Path) -> Option<(std::os::fd::OwnedFd, Vec<Entry>)> {
        let left = ENTRIES_MAX.saturating_sub(self.seen);
        let below = at::directory(dir, name).ok()?;
        let (entries, cut) = at::entries(below.as_fd(), left).ok()?;
        self.seen += entries.len();
        self.cut |= cut;
        Some((below, entries))
    }

    fn keep(&mut self, dir: BorrowedFd<'_>, name: &Path, full: PathBuf, role: Role) {
        // What vanished between listing and looking is not there.
        if let Ok(content) = self.content(dir, name) {
            self.files.insert(full, Found { role, content });
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

/// Git takes a directory with these three for a repository, whatever its name.
fn looks_like_repository(entries: &[Entry]) -> bool {
    ["HEAD", "objects", "refs"].iter().all(|name| entries.iter().any(|entry| entry.name == Path::new(name)))
}

/// A worktree that git made points to the repository that it lies in; any other `commondir` brings foreign configuration.
fn plain_worktree(dir: BorrowedFd<'_>, path: &Path, name: &Path) -> bool {
    let among_worktrees = path.parent().and_then(Path::file_name).is_some_and(|parent| parent == "worktrees");
    among_worktrees && at::read(dir, name, 16).is_ok_and(|text| text.is_some_and(|text| text.trim_ascii() == b"../.."))
}

/// Directories below the root that are looked into; a program could nest for ever.
const DEPTH_MAX: usize = 4;
/// Parts of a path inside a protected folder; below that a whole directory counts as one entry.
const FOLDER_DEPTH_MAX: usize = 12;
/// Entries that are looked at in one mount; a workspace with more is told about.
const ENTRIES_MAX: usize = 50_000;
/// The largest file whose content is kept to be put back.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Content that is kept of one mount; the helper's memory must not grow with the workspace.
const KEPT_BYTES_MAX: u64 = 16 * 1024 * 1024;
