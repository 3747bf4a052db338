//! Where are the built guests? A name goes in, a path or the bytes come out; a missing one says how to build it.

use std::path::{Path, PathBuf};

/// The repository that this crate was built from.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap_or_else(|_| PathBuf::from("."))
}

/// The component that cargo built for a guest, for example `chitin_fs.wasm`.
///
/// # Panics
/// The guests were not built; a test that needs one must fail, not pass without it.
pub fn artifact(file: &str) -> PathBuf {
    let path = repository().join("components/target/wasm32-wasip2/guest").join(file);
    assert!(path.is_file(), "{} is missing: run `cargo xtask setup` first", path.display());
    path
}

/// Its bytes.
///
/// # Panics
/// As [`artifact`].
pub fn bytes(file: &str) -> Vec<u8> {
    let path = artifact(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()))
}
