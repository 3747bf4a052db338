//! How long from exec to a healthy daemon, how much memory does it hold, and how many conversations does it carry at once?
//!
//! The daemon is a child with a home of many tools; it is ready when `/readyz` answers. Memory is what the kernel calls
//! resident, after the first message and a second of rest. The conversations speak to a model that takes 200 ms for each
//! answer, so 64 of them can have 320 answers a second and no more.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use chitin_testkit::{
    chitin::Chitin,
    daemon::Daemon,
    guests::repository,
    model::{self, Say},
    server::Pace,
};
use serde_json::json;

use crate::{
    ground::two_workers,
    home,
    times::{Times, ms},
};

/// Exec to ready, with 50 further tools; `foreign` adds one in Python and one in JavaScript.
///
/// # Errors
/// A command failed, or the daemon was not ready.
pub(crate) fn start(name: &str, foreign: &[&str]) -> Result<String> {
    let chitin = two_workers()?.block_on(ready(foreign))?;
    let compiled = chitin.home().join("cache/compiled");
    let before = newest(&compiled)?;
    let mut times = Times::default();
    for run in 0..WARM_UPS + RUNS {
        let (child, took) = exec_to_ready(&chitin)?;
        stop(child)?;
        if run >= WARM_UPS {
            times.add(took);
        }
    }
    let compiled = u32::from(newest(&compiled)? != before);
    Ok(format!(
        "{name} ms={:.1} budget_ms=15.0 runs={RUNS} min_ms={:.1} tools={} compiled_at_start={compiled} \
         budget_compiled_at_start=0",
        ms(times.median()),
        ms(times.least()),
        TOOLS as usize + foreign.len(),
    ))
}

/// Resident memory of an idle daemon with 50 further tools, after its first message.
///
/// # Errors
/// A command failed, or the kernel does not say.
pub(crate) fn memory(name: &str) -> Result<String> {
    two_workers()?.block_on(async {
        let chitin = ready(&[]).await?;
        let daemon = Daemon::start(&chitin).await;
        let answer = daemon.chat("what time is it").await;
        ensure!(!answer.is_empty(), "the daemon gave no answer");
        tokio::time::sleep(Duration::from_secs(1)).await;
        let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid()))?;
        let kib = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("");
            line.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0)
        };
        let (all, own) = (kib("VmRSS:"), kib("RssAnon:"));
        daemon.kill().await;
        let mib = |kib: f64| kib / 1024.0;
        Ok(format!("{name} mib={:.1} budget_mib=20.0 anonymous_mib={:.1} tools={TOOLS}", mib(all), mib(own)))
    })
}

/// Answers a second of 64 conversations with a model that takes 200 ms.
///
/// # Errors
/// A turn failed.
pub(crate) fn conversations(name: &str) -> Result<String> {
    two_workers()?.block_on(async {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let model = model::start_paced(Pace::After(MODEL_TIME), move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Say::Text("an answer of one line".to_owned())
        })
        .await;
        let chitin = home::with_tools(0).await?;
        let file = chitin.home().join("config.toml");
        let base = format!("{}/v1", model.origin());
        let provider = format!("\n[provider]\nkind = \"openai-chat\"\nbase_url = \"{base}\"\nmodel = \"scripted\"\n");
        fs::write(&file, fs::read_to_string(&file)? + &provider)?;
        let daemon = Daemon::start(&chitin).await;
        let one = async |session: usize| -> Result<()> {
            for turn in 0..TURNS_EACH {
                let body = json!({ "message": format!("turn {turn}"), "session": format!("s{session}") });
                let answer = daemon.post("/api/chat", &body).await;
                ensure!(answer.status == 200, "a turn failed: {answer:?}");
            }
            Ok(())
        };
        let began = Instant::now();
        futures::future::try_join_all((0..CONVERSATIONS).map(one)).await?;
        let seconds = began.elapsed().as_secs_f64();
        daemon.kill().await;
        let turns = CONVERSATIONS * TURNS_EACH;
        #[expect(clippy::cast_precision_loss, reason = "some hundred turns")]
        let (rate, most) = (turns as f64 / seconds, CONVERSATIONS as f64 / MODEL_TIME.as_secs_f64());
        Ok(format!(
            "{name} ratio={:.2}x budget_min=0.94x turns_per_s={rate:.0} model_bound_per_s={most:.0} turns={turns} \
             asked={}",
            rate / most,
            asked.load(Ordering::Relaxed)
        ))
    })
}

async fn ready(foreign: &[&str]) -> Result<Chitin> {
    let chitin = home::with_tools(TOOLS).await?;
    for name in foreign {
        let from = repository().join("components/target/foreign").join(format!("{name}.wasm"));
        let to = chitin.outside().join(format!("{name}.wasm"));
        fs::copy(&from, &to).with_context(|| format!("{} is missing: run `cargo xtask guests`", from.display()))?;
        let path = to.to_str().context("a path that is text")?;
        let tool = format!("bench/{name}");
        home::ran(&chitin, &["-y", "tool", "adopt", path, "--name", &tool, "--key", "bench"]).await?;
        home::ran(&chitin, &["tool", "grant", &tool]).await?;
    }
    Ok(chitin)
}

fn exec_to_ready(chitin: &Chitin) -> Result<(Child, Duration)> {
    let mut command = chitin.command(&["--json", "-q", "daemon", "--listen", "127.0.0.1:0"]).into_std();
    let began = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context("start chitin")?;
    let stdout = child.stdout.take().context("a pipe")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    let said: serde_json::Value = serde_json::from_str(&line).context("the daemon's first line")?;
    let address = said.get("listen").and_then(|listen| listen.as_str()).context("an address")?.to_owned();
    let deadline = began + Duration::from_secs(20);
    while !answers(&address) {
        ensure!(Instant::now() < deadline, "the daemon is not ready");
    }
    Ok((child, began.elapsed()))
}

fn answers(address: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        write!(stream, "GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer.starts_with("HTTP/1.1 200"))
    };
    ask().unwrap_or(false)
}

fn stop(mut child: Child) -> Result<()> {
    child.kill()?;
    child.wait()?;
    Ok(())
}

fn newest(folder: &PathBuf) -> Result<Vec<(std::ffi::OsString, std::time::SystemTime)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).context("list the compiled code")? {
        let entry = entry?;
        files.push((entry.file_name(), entry.metadata()?.modified()?));
    }
    files.sort();
    Ok(files)
}

const TOOLS: u32 = 50;
const WARM_UPS: usize = 3;
const RUNS: usize = 20;
const CONVERSATIONS: usize = 64;
const TURNS_EACH: usize = 10;
const MODEL_TIME: Duration = Duration::from_millis(200);
