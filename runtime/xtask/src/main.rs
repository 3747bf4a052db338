//! Build chores: which command sets up, shows, tests or measures the whole? `cargo xtask help` lists them.
//!
//! Standard library only, so that it is built in a second and shares no features with what it builds.

mod chores;
mod foreign;
mod parts;
mod setup;
mod suites;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask setup            build the runtime and the guests, sign the first-party tools
cargo xtask demo             set up, then let a message go through a signed component and come back
cargo xtask demo daemon      the same with a daemon: webhook, tools, reply, killed in the middle and started again
cargo xtask guests           set up, and build the guests in Python, JavaScript and C
cargo xtask test [--full] [--suite NAME]
                             set up, then run every suite (short form unless --full)
cargo xtask bench [FILTER]   build optimised, then print ratios beside their budgets
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["setup"] => setup::all(),
        ["guests"] => parts::all().and_then(|()| setup::all()).and_then(|()| foreign::build()),
        ["demo", rest @ ..] => setup::all().and_then(|()| chores::built("chitin-demo", rest)),
        ["test", rest @ ..] => {
            parts::all().and_then(|()| setup::all()).and_then(|()| foreign::build()).and_then(|()| suites::run(rest))
        }
        ["bench", rest @ ..] => setup::guests().and_then(|()| chores::bench(rest)),
        ["help" | "--help" | "-h"] | [] => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(format!("{:?} is no chore\n{HELP}", other.join(" "))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}
