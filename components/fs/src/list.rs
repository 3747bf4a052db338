//! `list_dir`: what a directory holds, with kinds and sizes.

use std::ops::ControlFlow;
use std::path::Path;

use chitin_sdk::{Failure, Json, tool};
use serde::Serialize;

use crate::directory::{self, Calls, Kind, SIZE_CALLS};
use crate::path::{CHARACTERS_MAX, GuestPath};
use crate::roots;
use crate::walk::{Names, walk};

#[derive(Serialize)]
pub(crate) struct Listing {
    path: String,
    entries: Vec<Listed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<&'static str>,
    unreadable: u32,
}

#[derive(Serialize)]
pub(crate) struct Listed {
    name: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

/// Lists what a directory holds: name, kind (file, dir, link, other) and size. With `depth` above 1 it goes into
/// directories, but not through links.
#[tool(reads, idempotent, repeatable, title = "List a directory")]
pub(crate) fn list_dir(
    /// The directory; the workspace when left out. Relative paths start at /workspace.
    #[arg(max_length = CHARACTERS_MAX)]
    path: Option<String>,
    /// How many levels to list.
    #[arg(minimum = 1, maximum = DEPTH_MAX, default = 1)]
    depth: u32,
) -> Result<Json<Listing>, Failure> {
    let path = GuestPath::parse_or_workspace(path.as_deref())?;
    let depth = depth.clamp(1, DEPTH_MAX);
    let granted = roots::granted();
    if path.as_path() == Path::new("/") && !granted.iter().any(|root| root == "/") {
        let entries = granted.iter().map(|root| listed_root(root)).collect();
        return Ok(Json(Listing { path: path.to_string(), entries, stopped: None, unreadable: 0 }));
    }
    let calls = Calls::of_one_call();
    let (mut entries, mut name_bytes) = (Vec::new(), 0);
    let walked = walk(&path, Names::ToDepth(depth), &calls, |found| {
        name_bytes += found.relative.len();
        if entries.len() == ENTRIES_MAX || name_bytes > NAME_BYTES_MAX {
            return ControlFlow::Break("the listing is too long");
        }
        let bytes = (found.kind == Kind::File).then(|| size(&path.below(found.relative), &calls)).flatten();
        entries.push(Listed { name: found.relative.to_owned(), kind: kind_name(found.kind), bytes });
        ControlFlow::Continue(())
    })?;
    let (stopped, unreadable) = (walked.stopped, walked.unreadable);
    Ok(Json(Listing { path: path.to_string(), entries, stopped, unreadable }))
}

/// Nothing is granted at `/` itself, but whoever lists it wants to know what there is.
fn listed_root(root: &str) -> Listed {
    Listed { name: root.trim_start_matches('/').to_owned(), kind: "dir", bytes: None }
}

/// Nothing for a file that vanished since it was listed, and for those at the end of a very long list.
fn size(path: &GuestPath, calls: &Calls) -> Option<u64> {
    calls.spend(SIZE_CALLS).is_continue().then(|| directory::size(path).ok()).flatten()
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Dir => "dir",
        Kind::Link => "link",
        Kind::Other => "other",
    }
}

/// Deeper trees are what `glob` is for.
const DEPTH_MAX: u32 = 5;
/// A listing longer than this is no longer read by anybody. With the bound on names it stays below the output limit.
const ENTRIES_MAX: usize = 2000;
/// Names can be made long on purpose, to fill the answer with a few of them.
const NAME_BYTES_MAX: usize = 64 * 1024;
