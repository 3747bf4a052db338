//! How does a native program run? The only way: an order goes in, the sandbox decides how, an end comes out.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use tokio::sync::watch;

/// A directory or file that the program sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnMount {
    /// Its place on the host, absolute and canonical.
    pub from: PathBuf,
    /// Its place for the program; backends without a mount namespace need it to equal `from`.
    pub at: PathBuf,
    /// Whether the program may change it.
    pub writable: bool,
}

/// Takes pieces of standard output or error as they come. The flag is true for standard error.
pub type Outlet = Arc<dyn Fn(&[u8], bool) + Send + Sync>;

/// One program to run.
#[derive(Clone)]
pub struct Order {
    /// Program and arguments. A name without a slash is looked up in the sandbox's own PATH.
    pub argv: Vec<String>,
    /// Working directory, a path that the program sees; it never widens what it may touch.
    pub cwd: PathBuf,
    /// Environment beside PATH, HOME, LANG, TERM and TMPDIR, which the sandbox sets. Nothing is inherited.
    pub env: Vec<(String, String)>,
    /// What stands on its standard input; empty is the null device.
    pub stdin: Vec<u8>,
    /// What it sees beside the read-only system directories.
    pub mounts: Vec<SpawnMount>,
    /// Wall time in milliseconds after which it and everything it started is killed.
    pub wall_ms: u64,
    /// Processor time in seconds.
    pub cpu_s: u64,
    /// Address space of each process in MiB.
    pub memory_mib: u64,
    /// Standard output and error together in KiB; what is more is dropped and said.
    pub output_kib: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// The largest file it may write in MiB.
    pub file_mib: u64,
    /// Becomes true once somebody asks to stop.
    pub cancelled: watch::Receiver<bool>,
    /// Takes output as it comes, where somebody wants it.
    pub outlet: Option<Outlet>,
}

/// Why it was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The wall time was over.
    Wall,
    /// Somebody asked to stop.
    Cancelled,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Set when the sandbox ended it.
    pub stopped: Option<Stopped>,
    /// Standard output.
    pub out: Vec<u8>,
    /// Standard error.
    pub err: Vec<u8>,
    /// Bytes of output that were dropped.
    pub dropped_bytes: u64,
    /// The backend that held it, for the audit: `bubblewrap`, `landlock`.
    pub backend: &'static str,
    /// What the sandbox put right or could not look at, a sentence each; for the caller and the model.
    pub notices: Vec<String>,
}

/// Why nothing was started, or why its end does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpawnError {
    /// No sandbox works here; the text says what was tried and why each failed.
    #[error("no sandbox works here: {0}")]
    NoSandbox(String),
    /// The order itself cannot be run: no such program, a mount that cannot be made.
    #[error("{0}")]
    BadOrder(String),
    /// The sandbox found something left over in the child and refused to run it.
    #[error("the sandbox is not tight: {0}")]
    NotTight(String),
    /// The program ran, but not everything that it left could be looked at or put right, so it must not pass for a
    /// success. What it wrote stays.
    #[error("make sure that the command left nothing that runs later on the host: {0}")]
    Unsettled(String),
    /// The system failed.
    #[error("start the program: {0}")]
    System(String),
}

/// Runs native programs.
#[async_trait]
pub trait Spawn: Send + Sync {
    /// Runs one program to its end. Nothing that it started is alive when this returns. Dropping the future kills it too.
    async fn spawn(&self, order: Order) -> Result<Ended, SpawnError>;
}
