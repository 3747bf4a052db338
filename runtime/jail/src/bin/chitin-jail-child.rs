//! The helper as a program of its own, for tests and for daemons that keep it apart from the main binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == chitin_jail::HELPER_ARG) {
        return chitin_jail::child_main();
    }
    eprintln!("chitin-jail-child is started by chitin, not by hand");
    ExitCode::from(2)
}
