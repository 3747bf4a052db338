//! What does the helper do as the first process of the namespaces? It checks what bubblewrap mounted, starts the program
//! behind Landlock and seccomp, and reports its end; the kernel then ends everything else.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    os::unix::fs::MetadataExt,
    process::{Command, Stdio},
};

use rustix::{
    io::{FdFlags, fcntl_setfd},
    process::{Pid, WaitOptions, WaitStatus, wait},
};

use super::{
    rules::Floor,
    tighten::{Tight, Walls},
};
use crate::{
    plan::{End, InsidePlan, PLAN_BYTES_MAX},
    raw,
};

/// Runs the program of the plan; the two texts are the numbers of inherited descriptors.
///
/// # Errors
/// The descriptors are not what the first helper passes; anything later goes to the report.
pub(super) fn run(plan: &str, report: &str) -> io::Result<()> {
    let inherited = |text: &str| -> io::Result<File> {
        let number = text.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
        let fd = raw::adopt(number)?;
        fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
        Ok(fd.into())
    };
    let (mut plan, mut report) = (inherited(plan)?, inherited(report)?);
    let mut text = String::new();
    plan.rewind()?;
    plan.take(PLAN_BYTES_MAX as u64).read_to_string(&mut text)?;
    let plan: InsidePlan = serde_json::from_str(&text)?;
    // A refusal before exec was already written by the child itself.
    if let Some(end) = start(plan, &report) {
        report.write_all(&serde_json::to_vec(&end)?)?;
    }
    Ok(())
}

fn start(plan: InsidePlan, report: &File) -> Option<End> {
    for place in &plan.places {
        let found = fs::symlink_metadata(&place.at).map(|about| (about.dev(), about.ino()));
        if !found.is_ok_and(|found| found == (place.device, place.inode)) {
            return Some(End::NotTight(format!("{} was exchanged while it was mounted", place.at.display())));
        }
    }
    let walls = match Walls::new(plan.rules, Floor::Second) {
        Ok(walls) => walls,
        Err(why) => return Some(End::System(why)),
    };
    let tight =
        Tight { uid: None, cwd: plan.cwd, ceilings: plan.ceilings, tasks_already: OWN_TASKS, walls: Some(walls) };
    match spawn(&plan.argv, plan.env, (tight, Stdio::inherit()), report) {
        Spawned::Running(main) => Some(wait_for(main)),
        Spawned::Reported => None,
        Spawned::Failed(end) => Some(end),
    }
}

/// What became of a start.
pub(super) enum Spawned {
    /// It runs.
    Running(Pid),
    /// The child refused and has written why.
    Reported,
    /// There is no such program, or it is none.
    Failed(End),
}

/// Starts a program in this process' session with this standard input, tightened between fork and exec.
pub(super) fn spawn(
    argv: &[String],
    env: Vec<(String, String)>,
    (tight, input): (Tight, Stdio),
    report: &File,
) -> Spawned {
    let Some((program, rest)) = argv.split_first() else {
        return Spawned::Failed(End::BadOrder("start a program without a name".to_owned()));
    };
    let written = match report.try_clone() {
        Ok(file) => file,
        Err(error) => return Spawned::Failed(End::System(error.to_string())),
    };
    let mut command = Command::new(program);
    command.args(rest).env_clear().envs(env).stdin(input);
    raw::before_exec(&mut command, move || tight.apply(&written));
    match command.spawn() {
        Ok(child) => match i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            Some(pid) => Spawned::Running(pid),
            None => Spawned::Failed(End::System("the system gave no process number".to_owned())),
        },
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Spawned::Reported,
        Err(error) => Spawned::Failed(End::BadOrder(format!("start {program:?} in the sandbox: {error}"))),
    }
}

/// Waits for the program and reaps orphans meanwhile, as the first process of a namespace has to.
fn wait_for(main: Pid) -> End {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == main => return ended(status),
            Ok(_) => {}
            Err(error) => return End::System(format!("wait for the program: {error}")),
        }
    }
}

/// A status in the words of the report.
pub(super) fn ended(status: WaitStatus) -> End {
    End::Exited { code: status.exit_status(), signal: status.terminating_signal() }
}

/// This process, which the limit on processes counts.
const OWN_TASKS: u64 = 1;
