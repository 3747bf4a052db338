//! How is machine code mapped from an open file? The one place with `unsafe` in this crate.

#![expect(unsafe_code, reason = "wasmtime cannot check machine code; the MAC of the same inode was checked before")]

use std::{fs::File, io, os::fd::AsRawFd};

use wasmtime::{Engine, component::Component};

/// Shows the whole content of an open file.
///
/// # Errors
/// The file cannot be read.
pub(super) fn with_contents<T>(file: &File, look: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
    use std::os::unix::fs::FileExt;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(look(&bytes))
}

/// Maps the component from the inode behind `file`, whatever its path leads to by now.
pub(super) fn component(engine: &Engine, file: &File) -> wasmtime::Result<Component> {
    let same_inode = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: `deserialize_file` needs bytes that `precompile_component` of a compatible engine wrote and that do not
    // change while mapped. The caller checked a MAC over the content of this very descriptor under a key that only this
    // home holds and that is used for nothing but its own compiled files, and the name under the MAC carries the
    // engine's compatibility hash. The file is 0400 in a 0700 directory and is replaced by rename only, so the inode
    // stays as it is.
    unsafe { Component::deserialize_file(engine, same_inode) }
}
