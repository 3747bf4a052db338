//! What does the helper do as the first process of the namespaces? It checks what bubblewrap mounted, starts the program
//! behind Landlock and seccomp, and reports its end; the kernel then ends everything else.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    os::unix::fs::MetadataExt,
    process::{Command, Stdio},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{FdFlags, fcntl_setfd},
    process::{Pid, PidfdFlags, WaitStatus, getpid, pidfd_open},
};

use super::{
    rules::Floor,
    sweep::reap,
    tighten::{Tight, Walls},
};
use crate::{
    plan::{End, InsidePlan, PLAN_BYTES_MAX},
    raw,
};

/// Runs the program of the plan; the texts are the numbers of inherited descriptors.
///
/// # Errors
/// The descriptors are not what the first helper passes; anything later goes to the report.
pub(super) fn run(plan: &str, report: &str, lifeline: &str) -> io::Result<()> {
    let inherited = |text: &str| -> io::Result<File> {
        let number = text.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
        let fd = raw::adopt(number)?;
        fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
        Ok(fd.into())
    };
    let (mut plan, mut report, lifeline) = (inherited(plan)?, inherited(report)?, inherited(lifeline)?);
    let mut text = String::new();
    plan.rewind()?;
    plan.take(PLAN_BYTES_MAX as u64).read_to_string(&mut text)?;
    let plan: InsidePlan = serde_json::from_str(&text)?;
    // A refusal before exec was already written by the child itself.
    if let Some(end) = start(plan, &report, &lifeline) {
        report.write_all(&serde_json::to_vec(&end)?)?;
    }
    Ok(())
}

fn start(plan: InsidePlan, report: &File, lifeline: &File) -> Option<End> {
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
    let tight = Tight {
        uid: None,
        parent: getpid(),
        cwd: plan.cwd,
        ceilings: plan.ceilings,
        tasks_already: OWN_TASKS,
        walls: Some(walls),
    };
    match spawn(&plan.argv, plan.env, (tight, Stdio::inherit()), report) {
        Spawned::Running(main) => Some(wait_for(main, lifeline)),
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

/// Waits for the program and reaps orphans meanwhile, as the first process of a namespace has to. Ends also when the
/// helper outside is gone: the wish to die with one's parent is lost if the parent dies before it is made.
fn wait_for(main: Pid, lifeline: &File) -> End {
    let pidfd = pidfd_open(main, PidfdFlags::empty()).ok();
    let moment = Timespec { tv_sec: 0, tv_nsec: MOMENT_NS };
    let closed = PollFlags::HUP | PollFlags::ERR;
    loop {
        match reap() {
            Ok(Some((pid, status))) if pid == main => return ended(status),
            Ok(Some(_)) => continue,
            Ok(None) => {}
            Err(error) => return End::System(format!("wait for the program: {error}")),
        }
        let mut fds = vec![PollFd::new(lifeline, closed)];
        fds.extend(pidfd.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        if poll(&mut fds, Some(&moment)).is_ok() && fds.first().is_some_and(|fd| fd.revents().intersects(closed)) {
            return End::System("the helper outside is gone".to_owned());
        }
    }
}

/// A status in the words of the report.
pub(super) fn ended(status: WaitStatus) -> End {
    End::Exited { code: status.exit_status(), signal: status.terminating_signal() }
}

/// How long the first process waits before it looks for ended orphans again.
const MOMENT_NS: i64 = 20_000_000;
/// This process, which the limit on processes counts.
const OWN_TASKS: u64 = 1;
