//! The binary `chitin-bench`: a part of a figure's name goes in; one line for each figure that has it comes out.
//!
//! ```text
//!   guest ─┬─ raw ──┐                                        home ─┬─ start    exec to exit
//!          └─ ours ─┴─ warm_call · in_flight · import              ├─ turn     message to answer
//!                                                                  └─ daemon   exec to ready, memory, conversations
//! ```
//!
//! Lines that begin with `#` are for people. Every other line is `name key=value …`. A `ratio` is of two things
//! measured in one run and lies at most at `budget`, or at least at `budget_min`; any other `x` lies at most at
//! `budget_x`.
//!
//! Never: a part of the product. What is measured is called as the product calls it.

mod daemon;
mod ground;
mod guest;
mod home;
mod import;
mod in_flight;
mod ours;
mod raw;
mod start;
mod times;
mod turn;
mod warm_call;

use std::{fs, process::ExitCode, thread};

use anyhow::Result;
use serde_json::json;

/// One question, and how it is answered.
struct Figure {
    name: &'static str,
    measure: fn(&str) -> Result<String>,
}

static FIGURES: [Figure; 15] = [
    Figure {
        name: "host.warm_call",
        measure: |name| warm_call::measure(name, PROBE, "echo", json!({ "text": "one line of text" })),
    },
    Figure { name: "host.warm_call_time", measure: |name| warm_call::measure(name, TIME, "now", json!({})) },
    Figure {
        name: "host.in_flight_64",
        measure: |name| in_flight::measure(name, PROBE, "echo", json!({ "text": "one line of text" })),
    },
    Figure { name: "host.import", measure: |name| import::measure(name, PROBE) },
    Figure { name: "start.tool_call_0", measure: |name| start::measure(name, 0) },
    Figure { name: "start.tool_call_10", measure: |name| start::measure(name, 10) },
    Figure { name: "start.tool_call_50", measure: |name| start::measure(name, 50) },
    Figure { name: "turn.offline_no_tool", measure: |name| turn::measure(name, "hello", 0, 1.0) },
    Figure { name: "turn.offline_one_tool", measure: |name| turn::measure(name, "what time is it", 1, 1.3) },
    Figure { name: "turn.scripted_no_tool", measure: |name| turn::measure_scripted(name, 0, 1.0) },
    Figure { name: "turn.scripted_one_tool", measure: |name| turn::measure_scripted(name, 1, 1.3) },
    Figure { name: "daemon.start_50", measure: |name| daemon::start(name, &[]) },
    Figure { name: "daemon.start_50_js_py", measure: |name| daemon::start(name, &["slug", "words"]) },
    Figure { name: "daemon.memory_idle", measure: daemon::memory },
    Figure { name: "daemon.conversations_64", measure: daemon::conversations },
];

fn main() -> ExitCode {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let chosen: Vec<&Figure> = FIGURES.iter().filter(|figure| figure.name.contains(&filter)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        eprintln!("error: no figure's name has {filter:?} in it; there are {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    println!("{}", machine());
    println!("# ratio <= budget or >= budget_min; x <= budget_x; a figure without min in its name is the median");
    let mut done = ExitCode::SUCCESS;
    for figure in chosen {
        match (figure.measure)(figure.name) {
            Ok(line) => println!("{line}"),
            Err(error) => {
                eprintln!("error: {} was not measured: {error:#}", figure.name);
                done = ExitCode::FAILURE;
            }
        }
    }
    done
}

/// What the figures depend on and a reader cannot see in them.
fn machine() -> String {
    let cores = thread::available_parallelism().map_or_else(|_| "?".to_owned(), |cores| cores.to_string());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let chitin = env!("CARGO_PKG_VERSION");
    format!("# cores={cores} kernel={} chitin={chitin}", kernel.trim())
}

const PROBE: &str = "chitin_probe.wasm";
const TIME: &str = "chitin_time.wasm";
