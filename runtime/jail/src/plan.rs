//! What does the daemon tell its helper, and what does it hear back? One plan in, the input of the program, one report out.
//!
//! ```text
//!   daemon ── length, plan as JSON, bytes for standard input ──→ helper
//!   daemon ←───────────────────── report as JSON, end of stream ── helper
//! ```
//!
//! The stream is standard input of the helper. It stays open while the program runs: when the daemon closes its side,
//! or dies, the helper ends everything.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Which sandbox holds a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Namespaces made by bubblewrap, and inside them Landlock and seccomp.
    Bubblewrap,
    /// Landlock and seccomp, with the user dropped when the daemon is root.
    Landlock,
    /// Nothing but limits and a clean environment; only where a person wrote `sandbox = "none"`.
    None,
}

impl Backend {
    /// The word for the audit and for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
            Self::None => "none",
        }
    }
}

/// A mount as the helper makes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlanMount {
    pub from: PathBuf,
    pub at: PathBuf,
    pub writable: bool,
}

/// Ceilings that the kernel holds for each process of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ceilings {
    pub cpu_s: u64,
    pub memory_mib: u64,
    pub processes: u64,
    pub file_mib: u64,
}

/// Everything that the helper needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub backend: Backend,
    /// Where bubblewrap lies, when it is the backend.
    pub wrapper: Option<PathBuf>,
    /// The user and group that the program gets, when the daemon is root.
    pub uid: Option<u32>,
    /// This helper, for its second start inside the namespaces.
    pub helper: PathBuf,
    /// A directory of this call alone; the helper removes it.
    pub call_dir: PathBuf,
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub env: Vec<(String, String)>,
    pub mounts: Vec<PlanMount>,
    pub ceilings: Ceilings,
    /// Bytes for standard input, which follow the plan on the stream.
    pub stdin_bytes: u64,
}

/// How it ended, as the helper saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// The program ran and ended.
    Exited { code: Option<i32>, signal: Option<i32> },
    /// Something was left over in the child.
    NotTight(String),
    /// The order cannot be run.
    BadOrder(String),
    /// The system or the wrapper failed.
    System(String),
}

/// The last word of the helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub end: End,
    /// What a person should know: a mount that became read-only, a file that was put aside.
    pub notices: Vec<String>,
    /// What of the workspace could not be looked at or put right; the call is an error then.
    pub unsettled: Vec<String>,
}

/// What the second start of the helper, inside the namespaces, needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InsidePlan {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub env: Vec<(String, String)>,
    pub rules: Vec<PathRule>,
    pub ceilings: Ceilings,
    /// What must stand at a path: device and inode as the helper outside opened them.
    pub places: Vec<Place>,
}

/// One path and the file that must be found there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub at: PathBuf,
    pub device: u64,
    pub inode: u64,
}

/// A path and what may be done below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PathRule {
    pub path: PathBuf,
    pub access: PathAccess,
}

/// What may be done below a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PathAccess {
    /// See names.
    List,
    /// Read files and list directories.
    Read,
    /// Read and run.
    Run,
    /// Read and write one device, without running it.
    Device,
    /// Everything.
    Change,
}

/// The largest plan; a program with a larger command line would not start anyway (the kernel's own limit is below it).
pub(crate) const PLAN_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The largest report; a longer one is a helper that lost its mind.
pub(crate) const REPORT_BYTES_MAX: u64 = 256 * 1024;
