//! How is machine code mapped from an open file? The one place with `unsafe` in this crate.

#![expect(unsafe_code, reason = "wasmtime cannot check machine code; the MAC of the same inode was checked before")]

use std::{
    fs::File,
    io,
    os::{fd::AsRawFd, unix::fs::FileExt},
};

use wasmtime::{Engine, component::Component};

/// Shows the content of an open file, piece by piece: megabytes of code need no memory of their own for being hashed.
///
/// # Errors
/// The file cannot be read.
pub(super) fn each_piece(file: &File, mut look: impl FnMut(&[u8])) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut offset = 0;
    loop {
        let read = file.read_at(&mut piece, offset)?;
        if read == 0 {
            return Ok(());
        }
        look(piece.get(..read).unwrap_or(&piece));
        offset += read as u64;
    }
}

/// Fits the cache of a processor.
const PIECE_BYTES: usize = 128 * 1024;

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
