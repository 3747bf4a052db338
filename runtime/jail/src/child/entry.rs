//! Which part of the helper is meant? The command line goes in, one of three parts runs.

use std::{env, ffi::OsString, io, process::ExitCode};

use super::{inside, shift, supervise};

/// The first argument by which a program that links this crate knows that it is started as the helper.
pub const HELPER_ARG: &str = "__jail-child";
/// The second argument of the start inside the namespaces; three descriptor numbers follow.
pub(super) const INSIDE: &str = "inside";
/// The second argument of the process that only holds a user namespace open.
pub(super) const HOLD: &str = "hold";

/// The whole life of the helper. A program calls this first thing in `main`, before it starts a thread or opens a file,
/// when its first argument is [`HELPER_ARG`].
pub fn child_main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().skip(2).collect();
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let done = one_thread().and_then(|()| match words.as_slice() {
        [] => supervise::supervise(),
        [INSIDE, plan, report, lifeline] => inside::run(plan, report, lifeline),
        [HOLD] => shift::hold(),
        _ => Err(io::Error::other("the helper was started with arguments that it does not know")),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("chitin-jail helper: {error}");
            ExitCode::from(FAILED)
        }
    }
}

/// Forking and unsharing are only safe for a process with one thread.
fn one_thread() -> io::Result<()> {
    let tasks = std::fs::read_dir("/proc/self/task")?.count();
    if tasks == 1 { Ok(()) } else { Err(io::Error::other(format!("the helper has {tasks} threads instead of one"))) }
}

/// The exit code of a helper that could not report; the code of a program that could not be started.
const FAILED: u8 = 125;
