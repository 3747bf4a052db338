//! The binary `chitin`: arguments go in, one command runs, one exit code comes out.
//!
//! Never: an `if` about policy. It constructs, asks and prints.

mod approve;
mod args;
mod client;
mod command;
mod config;
mod error;
mod home;
mod late;
mod live;
mod output;
mod remote;
mod router;
mod sink;
mod source;
mod wire;

use std::{io::IsTerminal, process::ExitCode};

use clap::Parser;

use crate::{args::Cli, output::Output};

fn main() -> ExitCode {
    // The program is its own child: inside the sandbox before a command, and for compiling. Both are decided before any
    // argument is read, any thread started or any file opened.
    match std::env::args_os().nth(1) {
        Some(word) if word == chitin_jail::HELPER_ARG => return chitin_jail::child_main(),
        Some(word) if word == chitin_host::compile::COMPILE_ARG => {
            use std::io;
            let (stdin, mut stdout, mut stderr) = (io::stdin().lock(), io::stdout().lock(), io::stderr().lock());
            return chitin_host::compile::compile_child(stdin, &mut stdout, &mut stderr);
        }
        Some(_) | None => {}
    }
    let cli = Cli::parse();
    let output = Output::new(&cli.global);
    start_logging(&cli.global);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    let done = match runtime {
        Ok(runtime) => {
            let done = runtime.block_on(async {
                tokio::select! {
                    done = command::run(&cli, &output) => done,
                    _ = interrupted(&cli.command) => Err(error::CliError::interrupted()),
                }
            });
            // A thread that still waits for a line from the terminal must not hold up the exit.
            runtime.shutdown_background();
            done
        }
        Err(e) => Err(error::CliError::failed(format!("failed to start the async runtime: {e}"))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.error(&error);
            ExitCode::from(error.exit.code())
        }
    }
}

/// Ctrl-C ends a command. One that runs a turn handles it itself: the turn is closed in the history first.
async fn interrupted(command: &args::Command) -> std::io::Result<()> {
    if matches!(command, args::Command::Chat(_) | args::Command::Run(_) | args::Command::Daemon(_)) {
        std::future::pending().await
    } else {
        tokio::signal::ctrl_c().await
    }
}

fn start_logging(global: &args::Global) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => "error",
        (false, 0) => "warn",
        (false, 1) => "info",
        (false, _) => "debug",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("CHITIN_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .without_time()
        .with_target(false)
        .init();
}

/// One for the guest, one for everything else; starting more costs time at each command.
const WORKERS: usize = 2;
