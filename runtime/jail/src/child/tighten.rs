//! How does a process give up everything before it becomes the program? The steps, in the order in which each is possible.
//!
//! ```text
//!   drop user → die with the parent → working directory → limits → Landlock → seccomp → residue check → (exec)
//! ```

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use rustix::{
    process::{
        Gid, Pid, Resource, Rlimit, Signal, Uid, chdir, getppid, getrlimit, set_parent_process_death_signal, setrlimit,
    },
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};
use seccompiler::{BpfProgram, apply_filter};

use super::{
    calls, residue,
    rules::{self, Floor},
};
use crate::plan::{Ceilings, End, PathRule};

/// Everything that the child needs, made before the fork so that mistakes show early.
pub(super) struct Tight {
    /// Set when the daemon is root and no wrapper dropped the user before.
    pub uid: Option<u32>,
    /// The process that makes the child.
    pub parent: Pid,
    pub cwd: PathBuf,
    pub ceilings: Ceilings,
    /// Tasks that the user already has; the limit on processes counts them.
    pub tasks_already: u64,
    /// `None` where nothing but limits was asked for.
    pub walls: Option<Walls>,
}

/// What Landlock and seccomp enforce.
pub(super) struct Walls {
    rules: Vec<PathRule>,
    floor: Floor,
    filters: Vec<BpfProgram>,
}

impl Walls {
    /// Compiles the filters.
    ///
    /// # Errors
    /// The architecture has none.
    pub(super) fn new(rules: Vec<PathRule>, floor: Floor) -> Result<Self, String> {
        let filters = calls::filters().map_err(|e| format!("seccomp: {e}"))?;
        Ok(Self { rules, floor, filters })
    }
}

impl Tight {
    /// Gives up everything. What fails is written to `report` as an [`End`], since only a number crosses a failed exec.
    ///
    /// # Errors
    /// Any step failed; the process must not become the program.
    pub(super) fn apply(&self, mut report: &fs::File) -> io::Result<()> {
        self.steps().map_err(|end| {
            let text = serde_json::to_vec(&end).unwrap_or_default();
            // Nobody reads the report only when the helper is gone, and then this process is being killed.
            let _ = report.write_all(&text);
            io::Error::from_raw_os_error(libc::EPERM)
        })
    }

    fn steps(&self) -> Result<(), End> {
        // The kernel ends these before the daemon when the machine runs out of memory; not every system has the file.
        let _ = fs::write("/proc/self/oom_score_adj", "1000");
        if let Some(uid) = self.uid {
            drop_user(uid).map_err(|e| End::System(format!("drop to user {uid}: {e}")))?;
        }
        // After the change of user, which clears it.
        die_with(self.parent).map_err(|e| End::System(format!("prctl: {e}")))?;
        enter(&self.cwd)?;
        self.limit().map_err(|e| End::System(format!("set a limit: {e}")))?;
        let Some(walls) = &self.walls else {
            return Ok(());
        };
        rules::restrict(&walls.rules, walls.floor).map_err(|e| End::System(e.to_string()))?;
        for filter in &walls.filters {
            apply_filter(filter).map_err(|e| End::System(format!("seccomp: {e}")))?;
        }
        residue::check().map_err(End::NotTight)
    }

    fn limit(&self) -> io::Result<()> {
        let Ceilings { cpu_s, memory_mib, processes, file_mib } = self.ceilings;
        let mib = |n: u64| n.saturating_mul(1024 * 1024);
        // The soft limit sends a signal that names the reason, the hard one kills a second later.
        setrlimit(Resource::Cpu, Rlimit { current: Some(cpu_s), maximum: Some(cpu_s.saturating_add(1)) })?;
        for (resource, most) in [
            // What a process may write to counts as its memory. The address space itself has room beside it, because
            // runtimes reserve gigabytes that they never touch.
            (Resource::Data, mib(memory_mib)),
            (Resource::As, mib(memory_mib.saturating_add(RESERVED_MIB))),
            (Resource::Nproc, processes.saturating_add(self.tasks_already)),
            (Resource::Fsize, mib(file_mib)),
            (Resource::Nofile, OPEN_FILES_MAX),
            (Resource::Core, 0),
            (Resource::Memlock, 0),
            (Resource::Msgqueue, 0),
        ] {
            // A limit that is already lower cannot be raised, and need not be.
            let most = getrlimit(resource).maximum.map_or(most, |already| already.min(most));
            setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
        }
        Ok(())
    }
}

/// Asks the kernel to kill this process when `parent` ends.
///
/// # Errors
/// The parent has ended already, between the fork and the request.
pub(super) fn die_with(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == Some(parent) { Ok(()) } else { Err(io::Error::other("the helper is gone")) }
}

/// Becomes `uid` in every way, with no groups but its own.
pub(super) fn drop_user(uid: u32) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(uid), Gid::from_raw(uid));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    // A user that can go back was never dropped.
    if set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT).is_ok() {
        return Err(io::Error::other("the user could be taken back"));
    }
    Ok(())
}

fn enter(cwd: &Path) -> Result<(), End> {
    chdir(cwd).map_err(|e| End::BadOrder(format!("enter the working directory {}: {e}", cwd.display())))
}

/// Address space beside the memory limit, for what runtimes reserve and never touch; without any bound a program could
/// fill the machine with shared memory, which the limit on data does not count.
const RESERVED_MIB: u64 = 4_096;
/// Descriptors of one process; stops one that opens the same file for ever.
const OPEN_FILES_MAX: u64 = 1_024;
