//! Listing a directory with two calls to the host, however much it holds, and asking for a size with one.
//!
//! The standard library asks for a hash of each entry that it lists, and twice for each size: a thousand files would use
//! up the calls that the host allows for one call of a tool. Reading and writing go through the library.

use std::io::{Error, ErrorKind};
use std::path::Path;

use self::bindings::wasi::filesystem::preopens::get_directories;
use self::bindings::wasi::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};
use crate::directory::{Entry, Kind, Listing};
use crate::path::GuestPath;

#[expect(clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({
        inline: "
            package chitin:fs-guest;
            world roots { import wasi:filesystem/preopens@0.2.12; }
        ",
        path: ["../../wit/deps/io.wit", "../../wit/deps/clocks.wit", "../../wit/deps/filesystem.wit"],
        world: "chitin:fs-guest/roots",
        generate_all,
    });
}

thread_local! {
    /// Asked for once: the instance is made for one call, and its roots do not change.
    static ROOTS: Vec<(String, Descriptor)> =
        get_directories().into_iter().map(|(descriptor, at)| (at, descriptor)).collect();
}

/// The guest paths of the roots. A host may give `/` too, to answer there for every path that it refuses; that is not a
/// grant, and none can be given for all of `/`.
pub(crate) fn roots() -> Vec<String> {
    ROOTS.with(|roots| roots.iter().map(|(at, _)| at.clone()).filter(|at| at != "/").collect())
}

/// Lists a directory, following the path when it is a link.
pub(crate) fn list(path: &GuestPath, entries_max: usize) -> Result<Listing, Error> {
    let directory = below_root(path, |root, relative| {
        root.open_at(PathFlags::SYMLINK_FOLLOW, relative, OpenFlags::DIRECTORY, DescriptorFlags::READ)
    })?;
    let stream = directory.read_directory().map_err(as_error)?;
    let mut listing = Listing::default();
    for _ in 0..entries_max {
        match stream.read_directory_entry() {
            Ok(Some(entry)) => listing.entries.push(Entry { name: entry.name, kind: kind(entry.type_) }),
            Ok(None) => return Ok(listing),
            // A name that is not Unicode: it cannot be passed to the guest, nor asked for by it.
            Err(ErrorCode::IllegalByteSequence) => listing.unnamed += 1,
            Err(code) => return Err(as_error(code)),
        }
    }
    listing.is_cut = true;
    Ok(listing)
}

/// The size of a file, or of a link itself.
pub(crate) fn size(path: &GuestPath) -> Result<u64, Error> {
    below_root(path, |root, relative| root.stat_at(PathFlags::empty(), relative)).map(|found| found.size)
}

/// Asks the root that holds the path; of two such roots the deeper one.
fn below_root<T>(path: &GuestPath, ask: impl FnOnce(&Descriptor, &str) -> Result<T, ErrorCode>) -> Result<T, Error> {
    ROOTS.with(|roots| {
        let holding = roots.iter().filter(|(at, _)| path.as_path().starts_with(at)).max_by_key(|(at, _)| at.len());
        let (at, root) = holding.ok_or(ErrorKind::NotFound)?;
        let relative = path.as_path().strip_prefix(at).ok().and_then(Path::to_str).unwrap_or_default();
        ask(root, if relative.is_empty() { "." } else { relative }).map_err(as_error)
    })
}

fn kind(found: DescriptorType) -> Kind {
    match found {
        DescriptorType::RegularFile => Kind::File,
        DescriptorType::Directory => Kind::Dir,
        DescriptorType::SymbolicLink => Kind::Link,
        DescriptorType::Unknown
        | DescriptorType::BlockDevice
        | DescriptorType::CharacterDevice
        | DescriptorType::Fifo
        | DescriptorType::Socket => Kind::Other,
    }
}

fn as_error(code: ErrorCode) -> Error {
    match code {
        ErrorCode::Access | ErrorCode::NotPermitted => ErrorKind::PermissionDenied.into(),
        ErrorCode::NoEntry => ErrorKind::NotFound.into(),
        ErrorCode::NotDirectory => ErrorKind::NotADirectory.into(),
        ErrorCode::NameTooLong => ErrorKind::InvalidFilename.into(),
        ErrorCode::Invalid => ErrorKind::InvalidInput.into(),
        ErrorCode::InsufficientMemory => ErrorKind::OutOfMemory.into(),
        other => Error::other(other.message().to_owned()),
    }
}
