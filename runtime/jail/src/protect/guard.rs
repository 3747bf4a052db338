//! What is locked before a program runs, and what is looked at after it? One guard for all writable mounts of a call.

use std::{
    fs::{self, File},
    io,
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, fchmod, flock, mkdirat, openat, unlinkat},
    io::Errno,
};

use super::{
    at,
    names::{FILES, FOLDERS, YARN},
    scan::{Content, Scan, When, scan},
    settle::{Settled, settle},
};

/// Watches the writable mounts of one call.
pub(crate) struct Guard {
    roots: Vec<Root>,
}

/// One path inside a mount, and how it is locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mask {
    /// Below the mount.
    pub path: PathBuf,
    pub kind: MaskKind,
}

/// How a path is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MaskKind {
    /// It is mounted onto itself, writable, so that it cannot be moved away.
    Pinned,
    /// It is mounted onto itself, read-only.
    ReadOnly,
    /// Nothing was there; an empty directory that cannot be changed stands there now.
    Empty,
}

struct Root {
    dir: File,
    shown: PathBuf,
    before: Scan,
    /// Whether this call is counted among those that need the covers.
    counted: bool,
}

impl Guard {
    /// Looks through the directories `roots`, each given opened and with its name for people.
    ///
    /// # Errors
    /// One of them cannot be read; the program must not run without the look.
    pub(crate) fn new(roots: Vec<(File, PathBuf)>) -> io::Result<Self> {
        let roots = roots.into_iter().map(|(dir, shown)| {
            // Counted before the first look: a call that ends meanwhile leaves the covers in place.
            let counted = flock(&dir, FlockOperation::NonBlockingLockShared).is_ok();
            let before = scan(dir.as_fd(), When::Before)?;
            Ok(Root { dir, shown, before, counted })
        });
        Ok(Self { roots: roots.collect::<io::Result<_>>()? })
    }

    /// What has to be locked inside the mount that was given as number `index`; makes the covers.
    ///
    /// # Errors
    /// A cover cannot be made.
    pub(crate) fn masks(&self, index: usize) -> io::Result<Vec<Mask>> {
        let Some(root) = self.roots.get(index) else {
            return Ok(vec![]);
        };
        root.masks()
    }

    /// Undoes what must not stay. Called once nothing of the program is alive; the texts are for people.
    pub(crate) fn settle(self) -> Settled {
        let mut settled = Settled::default();
        for root in self.roots {
            root.uncover();
            let Settled { notices, unsettled } = settle(root.dir.as_fd(), &root.shown, &root.before);
            settled.notices.extend(notices);
            settled.unsettled.extend(unsettled);
        }
        for told in [&mut settled.notices, &mut settled.unsettled] {
            let over = told.len().saturating_sub(TOLD_MAX);
            if over > 0 {
                told.truncate(TOLD_MAX);
                told.push(format!("and {over} more of this kind"));
            }
        }
        settled
    }
}

impl Root {
    /// What is locked, the shallowest first; what is more than can be mounted is left to the look after the call.
    fn masks(&self) -> io::Result<Vec<Mask>> {
        let mut masks = self.wanted();
        masks.retain(|mask| !self.before.shut.keys().any(|shut| mask.path.starts_with(shut)));
        masks.sort_by(|a, b| (a.path.components().count(), &a.path).cmp(&(b.path.components().count(), &b.path)));
        masks.truncate(MASKS_MAX);
        let mut made = Vec::with_capacity(masks.len());
        for mask in masks {
            if mask.kind != MaskKind::Empty || self.cover(&mask.path)? {
                made.push(mask);
            }
        }
        Ok(made)
    }

