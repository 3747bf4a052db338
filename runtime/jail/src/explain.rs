//! Does the sandbox hold, here and now? A jail goes in; what it is made of, what it does not do, and proofs come out.
//!
//! Each proof does the same thing twice: once as a plain program, where it must work, and once in the jail, where it must
//! not. A thing that does not even work without the jail proves nothing and counts as failed.

use std::{
    fs, io,
    net::TcpListener,
    path::Path,
    process::{Output, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use chitin_ports::{Ended, Order, Spawn, SpawnMount};
use serde::Serialize;
use tokio::{process::Command, sync::watch, time::timeout};

use crate::{Backend, Jail, Verdict, jail::make_private};

/// What `chitin sandbox explain` shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The version of this shape.
    pub schema: &'static str,
    /// What detection found.
    pub verdict: Verdict,
    /// What the sandbox is made of, from the outside in.
    pub layers: Vec<Layer>,
    /// What it does not do.
    pub gaps: Vec<&'static str>,
    /// What was tried just now.
    pub proofs: Vec<Proof>,
    /// What the last programs left to be known.
    pub notices: Vec<String>,
}

/// One layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// Its name.
    pub name: &'static str,
    /// What it stops.
    pub stops: &'static str,
}

/// One thing that was tried without and with the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// What was tried.
    pub what: &'static str,
    /// What came of it without the sandbox.
    pub without: String,
    /// What came of it inside.
    pub inside: String,
    /// True when it worked without and did not work inside.
    pub ok: bool,
}

impl Explanation {
    /// Whether there is a sandbox and every proof went well.
    pub fn holds(&self) -> bool {
        self.verdict.backend.is_some_and(|backend| backend != Backend::None) && self.proofs.iter().all(|proof| proof.ok)
    }

    /// The explanation for people, a line each.
    pub fn lines(&self) -> Vec<String> {
        let verdict = &self.verdict;
        let name = verdict.backend.map_or("none: no program will be started", Backend::word);
        let mut lines = vec![format!("sandbox   {name}"), format!("landlock  ABI {}", verdict.landlock_abi)];
        if verdict.user_dropped {
            lines.push("user      each program runs as a free user of its own, never as root".to_owned());
        }
        lines.extend(verdict.rejected.iter().map(|r| format!("rejected  {}: {}", r.backend.word(), r.why)));
        lines.extend(self.layers.iter().map(|layer| format!("layer     {}: {}", layer.name, layer.stops)));
        lines.extend(self.gaps.iter().map(|gap| format!("gap       {gap}")));
        lines.extend(self.proofs.iter().map(|proof| {
            let word = if proof.ok { "proved  " } else { "NOT SHOWN" };
            format!("{word}  {}: without the sandbox {}, inside {}", proof.what, proof.without, proof.inside)
        }));
        lines.extend(self.notices.iter().map(|notice| format!("notice    {notice}")));
        lines
    }
}

/// Explains a jail and tries it.
pub async fn explain(jail: &Jail) -> Explanation {
    let verdict = jail.verdict().await.clone();
    let proofs = match verdict.backend {
        Some(backend) => prove(jail, backend).await,
        None => vec![],
    };
    Explanation {
        schema: "chitin/sandbox-explain/v1",
        layers: layers(&verdict),
        gaps: gaps(&verdict),
        verdict,
        proofs,
        notices: jail.notices(),
    }
}

async fn prove(jail: &Jail, backend: Backend) -> Vec<Proof> {
    let bench = match Bench::new(jail, backend) {
        Ok(bench) => bench,
        Err(error) => return vec![Proof::unshown("a directory for the proofs", error)],
    };
    vec![bench.file().await, bench.network().await, bench.environment().await, bench.grandchild().await]
}

/// A workspace and a place beside it.
struct Bench<'j> {
    jail: &'j Jail,
    backend: Backend,
    dir: tempfile::TempDir,
}

impl Proof {
    fn unshown(what: &'static str, why: impl std::fmt::Display) -> Self {
        Self { what, without: format!("could not be tried ({why})"), inside: "not tried".to_owned(), ok: false }
    }

    fn of(what: &'static str, without: (bool, &str), inside: (bool, &str)) -> Self {
        Self { what, without: without.1.to_owned(), inside: inside.1.to_owned(), ok: without.0 && !inside.0 }
    }
}

