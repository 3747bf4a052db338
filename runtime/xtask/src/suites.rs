//! Which suites are there, and did each run whole? Names and filters go in; a line for each suite and one for all comes
//! out.
//!
//! A suite with data rows says in a file how many it ran; fewer than it must is a failure, even when every test is green.

use std::{fs, path::PathBuf, process::Stdio, time::Instant};

use crate::chores::{cargo, repository, target};

/// One suite: its name, the nextest filter that selects it, the rows that its short and full form must run, and the
/// folder of its cargo workspace.
struct Suite {
    name: &'static str,
    filter: &'static str,
    rows_short: u64,
    rows_full: u64,
    folder: &'static str,
}

const fn suite(name: &'static str, filter: &'static str, rows_short: u64, rows_full: u64) -> Suite {
    Suite { name, filter, rows_short, rows_full, folder: "." }
}

const SUITES: [Suite; 19] = [
    suite("types", "package(chitin-types)", 0, 0),
    suite("policy", "package(chitin-policy)", 0, 0),
    suite("package", "package(chitin-package)", 0, 0),
    suite("egress", "package(chitin-egress)", 0, 0),
    suite("records", "package(chitin-records)", 0, 0),
    suite("provider", "package(chitin-provider)", 0, 0),
    suite("agent", "package(chitin-agent)", 0, 0),
    suite("registry", "package(chitin-registry)", 0, 0),
    suite("host", "package(chitin-host) | (package(chitin-testkit) & test(/^(host|stores|channel)::/))", 0, 0),
    suite("cli", "package(chitin-cli) | (package(chitin-testkit) & test(/^(cli|tour|demo)::/))", 0, 0),
    suite("jail", "package(chitin-jail)", 0, 0),
    suite("gateway", "package(chitin-gateway)", 0, 0),
    suite("daemon", "package(chitin-testkit) & test(/^(daemon|sweep)::/)", 0, 0),
    suite("foreign", "package(chitin-testkit) & test(/^foreign::/)", 3, 3),
    suite("memory", "package(chitin-testkit) & test(/^memory::/)", 9, 9),
    suite("flips", "package(chitin-testkit) & test(/^flips::/)", 200, 1_500),
    suite("kills", "package(chitin-testkit) & test(/^kills::/)", 20, 200),
    // The guests' own logic, on this machine's processor; a cargo workspace of its own.
    Suite { folder: "components", ..suite("guests", "all()", 0, 0) },
    suite("tidy", "package(chitin-testkit) & test(/^(tidy|wit)::/)", 0, 0),
];

/// What one suite did.
#[derive(Default)]
struct Count {
    passed: u64,
    failed: u64,
    rows: u64,
}

/// Runs the suites: `--full` for the stated numbers, `--suite NAME` for one.
pub(crate) fn run(args: &[&str]) -> Result<(), String> {
    let full = args.contains(&"--full");
    let only = args.iter().position(|a| *a == "--suite").and_then(|at| args.get(at + 1)).copied();
    if let Some(name) = only
        && !SUITES.iter().any(|s| s.name == name)
    {
        let names: Vec<_> = SUITES.iter().map(|s| s.name).collect();
        return Err(format!("no suite is called {name:?}; there are {}", names.join(", ")));
    }
    let gaps = known_gaps()?;
    let (mut passed, mut failed) = (0, 0);
    let mut lines = Vec::new();
    for suite in SUITES.iter().filter(|s| only.is_none_or(|name| s.name == name)) {
        let began = Instant::now();
        let mut count = nextest(suite, full)?;
        let wanted = if full { suite.rows_full } else { suite.rows_short };
        if count.passed + count.failed == 0 || count.rows < wanted {
            eprintln!("suite {}: {} of {wanted} data rows ran", suite.name, count.rows);
            count.failed += 1;
        }
        let seconds = began.elapsed().as_secs_f64();
        let Count { passed: good, failed: bad, rows } = count;
        let gaps = gaps.iter().filter(|of| *of == suite.name).count();
        let name = suite.name;
        lines.push(format!(
            "{name:<10} rows={rows:<5} passed={good:<4} failed={bad:<3} gaps={gaps:<3} seconds={seconds:.1}"
        ));
        passed += good;
        failed += bad;
    }
    let (good, bad) = if only.is_none() { checks() } else { (0, 0) };
    passed += good;
    failed += bad;
    println!("\n{}\nknown gaps: {}\n", lines.join("\n"), gaps.len());
    println!("{passed} passed, {failed} failed");
    if failed == 0 { Ok(()) } else { Err("not every suite is green".to_owned()) }
}