    fn wanted(&self) -> Vec<Mask> {
        let mut masks = Vec::new();
        let mask = |path: &Path, kind| Mask { path: path.to_path_buf(), kind };
        for repository in &self.before.repositories {
            // A repository is its own `.git`, which must not be moved away; one without that name is the root or beside.
            if repository.file_name().is_some_and(|name| name == ".git") {
                masks.push(mask(repository, MaskKind::Pinned));
            }
        }
        for folder in &self.before.folders {
            masks.push(mask(folder, MaskKind::ReadOnly));
        }
        for (path, found) in &self.before.files {
            let inside_folder = path.ancestors().any(|above| self.before.folders.contains(above));
            let in_hooks = path.parent().and_then(Path::file_name).is_some_and(|name| name == "hooks");
            // A link cannot be mounted onto; the look after the call puts it back.
            if !inside_folder && !in_hooks && !matches!(found.content, Content::Link(_)) {
                masks.push(mask(path, MaskKind::ReadOnly));
            }
        }
        for path in self.coverable() {
            match self.look(&path) {
                Some(FileType::Directory) if !self.before.folders.contains(&path) => {
                    masks.push(mask(&path, MaskKind::ReadOnly));
                }
                // Locked above, or a link, which cannot be mounted onto.
                Some(_) => {}
                None => masks.push(mask(&path, MaskKind::Empty)),
            }
        }
        masks
    }

    fn look(&self, path: &Path) -> Option<FileType> {
        let (dir, name) = at::parent(self.dir.as_fd(), path).ok()?;
        let about = at::stat(dir.as_fd(), Path::new(name)).ok()?;
        Some(FileType::from_raw_mode(about.st_mode))
    }

    /// Paths that must not appear where they are absent.
    fn coverable(&self) -> Vec<PathBuf> {
        let names = FILES.iter().chain(&FOLDERS).filter(|name| **name != YARN).map(PathBuf::from);
        names.chain(self.before.repositories.iter().map(|repository| repository.join("hooks"))).collect()
    }

    /// Makes a cover; false where nothing can be made, so that there is nothing to lock either.
    fn cover(&self, path: &Path) -> io::Result<bool> {
        let (dir, name) = at::parent(self.dir.as_fd(), path)?;
        match mkdirat(&dir, name, Mode::RWXU) {
            Ok(()) => {}
            // Another call was faster.
            Err(Errno::EXIST) => return Ok(true),
            // A program that opens the directory up makes what the look after the call puts aside.
            Err(Errno::ACCESS) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let made = openat(&dir, name, at::OPEN_DIRECTORY, Mode::empty())?;
        at::give_to_owner_of(dir.as_fd(), made.as_fd())?;
        fchmod(&made, Mode::from_raw_mode(COVER_MODE))?;
        Ok(true)
    }

    /// Removes covers unless another call still needs them; that one removes them then, and those of calls that did not
    /// come to their end.
    fn uncover(&self) {
        let alone = self.counted && flock(&self.dir, FlockOperation::NonBlockingLockExclusive).is_ok();
        if alone {
            self.coverable().iter().for_each(|path| remove_cover(self.dir.as_fd(), path));
        }
    }
}

/// What stands at `path` below `root`, links not followed.
///
/// # Errors
/// Nothing does.
pub(crate) fn look(root: &File, path: &Path) -> io::Result<fs::Metadata> {
    let (dir, name) = at::parent(root.as_fd(), path)?;
    File::from(openat(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?).metadata()
}

/// Removes a cover if it stands there. Anything else stays for the look that follows.
fn remove_cover(root: BorrowedFd<'_>, path: &Path) {
    if let Ok((dir, name)) = at::parent(root, path)
        && at::stat(dir.as_fd(), Path::new(name)).is_ok_and(|about| about.st_mode & 0o7777 == COVER_MODE)
    {
        // Removes it only if it is an empty directory.
        let _ = unlinkat(dir, name, AtFlags::REMOVEDIR);
    }
}

/// The mode of a cover, by which every call knows it from a directory that a person made: nobody sets it by accident.
const COVER_MODE: u32 = 0o1555;
/// Paths that are locked in one mount; a workspace full of repositories would otherwise need thousands of mounts. What
/// is not locked is put right after the call.
const MASKS_MAX: usize = 512;
/// Sentences of one kind that are told of one call; a program can make thousands of protected files.
const TOLD_MAX: usize = 40;
