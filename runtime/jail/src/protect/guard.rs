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
    names::{FILES, FOLDERS},
    scan::{Content, Scan, scan},
    settle::settle,
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
            let before = scan(dir.as_fd())?;
            Ok(Root { dir, shown, before, counted })
        });
        Ok(Self { roots: roots.collect::<io::Result<_>>()? })
    }

    /// What has to be locked inside the mount that was given as number `index`; makes the covers.
    ///
    /// # Errors
    /// A cover cannot be made, or there is more to lock than can be mounted.
    pub(crate) fn masks(&self, index: usize) -> io::Result<Vec<Mask>> {
        let Some(root) = self.roots.get(index) else {
            return Ok(vec![]);
        };
        let masks = root.masks()?;
        if masks.len() > MASKS_MAX {
            return Err(io::Error::other(format!(
                "{} holds more than {MASKS_MAX} protected files",
                root.shown.display()
            )));
        }
        Ok(masks)
    }

    /// Undoes what must not stay. Called once nothing of the program is alive; the texts are for people.
    pub(crate) fn settle(self) -> Vec<String> {
        let mut notices = Vec::new();
        for root in self.roots {
            root.uncover();
            match scan(root.dir.as_fd()) {
                Ok(after) => notices.extend(settle(root.dir.as_fd(), &root.shown, &root.before, &after)),
                Err(error) => notices.push(format!("{} could not be looked through: {error}", root.shown.display())),
            }
        }
        notices
    }
}

impl Root {
    fn masks(&self) -> io::Result<Vec<Mask>> {
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
            let inside_folder = self.before.folders.iter().any(|folder| path.starts_with(folder));
            let in_hooks = path.parent().and_then(Path::file_name).is_some_and(|name| name == "hooks");
            // A link cannot be mounted onto; the look after the call puts it back.
            if !inside_folder && !in_hooks && !matches!(found.content, Content::Link(_)) {
                masks.push(mask(path, MaskKind::ReadOnly));
            }
        }
        for path in self.coverable() {
            match self.look(&path) {
                Some(FileType::Directory) if !masks.iter().any(|mask| mask.path == path) => {
                    masks.push(mask(&path, MaskKind::ReadOnly));
                }
                // Locked above, or a link, which cannot be mounted onto.
                Some(_) => {}
                None => {
                    self.cover(&path)?;
                    masks.push(mask(&path, MaskKind::Empty));
                }
            }
        }
        masks.sort_by(|a, b| (a.path.components().count(), &a.path).cmp(&(b.path.components().count(), &b.path)));
        Ok(masks)
    }

    fn look(&self, path: &Path) -> Option<FileType> {
        let (dir, name) = at::parent(self.dir.as_fd(), path).ok()?;
        let about = at::stat(dir.as_fd(), Path::new(name)).ok()?;
        Some(FileType::from_raw_mode(about.st_mode))
    }

    /// Paths that must not appear where they are absent.
    fn coverable(&self) -> Vec<PathBuf> {
        let names = FILES.iter().chain(&FOLDERS).map(PathBuf::from);
        names.chain(self.before.repositories.iter().map(|repository| repository.join("hooks"))).collect()
    }

    fn cover(&self, path: &Path) -> io::Result<()> {
        let (dir, name) = at::parent(self.dir.as_fd(), path)?;
        match mkdirat(&dir, name, Mode::RWXU) {
            Ok(()) => {}
            // Another call was faster.
            Err(Errno::EXIST) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let made = openat(&dir, name, at::OPEN_DIRECTORY, Mode::empty())?;
        at::give_to_owner_of(dir.as_fd(), made.as_fd())?;
        Ok(fchmod(&made, Mode::from_raw_mode(COVER_MODE))?)
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
/// Paths that are locked in one mount; a workspace full of repositories would otherwise need thousands of mounts.
const MASKS_MAX: usize = 512;