fn nextest(suite: &Suite, full: bool) -> Result<Count, String> {
    let rows = rows_file(suite.name);
    // Rows of an earlier run would hide rows that did not run in this one.
    let _ = fs::remove_file(&rows);
    let mut command = cargo();
    if suite.folder != "." {
        let folder = repository().join(suite.folder);
        command.env("CARGO_TARGET_DIR", folder.join("target")).current_dir(folder);
    }
    command.args(["nextest", "run", "--locked", "--workspace", "--no-fail-fast", "--no-tests=pass"]);
    command.args(["-E", suite.filter]);
    command.args(["--status-level=fail", "--final-status-level=fail", "--hide-progress-bar"]);
    command.env("CHITIN_TEST_FULL", if full { "1" } else { "0" }).env("RUST_BACKTRACE", "0");
    let output =
        command.stdout(Stdio::inherit()).stderr(Stdio::piped()).output().map_err(|e| {
            format!("start cargo nextest: {e} (install it with `cargo install cargo-nextest --locked`)")
        })?;
    let text = String::from_utf8_lossy(&output.stderr);
    let summary = text.lines().rev().find(|line| line.contains("tests run:") || line.contains("test run:"));
    let mut count = Count::default();
    for part in summary.and_then(|line| line.split("run:").nth(1)).unwrap_or("").split(',') {
        let mut words = part.split_whitespace();
        let number: u64 = words.next().and_then(|n| n.parse().ok()).unwrap_or(0);
        match words.next() {
            Some("passed") => count.passed += number,
            Some("failed" | "timed") => count.failed += number,
            Some(_) | None => {}
        }
    }
    if !output.status.success() {
        eprint!("{text}");
        count.failed = count.failed.max(1);
    }
    count.rows = fs::read_to_string(rows).unwrap_or_default().lines().filter_map(|l| l.parse::<u64>().ok()).sum();
    Ok(count)
}

/// Tests written in documentation (a permit cannot be forged), formatting, lints.
fn checks() -> (u64, u64) {
    let list: [(&str, &[&str]); 3] = [
        ("doc tests", &["test", "-q", "--locked", "--doc", "-p", "chitin-policy", "-p", "chitin-package"]),
        ("formatting", &["fmt", "--all", "--check"]),
        ("lints", &["clippy", "-q", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ];
    let mut counts = (0, 0);
    let folder = repository().join("components");
    let mut guests = cargo();
    guests.args(["test", "-q", "--locked", "--doc", "-p", "chitin-sdk"]);
    guests.env("CARGO_TARGET_DIR", folder.join("target")).current_dir(folder);
    let host = list.map(|(name, args)| {
        let mut command = cargo();
        command.args(args).env("CHITIN_CHECK", name);
        (name, command)
    });
    for (name, mut command) in host.into_iter().chain([("guest doc tests", guests)]) {
        match crate::chores::run(&mut command) {
            Ok(()) => counts.0 += 1,
            Err(why) => {
                eprintln!("{name}: {why}");
                counts.1 += 1;
            }
        }
    }
    counts
}

/// The suite of each known gap. Their number is printed and may only fall.
fn known_gaps() -> Result<Vec<String>, String> {
    let path = repository().join("runtime/testkit/known-gaps.toml");
    let text = fs::read_to_string(&path).map_err(|e| format!("read {}: {e}", path.display()))?;
    let suites = text.lines().filter_map(|line| line.strip_prefix("suite = "));
    Ok(suites.map(|name| name.trim().trim_matches('"').to_owned()).collect())
}

/// Written by `chitin_testkit::rows::ran`.
fn rows_file(suite: &str) -> PathBuf {
    target().join("rows").join(suite)
}
