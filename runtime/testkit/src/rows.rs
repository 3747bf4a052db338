//! How many data rows did a suite run? Counts go into a file that `cargo xtask test` compares with what must run.

use std::io::Write;

/// Whether the stated numbers are asked for, rather than the short form.
pub fn full() -> bool {
    std::env::var_os("CHITIN_TEST_FULL").is_some_and(|v| v == "1")
}

/// Adds rows to a suite's count.
///
/// # Panics
/// The file cannot be written: a suite whose rows are not counted must not look complete.
pub fn ran(suite: &str, rows: usize) {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| crate::guests::repository().join("target"), std::path::PathBuf::from);
    let dir = target.join("rows");
    std::fs::create_dir_all(&dir).expect("the target directory can be written");
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(dir.join(suite)).expect("a rows file");
    writeln!(file, "{rows}").expect("the rows file can be written");
}
