//! Listing a directory and asking for a size by the standard library, so that the rest is tested without a host.

use std::io::Error;

use crate::directory::{Entry, Kind, Listing};
use crate::path::GuestPath;

/// Tests run on a machine where everything is below one root.
pub(crate) fn roots() -> Vec<String> {
    vec!["/".to_owned()]
}

pub(crate) fn list(path: &GuestPath, entries_max: usize) -> Result<Listing, Error> {
    let mut listing = Listing::default();
    for entry in std::fs::read_dir(path.as_path())? {
        let entry = entry?;
        if listing.entries.len() == entries_max {
            listing.is_cut = true;
            break;
        }
        let found = entry.file_type()?;
        let kind = match (found.is_symlink(), found.is_dir(), found.is_file()) {
            (true, ..) => Kind::Link,
            (_, true, _) => Kind::Dir,
            (_, _, true) => Kind::File,
            _ => Kind::Other,
        };
        match entry.file_name().into_string() {
            Ok(name) => listing.entries.push(Entry { name, kind }),
            Err(_) => listing.unnamed += 1,
        }
    }
    Ok(listing)
}

pub(crate) fn size(path: &GuestPath) -> Result<u64, Error> {
    path.as_path().symlink_metadata().map(|found| found.len())
}
