//! How bytes take the place of a file, so that a call which is ended in the middle loses nothing.
//!
//! ```text
//!   new file:       write sibling ── rename ── done                       appears whole or not at all
//!   existing file:  write sibling ── overwrite in place ── remove sibling  until the end, the sibling holds all of it
//! ```
//!
//! An existing file is not replaced by a rename, although that would be atomic: WASI 0.2 can neither read nor set
//! permission bits, so a script would stop being executable and a private file would become readable by others. A link
//! would become a file, and a second hard link would keep the old content.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{Error, ErrorKind, Write};

use chitin_sdk::Failure;

use crate::path::GuestPath;
use crate::refusal;

/// What became of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    Created,
    Replaced,
}

pub(crate) fn store(path: &GuestPath, bytes: &[u8]) -> Result<Stored, Failure> {
    match path.as_path().symlink_metadata() {
        Ok(found) if found.is_dir() => Err(refusal::is_a_directory("write", path)),
        Ok(_) => replace(path, bytes).map(|()| Stored::Replaced),
        Err(error) if error.kind() == ErrorKind::NotFound => create(path, bytes).map(|()| Stored::Created),
        Err(error) => Err(refusal::failure(&error, "write", path)),
    }
}

fn create(path: &GuestPath, bytes: &[u8]) -> Result<(), Failure> {
    let sibling = write_sibling(path, bytes).map_err(|error| refusal::failure(&error, "create", path))?;
    std::fs::rename(sibling.as_path(), path.as_path()).map_err(|error| {
        remove(&sibling);
        refusal::failure(&error, "create", path)
    })
}

fn replace(path: &GuestPath, bytes: &[u8]) -> Result<(), Failure> {
    let sibling = match write_sibling(path, bytes) {
        Ok(sibling) => Some(sibling),
        // Files may be writable in a directory that takes no new ones; then there is no copy to fall back on.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => None,
        Err(error) => return Err(refusal::failure(&error, "write", path)),
    };
    let opened = OpenOptions::new().write(true).open(path.as_path());
    let mut file = match opened {
        Ok(file) => file,
        Err(error) => {
            // Nothing was changed yet, so the copy is of no use.
            sibling.iter().for_each(remove);
            return Err(refusal::failure(&error, "write", path));
        }
    };
    match overwrite(&mut file, bytes) {
        Ok(()) => {
            sibling.iter().for_each(remove);
            Ok(())
        }
        Err(error) => Err(half_written(&error, path, sibling.as_ref())),
    }
}

fn overwrite(file: &mut File, bytes: &[u8]) -> Result<(), Error> {
    // Cut to the new length last: a call that ends in between leaves old text at the end instead of an empty file.
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)
}

fn half_written(error: &Error, path: &GuestPath, sibling: Option<&GuestPath>) -> Failure {
    let mut failure = refusal::failure(error, "finish writing", path);
    if let Some(sibling) = sibling {
        failure.message.push_str(&format!("; the whole new content is in `{sibling}`"));
    }
    failure
}

/// Writes a new file beside the one that is meant.
fn write_sibling(path: &GuestPath, bytes: &[u8]) -> Result<GuestPath, Error> {
    let name = path.as_path().file_name().and_then(|name| name.to_str()).ok_or(ErrorKind::InvalidInput)?;
    let mut tries_left = SIBLING_TRIES;
    loop {
        let number = RandomState::new().hash_one(bytes.len());
        let short: String = name.chars().take(SIBLING_NAME_CHARACTERS).collect();
        let sibling = path.beside(&format!(".{short}.{number:016x}.new"));
        match OpenOptions::new().write(true).create_new(true).open(sibling.as_path()) {
            Ok(mut file) => {
                return file.write_all(bytes).map(|()| sibling.clone()).inspect_err(|_| remove(&sibling));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists && tries_left > 0 => tries_left -= 1,
            Err(error) => return Err(error),
        }
    }
}

fn remove(sibling: &GuestPath) {
    // A copy that stays behind is untidy, but the file that was asked for is written: that is not a failure.
    let _left_behind = std::fs::remove_file(sibling.as_path());
}

/// Two random names of 64 bits do not meet by accident; a directory that answers so every time is broken.
const SIBLING_TRIES: u32 = 3;
/// Leaves room for the additions below the 255 bytes that file systems allow for a name, at four bytes a character.
const SIBLING_NAME_CHARACTERS: usize = 50;
