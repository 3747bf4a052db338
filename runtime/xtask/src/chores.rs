//! How is another program run? A command line goes in; success, or what failed, comes out.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// The repository: the parent of `runtime/`.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

/// The cargo that runs this.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository());
    command
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("start {command:?}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}")) }
}

/// Runs a program of the workspace that is already built.
pub(crate) fn built(program: &str, args: &[&str]) -> Result<(), String> {
    run(Command::new(target().join("debug").join(program)).args(args).current_dir(repository()))
}

/// Builds and runs the benchmarks with full optimisation.
pub(crate) fn bench(args: &[&str]) -> Result<(), String> {
    run(cargo().args(["build", "--locked", "--release", "--workspace", "--bins"]))?;
    crate::setup::sign("release")?;
    run(Command::new(target().join("release/chitin-bench")).args(args).current_dir(repository()))
}