impl<'j> Bench<'j> {
    fn new(jail: &'j Jail, backend: Backend) -> io::Result<Self> {
        make_private(jail.scratch())?;
        let dir = tempfile::Builder::new().prefix("explain-").tempdir_in(fs::canonicalize(jail.scratch())?)?;
        fs::create_dir(dir.path().join("work"))?;
        Ok(Self { jail, backend, dir })
    }

    async fn file(&self) -> Proof {
        const WHAT: &str = "reading a file outside the workspace";
        let canary = self.dir.path().join("canary");
        if let Err(error) = fs::write(&canary, CANARY) {
            return Proof::unshown(WHAT, error);
        }
        let line = format!("cat '{}'", canary.display());
        let read = |out: &[u8]| out == CANARY.as_bytes();
        match self.both(&line).await {
            Ok((without, inside)) => {
                let word = |read| if read { "its content was read" } else { "its content was not read" };
                let (without, inside) = (read(&without.stdout), read(&inside.out));
                Proof::of(WHAT, (without, word(without)), (inside, word(inside)))
            }
            Err(why) => Proof::unshown(WHAT, why),
        }
    }

    async fn network(&self) -> Proof {
        const WHAT: &str = "reaching a listener on this machine";
        let listening = TcpListener::bind("127.0.0.1:0").and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?.port(), listener))
        });
        let (port, listener) = match listening {
            Ok(listening) => listening,
            Err(error) => return Proof::unshown(WHAT, error),
        };
        let line = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
        let arrived = || listener.accept().is_ok();
        let without = plainly(&line, self.dir.path()).await.map(|_| arrived());
        let inside = self.inside(&line).await.map(|_| arrived());
        match (without, inside) {
            (Ok(without), Ok(inside)) => {
                let word = |arrived| if arrived { "the connection arrived" } else { "nothing arrived" };
                Proof::of(WHAT, (without, word(without)), (inside, word(inside)))
            }
            (Err(why), _) | (_, Err(why)) => Proof::unshown(WHAT, why),
        }
    }

    async fn environment(&self) -> Proof {
        const WHAT: &str = "seeing the daemon's environment";
        // Variables that a program has of its own cannot show whether the daemon's came along.
        let foreign = |out: &[u8]| {
            let text = String::from_utf8_lossy(out).into_owned();
            let names = text.lines().filter(|name| !OWN_NAMES.contains(name) && std::env::var_os(name).is_some());
            names.count()
        };
        match self.both("env | sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\)=.*/\\1/p'").await {
            Ok((without, inside)) => {
                let (without, inside) = (foreign(&without.stdout), foreign(&inside.out));
                let word = |n: usize| format!("{n} of its variables were seen");
                if without == 0 {
                    // Nothing to leak is as good as nothing leaked, as long as nothing came.
                    let without = "there was none to be seen".to_owned();
                    return Proof { what: WHAT, without, inside: word(inside), ok: inside == 0 };
                }
                Proof::of(WHAT, (true, &word(without)), (inside > 0, &word(inside)))
            }
            Err(why) => Proof::unshown(WHAT, why),
        }
    }

    async fn grandchild(&self) -> Proof {
        const WHAT: &str = "leaving a process behind";
        // A number of seconds that nothing else sleeps for, by which it is found again. The line waits until it has
        // surely started, so that an end before its start does not count as proof.
        let number = PROOFS.fetch_add(1, Ordering::Relaxed);
        let mark = format!("61.{:09}{number:04}", std::process::id());
        let line = format!("(setsid sleep {mark} >/dev/null 2>&1 </dev/null &); sleep 0.3");
        let without = plainly(&line, self.dir.path()).await.map(|_| sleeping(&mark));
        let without = without.map(end_all);
        let inside = self.inside(&line).await.map(|_| end_all(sleeping(&mark)));
        match (without, inside) {
            (Ok(without), Ok(inside)) => {
                let word = |left| if left { "it went on running" } else { "it was gone" };
                Proof::of(WHAT, (without, word(without)), (inside, word(inside)))
            }
            (Err(why), _) | (_, Err(why)) => Proof::unshown(WHAT, why),
        }
    }

    async fn both(&self, line: &str) -> Result<(Output, Ended), String> {
        Ok((plainly(line, self.dir.path()).await?, self.inside(line).await?))
    }

    async fn inside(&self, line: &str) -> Result<Ended, String> {
        let from = self.dir.path().join("work");
        let at = match self.backend {
            Backend::Bubblewrap => "/workspace".into(),
            Backend::Landlock | Backend::None => from.clone(),
        };
        let order = Order {
            argv: vec!["sh".to_owned(), "-c".to_owned(), line.to_owned()],
            cwd: at.clone(),
            env: vec![],
            stdin: vec![],
            mounts: vec![SpawnMount { from, at, writable: true }],
            wall_ms: u64::try_from(PROOF_MAX.as_millis()).unwrap_or(u64::MAX),
            cpu_s: 5,
            memory_mib: 64,
            output_kib: 64,
            processes: 32,
            file_mib: 1,
            cancelled: watch::channel(false).1,
            outlet: None,
        };
        self.jail.spawn(order).await.map_err(|e| e.to_string())
    }
}

