//! `cargo xtask demo`: starts a loopback server, runs the built `chitin` as a child, and reads from outside what it did.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let nonce = format!("n{:x}", std::process::id() ^ seed());
    let tell = |line: &str| println!("{line}");
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (told, end) = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {
            let end = "One message went through signed components and came back, twice.";
            (chitin_testkit::story::whole(&nonce, &tell).await, end)
        }
        ["daemon"] => {
            let end = "A webhook's message went through the daemon's components and came back, once, across a kill.";
            (chitin_testkit::daemon_story::whole(&nonce, &tell).await, end)
        }
        other => {
            eprintln!("there is no demo {:?}; there are: (none), daemon", other.join(" "));
            return ExitCode::from(2);
        }
    };
    match told {
        Ok(()) => {
            println!("\n{end}");
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
