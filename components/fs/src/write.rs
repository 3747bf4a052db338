//! `file_write`: a whole file, created or replaced.

use std::io::ErrorKind;

use chitin_sdk::{Failure, Json, tool};
use serde::Serialize;

use crate::path::{CHARACTERS_MAX, GuestPath};
use crate::refusal;
use crate::roots;
use crate::store::{Stored, store};

#[derive(Serialize)]
pub(crate) struct Written {
    path: String,
    bytes: usize,
    created: bool,
}

/// Writes a whole text file: creates it, or replaces what it held. To change a part of a file use `file_edit`.
#[tool(writes, idempotent, title = "Write a file")]
pub(crate) fn file_write(
    /// The file to write. Relative paths start at /workspace.
    #[arg(max_length = CHARACTERS_MAX)]
    path: String,
    /// All that the file holds afterwards.
    content: String,
    /// Create missing directories above it.
    #[arg(default = true)]
    create_parents: bool,
) -> Result<Json<Written>, Failure> {
    let path = GuestPath::parse(&path)?;
    if content.len() > WRITE_BYTES_MAX {
        return Err(refusal::too_large("write", &path, WRITE_BYTES_MAX as u64));
    }
    if create_parents {
        create_directories_above(&path)?;
    } else {
        require_parent(&path)?;
    }
    let stored = store(&path, content.as_bytes())?;
    let created = stored == Stored::Created;
    Ok(Json(Written { path: path.to_string(), bytes: content.len(), created }))
}

fn create_directories_above(path: &GuestPath) -> Result<(), Failure> {
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
