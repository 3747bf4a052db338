//! Which programs of the system do the tests use? Missing ones are installed where that is possible, else named with the
//! command that installs them.

use std::{os::unix::fs::MetadataExt, path::Path, process::Command};

use crate::chores::run;

/// Programs, and the Debian packages that hold them.
const PARTS: [(&str, &str); 8] = [
    ("bwrap", "bubblewrap"),
    ("clang", "clang"),
    ("wasm-ld", "lld"),
    ("python3", "python3-venv"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("git", "git"),
    ("cc", "gcc"),
];

/// Makes sure that every part is there.
pub(crate) fn all() -> Result<(), String> {
    let missing: Vec<&str> =
        PARTS.iter().filter(|(program, _)| !is_there(program)).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages = missing.join(" ");
    eprintln!("setup: installing {packages}");
    let installed =
        run(apt().args(["update", "-qq"])).and_then(|()| run(apt().args(["install", "-y", "-qq"]).args(&missing)));
    installed.map_err(|why| format!("{why}\nhelp: install them with: sudo apt-get install {packages}"))
}

/// Another user than root needs `sudo` without a password, and is otherwise told what to ask for.
fn apt() -> Command {
    let root = std::fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0);
    let mut command = Command::new(if root { "apt-get" } else { "sudo" });
    if !root {
        command.args(["-n", "apt-get"]);
    }
    command
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| Path::new(&folder).join(program).is_file())
}
