//! `cargo xtask demo`: starts a loopback server, runs the built `chitin` as a child, and reads from outside what it did.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let nonce = format!("n{:x}", std::process::id() ^ seed());
    match chitin_testkit::story::whole(&nonce, &|line| println!("{line}")).await {
        Ok(()) => {
            println!("\nOne message went through signed components and came back, twice.");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("the demo failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Differs at each run, so that no answer can have been prepared.
fn seed() -> u32 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.subsec_nanos()
}
