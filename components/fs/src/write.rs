//! `file_write`: a whole file, created or replaced.

use std::io::ErrorKind;

use chitin_sdk::{Failure, Part};
use serde::{Deserialize, Serialize};

use crate::path::GuestPath;
use crate::refusal;
use crate::roots;
use crate::store::{Stored, store};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileWrite {
    path: String,
    content: String,
    create_parents: Option<bool>,
}

#[derive(Serialize)]
struct Written {
    path: String,
    bytes: usize,
    created: bool,
}

pub(crate) fn file_write(wanted: &FileWrite) -> Result<Vec<Part>, Failure> {
    let path = GuestPath::parse(&wanted.path)?;
    if wanted.content.len() > WRITE_BYTES_MAX {
        return Err(refusal::too_large("write", &path, WRITE_BYTES_MAX as u64));
    }
    if wanted.create_parents.unwrap_or(true) {
        create_parents(&path)?;
    } else {
        require_parent(&path)?;
    }
    let stored = store(&path, wanted.content.as_bytes())?;
    let created = stored == Stored::Created;
    Ok(vec![Part::data(&Written { path: path.to_string(), bytes: wanted.content.len(), created })?])
}

fn create_parents(path: &GuestPath) -> Result<(), Failure> {
    match path.as_path().parent() {
        // Asked first, because creating a root that exists is refused where only the host may create it.
        Some(parent) if !parent.is_dir() => std::fs::create_dir_all(parent).map_err(|error| {
            let in_the_way = error.kind() == ErrorKind::AlreadyExists;
            let error = if in_the_way { ErrorKind::NotADirectory.into() } else { error };
            refusal::failure(&error, "create the directories above", path)
        }),
        _ => Ok(()),
    }
}

fn require_parent(path: &GuestPath) -> Result<(), Failure> {
    match path.as_path().parent() {
        Some(parent) if !parent.is_dir() && roots::hold(path) => {
            let message =
                format!("cannot write `{path}`: its directory does not exist; set `create_parents` to create it");
            Err(Failure::not_found(message).with_code("no-parent"))
        }
        _ => Ok(()),
    }
}

/// What one call may carry; a bound of its own, for hosts that carry more.
const WRITE_BYTES_MAX: usize = 1024 * 1024;