/// Runs a line of ours without the jail, so that it is known to work at all.
async fn plainly(line: &str, cwd: &Path) -> Result<Output, String> {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(cwd).stdin(Stdio::null()).kill_on_drop(true);
    match timeout(PROOF_MAX, command.output()).await {
        Ok(output) => output.map_err(|e| e.to_string()),
        Err(_) => Err("it took too long".to_owned()),
    }
}

/// Processes that sleep for exactly this long.
fn sleeping(mark: &str) -> Vec<i32> {
    let wanted = format!("sleep\0{mark}\0");
    let all = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let numbered = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbered
        .filter(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted.as_bytes()))
        .collect()
}

/// Ends what a proof left behind; tells whether there was anything.
fn end_all(left: Vec<i32>) -> bool {
    let any = !left.is_empty();
    for pid in left.into_iter().filter_map(rustix::process::Pid::from_raw) {
        // Gone meanwhile is as good.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    any
}

fn layers(verdict: &Verdict) -> Vec<Layer> {
    let mut layers = Vec::new();
    let mut layer = |name, stops| layers.push(Layer { name, stops });
    let Some(backend) = verdict.backend else {
        return layers;
    };
    layer("helper", "inherited descriptors, environment, terminal; processes that outlive the call");
    layer("limits", "too many processes, too much memory, processor time, output, files that are too large");
    if verdict.user_dropped {
        layer("user of its own", "everything that needs root, and files and processes of every other user");
    }
    match backend {
        Backend::Bubblewrap => {
            layer("namespaces", "other processes, the network, files that were not mounted, other machines' names");
            layer("mounts", "writing outside the workspace; making or changing files that run later on the host");
        }
        Backend::Landlock => layer("look after each call", "files that run later on the host: put aside or put back"),
        Backend::None => return layers,
    }
    layer("landlock", "opening, changing and moving files that were not granted, TCP, signals to others");
    layer("seccomp", "sockets, mounts, namespaces, tracing, kernel modules, set-user-id files, typing into terminals");
    layer("residue check", "starting a program that has kept a capability, a descriptor or its user");
    layers
}

fn gaps(verdict: &Verdict) -> Vec<&'static str> {
    let Some(backend) = verdict.backend else {
        return vec![];
    };
    let mut gaps = vec!["an error in the kernel", "memory-backed files of the program itself (memfd)"];
    match backend {
        Backend::Bubblewrap => {}
        Backend::Landlock => {
            gaps.push("the existence, size and times of files outside the workspace are visible");
            gaps.push("a process in a session of its own stays when the helper itself is killed by somebody else");
            gaps.push("programs that insist on /tmp instead of TMPDIR find it closed");
            gaps.push("a protected file is put back after the call, not locked during it");
            if !verdict.user_dropped {
                gaps.push("modes and times of your own files outside the workspace can be changed");
                gaps.push("command lines of other processes are visible");
            }
        }
        Backend::None => gaps.push("everything: somebody wrote sandbox = \"none\""),
    }
    gaps
}

/// Counts proofs, so that two at once in one process do not see each other's.
static PROOFS: AtomicU64 = AtomicU64::new(0);
/// What the file outside the workspace holds.
const CANARY: &str = "chitin canary: nobody inside reads this\n";
/// How long one try may take.
const PROOF_MAX: Duration = Duration::from_secs(10);
/// Variables that every program in the jail has.
const OWN_NAMES: [&str; 9] = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "GIT_CONFIG_SYSTEM", "PWD", "SHLVL", "_"];
