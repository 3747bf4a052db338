//! Is anything left over? Run in the child as the last step before exec; what it finds refuses the program.

use std::{fs, io};

use rustix::io::FdFlags;

use crate::raw;

/// Checks privileges, filters, user and descriptors of the calling process.
///
/// # Errors
/// The text names what is left over.
pub(super) fn check() -> Result<(), String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|e| format!("its own status cannot be read: {e}"))?;
    check_status(&status)?;
    check_descriptors().map_err(|e| format!("its own descriptors cannot be listed: {e}"))?
}

fn check_status(status: &str) -> Result<(), String> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(str::trim).ok_or_else(|| format!("the kernel does not say its {name}"))
    };
    for name in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        let held = field(name)?;
        if held.bytes().any(|digit| digit != b'0') {
            return Err(format!("capabilities are left over ({name} {held})"));
        }
    }
    if field("NoNewPrivs")? != "1" {
        return Err("it could gain privileges (NoNewPrivs is not set)".to_owned());
    }
    if field("Seccomp")? != "2" {
        return Err("no filter of system calls is in force".to_owned());
    }
    for name in ["Uid", "Gid"] {
        if field(name)?.split_whitespace().any(|id| id == "0") {
            return Err(format!("it is still root ({name} {})", field(name)?));
        }
    }
    Ok(())
}

/// Everything but standard input, output and error must close at exec.
fn check_descriptors() -> io::Result<Result<(), String>> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        let Some(number) = name.to_str().and_then(|name| name.parse::<i32>().ok()).filter(|n| *n > 2) else {
            continue;
        };
        if raw::flags_of(number).is_some_and(|flags| !flags.contains(FdFlags::CLOEXEC)) {
            return Ok(Err(format!("descriptor {number} would stay open")));
        }
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIGHT: &str = "Name:\tsh\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nCapInh:\t0000\nCapPrm:\t0000\n\
        CapEff:\t0000\nCapBnd:\t01ff\nCapAmb:\t0000\nNoNewPrivs:\t1\nSeccomp:\t2\n";

    fn check(was: &str, is: &str, expected: &str) {
        assert_eq!(check_status(TIGHT), Ok(()), "the twin without residue");
        let why = check_status(&TIGHT.replace(was, is)).expect_err("refused");
        assert!(why.contains(expected), "{why}");
    }

    #[test]
    fn each_residue_refuses() {
        check("CapEff:\t0000", "CapEff:\t0400", "CapEff");
        check("CapAmb:\t0000", "CapAmb:\t0001", "CapAmb");
        check("NoNewPrivs:\t1", "NoNewPrivs:\t0", "NoNewPrivs");
        check("Seccomp:\t2", "Seccomp:\t0", "no filter");
        check("Uid:\t1000\t1000", "Uid:\t1000\t0", "still root (Uid");
        check("Gid:\t1000\t1000", "Gid:\t0\t1000", "still root (Gid");
        check("CapPrm:\t0000\n", "", "does not say");
    }
}
