//! `list_dir`: what a directory holds, with kinds and sizes.

use std::ops::ControlFlow;
use std::path::Path;

use chitin_sdk::{Failure, Part};
use serde::{Deserialize, Serialize};

use crate::path::GuestPath;
use crate::roots;
use crate::walk::{Kind, Names, walk};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListDir {
    path: Option<String>,
    depth: Option<u32>,
}

#[derive(Serialize)]
struct Listing {
    path: String,
    entries: Vec<Listed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<&'static str>,
    unreadable: u32,
}

#[derive(Serialize)]
struct Listed {
    name: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

pub(crate) fn list_dir(wanted: &ListDir) -> Result<Vec<Part>, Failure> {
    let path = GuestPath::parse_or_workspace(wanted.path.as_deref())?;
    let depth = wanted.depth.unwrap_or(1).clamp(1, DEPTH_MAX);
    let granted = roots::granted();
    if path.as_path() == Path::new("/") && !granted.iter().any(|root| root == "/") {
        let entries = granted.iter().map(|root| listed_root(root)).collect();
        return Ok(vec![Part::data(&Listing { path: path.to_string(), entries, stopped: None, unreadable: 0 })?]);
    }
    let mut entries = Vec::new();
    let walked = walk(&path, Names::ToDepth(depth), |found| {
        if entries.len() == ENTRIES_MAX {
            return ControlFlow::Break("the listing is too long");
        }
        entries.push(listed(&path, found.relative, found.kind));
        ControlFlow::Continue(())
    })?;
    let listing = Listing { path: path.to_string(), entries, stopped: walked.stopped, unreadable: walked.unreadable };
    Ok(vec![Part::data(&listing)?])
}

/// Nothing is granted at `/` itself, but whoever lists it wants to know what there is.
fn listed_root(root: &str) -> Listed {
    Listed { name: root.trim_start_matches('/').to_owned(), kind: "dir", bytes: None }
}

fn listed(base: &GuestPath, name: &str, kind: Kind) -> Listed {
    let (kind, bytes) = match kind {
        // A file that vanished since it was listed has no size to show.
        Kind::File => ("file", base.below(name).as_path().symlink_metadata().ok().map(|found| found.len())),
        Kind::Dir => ("dir", None),
        Kind::Link => ("link", None),
        Kind::Other => ("other", None),
    };
    Listed { name: name.to_owned(), kind, bytes }
}

/// Deeper trees are what `glob` is for.
pub(crate) const DEPTH_MAX: u32 = 5;
/// A listing longer than this is no longer read by anybody, and would pass the output limit.
const ENTRIES_MAX: usize = 2000;
