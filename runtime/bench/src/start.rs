//! How long from the start of the binary to the answer of a tool, with few and with many tools installed?
//!
//! `chitin tool call chitin/time now` as a child, exec to exit. `compiled_at_start` counts files of compiled code that
//! changed meanwhile, and must stay at 0: a tool is compiled when it is installed and never again.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::Path,
    process::Stdio,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, ensure};
use chitin_testkit::chitin::Chitin;

use crate::{
    ground::two_workers,
    home,
    times::{Times, ms},
};

/// Measures with this many further tools.
///
/// # Errors
/// A command failed.
pub(crate) fn measure(name: &str, further: u32) -> Result<String> {
    let chitin = two_workers()?.block_on(ready(further))?;
    let compiled = chitin.home().join("cache/compiled");
    let before = listing(&compiled)?;
    ensure!(!before.is_empty(), "the home holds no compiled code where it is looked for");
    for _ in 0..WARM_UPS {
        exec_to_exit(&chitin)?;
    }
    let mut times = Times::default();
    for _ in 0..RUNS {
        times.add(exec_to_exit(&chitin)?);
    }
    let changed = listing(&compiled)?.iter().filter(|(file, state)| before.get(*file) != Some(*state)).count();
    Ok(format!(
        "{name} ms={:.1} budget_ms=10.0 runs={RUNS} min_ms={:.1} compiled_at_start={changed} \
         budget_compiled_at_start=0",
        ms(times.median()),
        ms(times.least()),
    ))
}

/// A home on which the command was seen to answer.
async fn ready(further: u32) -> Result<Chitin> {
    let chitin = home::with_tools(further).await?;
    let ran = home::ran(&chitin, &CALL).await?;
    ensure!(!ran.out.trim().is_empty(), "the tool gave no answer: {}", ran.err.trim());
    Ok(chitin)
}

fn exec_to_exit(chitin: &Chitin) -> Result<Duration> {
    let mut command = chitin.command(&CALL).into_std();
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let status = command.status().context("start chitin")?;
    let time = began.elapsed();
    ensure!(status.success(), "chitin {} ended with {status}", CALL.join(" "));
    Ok(time)
}

/// Size and time of change of every file.
fn listing(dir: &Path) -> Result<BTreeMap<OsString, (u64, SystemTime)>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).context("list the compiled code")? {
        let entry = entry?;
        let found = entry.metadata()?;
        files.insert(entry.file_name(), (found.len(), found.modified()?));
    }
    Ok(files)
}

const CALL: [&str; 4] = ["tool", "call", "chitin/time", "now"];
const WARM_UPS: u32 = 3;
const RUNS: u32 = 20;
