//! What of the changes to protected files may stay? The looks before and after go in; the disk is put right, and a person
//! is told.
//!
//! What is not allowed is not thrown away: it is renamed to `<name>.blocked`, which nothing runs, so that a person who
//! wanted it renames it back.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    path::Path,
};

use super::{
    at, gitconfig,
    scan::{Content, Found, Role, Scan},
};

/// Puts right what differs and says what was done.
pub(super) fn settle(root: BorrowedFd<'_>, shown: &Path, before: &Scan, after: &Scan) -> Vec<String> {
    let mut notices = Vec::new();
    let mut aside: Vec<&Path> = Vec::new();
    for folder in after.folders.difference(&before.folders) {
        if aside.iter().any(|done| folder.starts_with(done)) {
            continue;
        }
        aside.push(folder);
        notices.push(told(shown, folder, block(root, folder)));
    }
    for (path, found) in &after.files {
        if aside.iter().any(|done| path.starts_with(done)) {
            continue;
        }
        let was = before.files.get(path);
        if was.is_some_and(|was| was.content == found.content) {
            continue;
        }
        if let Some(done) = right(root, path, was, found) {
            notices.push(told(shown, path, done));
        }
    }
    if after.cut {
        notices.push(format!("{} holds more files than were looked through for ones that run later", shown.display()));
    }
    notices
}

/// What was done with one file; `None` when it may stay.
fn right(root: BorrowedFd<'_>, path: &Path, was: Option<&Found>, is: &Found) -> Option<io::Result<String>> {
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

fn block(root: BorrowedFd<'_>, path: &Path) -> io::Result<String> {
    let (dir, name) = at::parent(root, path)?;
    let aside = at::put_aside(dir.as_fd(), name)?;
    Ok(format!("would run later on the host, so it was renamed to {}", aside.display()))
}

fn replace(root: BorrowedFd<'_>, path: &Path, bytes: &[u8], mode: u32) -> io::Result<String> {
    let (dir, name) = at::parent(root, path)?;
    let aside = at::put_aside(dir.as_fd(), name)?;
    at::write_new(dir.as_fd(), Path::new(name), bytes, mode)?;
    Ok(format!(
        "was changed in a way that could run something, so it was put back; the change is in {}",
        aside.display()
    ))
}

fn relink(root: BorrowedFd<'_>, path: &Path, target: &[u8]) -> io::Result<String> {
    let (dir, name) = at::parent(root, path)?;
    let aside = at::put_aside(dir.as_fd(), name)?;
    rustix::fs::symlinkat(target, &dir, name)?;
    Ok(format!("was replaced, so the link was put back; the replacement is in {}", aside.display()))
}

fn told(shown: &Path, path: &Path, done: io::Result<String>) -> String {
    let path = shown.join(path);
    match done {
        Ok(what) => format!("{} {what}", path.display()),
        Err(error) => format!("{} would run later on the host and could not be put aside: {error}", path.display()),
    }
}
