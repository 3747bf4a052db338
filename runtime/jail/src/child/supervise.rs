//! What does the helper do outside the sandbox? Reads the plan, starts the program, waits for its end or for the daemon's
//! wish, ends everything, puts protected files right, reports.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{fs::MetadataExt, net::UnixStream},
    },
    path::Path,
    process::{Command, Stdio},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{MemfdFlags, Mode, OFlags, fcntl_setfl, memfd_create, open},
    io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd},
    pipe::{PipeFlags, pipe_with},
    process::{
        DumpableBehavior, Pid, PidfdFlags, WaitStatus, geteuid, getpid, pidfd_open, set_child_subreaper,
        set_dumpable_behavior, setsid, umask,
    },
};

use super::{
    bubblewrap::{self, HELPER_INSIDE},
    entry::{HELPER_ARG, INSIDE},
    inside::{Spawned, ended, spawn},
    paths::{self, Places},
    rules::Floor,
    stage::{self, Staged},
    sweep::{Swept, reap, sweep},
    tighten::{self, Tight, Walls},
};
use crate::{
    plan::{Backend, End, InsidePlan, PLAN_BYTES_MAX, Place, Plan, Report},
    protect::{Guard, Mask, MaskKind, Settled},
    raw,
};

/// The whole life of the helper outside.
///
/// # Errors
/// The stream to the daemon is broken; everything else is in the report.
pub(super) fn supervise() -> io::Result<()> {
    raw::close_from(3)?;
    umask(Mode::from_raw_mode(0o077));
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    let mut control = take_control()?;
    let (plan, input) = read_plan(&mut control)?;
    // The directory of the call is found again through its parent, whatever is mounted over its path meanwhile.
    let scratch = plan.call_dir.parent().map(File::open).transpose()?;
    let mut told = Settled::default();
    let end = run(&plan, input, &control, &mut told).unwrap_or_else(|end| end);
    let Settled { mut notices, unsettled } = told;
    if let (Some(scratch), Some(name)) = (scratch, plan.call_dir.file_name()) {
        let path = Path::new("/proc/self/fd").join(scratch.as_raw_fd().to_string()).join(name);
        if let Err(error) = fs::remove_dir_all(path) {
            notices.push(format!("{} could not be removed: {error}", plan.call_dir.display()));
        }
    }
    control.write_all(&serde_json::to_vec(&Report { end, notices, unsettled })?)
}

/// Moves the stream to the daemon away from standard input, where the program would find it.
fn take_control() -> io::Result<UnixStream> {
    let control = fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(open("/dev/null", OFlags::RDONLY, Mode::empty())?)?;
    Ok(control.into())
}

fn read_plan(control: &mut UnixStream) -> io::Result<(Plan, Vec<u8>)> {
    let mut length = [0; 4];
    control.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > PLAN_BYTES_MAX {
        return Err(io::Error::other("the plan is longer than any plan"));
    }
    let mut text = vec![0; length];
    control.read_exact(&mut text)?;
    let plan: Plan = serde_json::from_slice(&text)?;
    let mut input = Vec::new();
    control.take(plan.stdin_bytes).read_to_end(&mut input)?;
    Ok((plan, input))
}

fn run(plan: &Plan, input: Vec<u8>, control: &UnixStream, told: &mut Settled) -> Result<End, End> {
    let notices = &mut told.notices;
    let plan = &stage::only_what_can_be_written(plan, notices);
    let mut opened = Vec::new();
    for mount in &plan.mounts {
        let file = File::open(&mount.from);
        opened.push(file.map_err(|e| End::BadOrder(format!("mount {}: {e}", mount.from.display())))?);
    }
    let guard = guard(plan, &opened)?;
    let (report_read, report_write) = pipe_with(PipeFlags::CLOEXEC).map_err(system)?;
    let mut feed = Feed::new(input).map_err(system)?;
    let report_write = File::from(report_write);
    // Held until everything has ended; whoever holds the other end knows by its closing that this process is gone.
    let (lifeline, _held) = pipe_with(PipeFlags::CLOEXEC).map_err(system)?;
    let streams = Streams { input: feed.source(), report: &report_write, lifeline: &lifeline };
    let started = start(plan, &opened, &guard, streams, notices);
    drop(report_write);
    // From here on the program runs, and without namespaces it may run as the same user.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(system)?;
    let end = match started {
        Ok(Spawned::Running(main)) => {
            let (status, swept) = watch(main, control, &mut feed);
            if swept == Swept::Survivors {
                notices.push("a process could not be killed; it hangs in the kernel".to_owned());
            }
            conclude(plan.backend, status, report_read)
        }
        Ok(Spawned::Reported) => reported(report_read).unwrap_or(End::System("the child gave no reason".to_owned())),
        Ok(Spawned::Failed(end)) | Err(end) => end,
    };
    let Settled { notices: mut more, unsettled } = guard.settle();
    notices.append(&mut more);
    told.unsettled = unsettled;
    Ok(end)
}

/// What a child is given beside its output: input, where it reports, and by which it knows that this process lives.
struct Streams<'f> {
    input: Stdio,
    report: &'f File,
    lifeline: &'f OwnedFd,
}

/// Writable directories are watched; without a sandbox nothing is promised about them.
fn guard(plan: &Plan, opened: &[File]) -> Result<Guard, End> {
    let mut roots = Vec::new();
    for (mount, file) in plan.mounts.iter().zip(opened).filter(|(mount, _)| mount.writable) {
        let is_dir = file.metadata().map_err(|e| End::System(e.to_string()))?.is_dir();
        if is_dir && plan.backend != Backend::None {
            roots.push((file.try_clone().map_err(|e| End::System(e.to_string()))?, mount.from.clone()));
        }
    }
    Guard::new(roots).map_err(|e| End::System(format!("look for files that run later: {e}")))
}

fn start(
    plan: &Plan,
    opened: &[File],
    guard: &Guard,
    streams: Streams<'_>,
    notices: &mut Vec<String>,
) -> Result<Spawned, End> {
    match plan.backend {
        Backend::Bubblewrap => {
            let masks = masks(plan, opened, guard)?;
            let mut staged = stage::for_bubblewrap(plan, opened)?;
            notices.append(&mut staged.notices);
            let inside = inside_plan(plan, opened, &staged, &masks)?;
            wrapped(plan, &staged, (&inside, &masks), streams)
        }
        Backend::Landlock => {
            let mut staged = stage::in_place(plan, opened)?;
            notices.append(&mut staged.notices);
            let mounts = staged.mounts.iter().map(|mount| (mount.at.clone(), mount.writable));
            let rules = paths::rules_on_host(mounts, &plan.call_dir);
            let walls = Walls::new(rules, Floor::Alone).map_err(End::System)?;
            Ok(spawn(&plan.argv, environment(plan), (tight(plan, Some(walls)), streams.input), streams.report))
        }
        Backend::None => {
            stage::in_place(&Plan { uid: None, ..plan.clone() }, opened)?;
            Ok(spawn(&plan.argv, environment(plan), (tight(plan, None), streams.input), streams.report))
        }
    }
}

fn environment(plan: &Plan) -> Vec<(String, String)> {
    Places::below(&plan.call_dir).environment(&plan.env)
}

fn tight(plan: &Plan, walls: Option<Walls>) -> Tight {
    let uid = plan.uid.filter(|_| walls.is_some());
    let tasks_already = if uid.is_some() { 0 } else { tasks_of_this_user() };
    Tight { uid, parent: getpid(), cwd: plan.cwd.clone(), ceilings: plan.ceilings, tasks_already, walls }
}

/// Masks of every mount, in the order of the mounts.
fn masks(plan: &Plan, opened: &[File], guard: &Guard) -> Result<Vec<Vec<Mask>>, End> {
    let mut number = 0;
    let masks = plan.mounts.iter().zip(opened).map(|(mount, file)| {
        if !mount.writable || !file.metadata().is_ok_and(|about| about.is_dir()) {
            return Ok(vec![]);
        }
        number += 1;
        guard.masks(number - 1)
    });
    masks.collect::<io::Result<_>>().map_err(|e| End::System(format!("lock files that run later: {e}")))
}

/// The plan of the second helper; what it must find at each place is what was opened here.
fn inside_plan(plan: &Plan, opened: &[File], staged: &Staged, masks: &[Vec<Mask>]) -> Result<InsidePlan, End> {
    let mut places = Vec::new();
    for ((mount, source), masks) in staged.mounts.iter().zip(opened).zip(masks) {
        let mut expect = |at, about: io::Result<fs::Metadata>| -> Result<(), End> {
            let about = about.map_err(|e| End::System(e.to_string()))?;
            places.push(Place { at, device: about.dev(), inode: about.ino() });
            Ok(())
        };
        expect(mount.at.clone(), source.metadata())?;
        for mask in masks.iter().filter(|mask| mask.kind != MaskKind::Empty && mount.writable) {
            expect(mount.at.join(&mask.path), crate::protect::look(source, &mask.path))?;
        }
    }
    let rules = paths::rules_inside(staged.mounts.iter().map(|mount| (mount.at.clone(), mount.writable)));
    Ok(InsidePlan {
        argv: plan.argv.clone(),
        cwd: plan.cwd.clone(),
        env: Places::inside().environment(&plan.env),
        rules,
        ceilings: plan.ceilings,
        places,
    })
}

/// Starts bubblewrap as the user that the program gets.
fn wrapped(
    plan: &Plan,
    staged: &Staged,
    (inside, masks): (&InsidePlan, &[Vec<Mask>]),
    streams: Streams<'_>,
) -> Result<Spawned, End> {
    let Streams { input, report, lifeline } = streams;
    let wrapper = plan.wrapper.as_ref().ok_or_else(|| End::System("bubblewrap has no path".to_owned()))?;
    let mut text = File::from(memfd_create("chitin-plan", MemfdFlags::CLOEXEC).map_err(system)?);
    serde_json::to_writer(&mut text, inside).map_err(|e| End::System(e.to_string()))?;
    let passed = report.try_clone().map_err(|e| End::System(e.to_string()))?;
    let lifeline = lifeline.try_clone().map_err(|e| End::System(e.to_string()))?;
    let numbers = [text.as_raw_fd(), passed.as_raw_fd(), lifeline.as_raw_fd()].map(|fd| fd.to_string());
    let mut command = Command::new(wrapper);
    command.args(bubblewrap::arguments(staged, masks)).arg("--").arg(HELPER_INSIDE).args([HELPER_ARG, INSIDE]);
    command.args(numbers).env_clear().current_dir("/").stdin(input);
    let (uid, parent) = (plan.uid, getpid());
    raw::before_exec(&mut command, move || {
        if let Some(uid) = uid {
            tighten::drop_user(uid)?;
        }
        tighten::die_with(parent)?;
        // These cross this exec and the next one; everything else closes.
        for fd in [text.as_fd(), passed.as_fd(), lifeline.as_fd()] {
            fcntl_setfd(fd, FdFlags::empty())?;
        }
        Ok(())
    });
    let child = command.spawn().map_err(|e| End::System(format!("start {}: {e}", wrapper.display())))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    Ok(pid.map_or(Spawned::Failed(End::System("no process number".to_owned())), Spawned::Running))
}

/// Waits until the program ends or the daemon closes the stream, and then ends everything.
fn watch(main: Pid, control: &UnixStream, feed: &mut Feed) -> (Option<WaitStatus>, Swept) {
    let pidfd = pidfd_open(main, PidfdFlags::empty()).ok();
    let mut status = None;
    while status.is_none() {
        // Orphans are taken off in between: the limit on processes counts ended ones too.
        loop {
            match reap() {
                Ok(Some((pid, ended))) if pid == main => status = Some(ended),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        if status.is_some() || stop_or_event(control, pidfd.as_ref(), feed) == Wish::Stop {
            break;
        }
    }
    let (late, swept) = sweep(main);
    (status.or(late), swept)
}

/// What the daemon wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Run,
    Stop,
}

/// Waits for the next event, for a moment at most.
fn stop_or_event(control: &UnixStream, pidfd: Option<&OwnedFd>, feed: &mut Feed) -> Wish {
    let moment = Timespec { tv_sec: 0, tv_nsec: MOMENT_NS };
    let ready = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
    let stopped = {
        let mut fds = vec![PollFd::new(control, ready)];
        fds.extend(pidfd.map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(feed.sink.as_ref().map(|fd| PollFd::new(fd, PollFlags::OUT)));
        let polled = poll(&mut fds, Some(&moment));
        polled.is_ok() && fds.first().is_some_and(|fd| fd.revents().intersects(ready))
    };
    feed.push();
    // The daemon sends nothing after the plan, so any event on the stream means that it has closed it.
    if stopped { Wish::Stop } else { Wish::Run }
}

/// Standard input of the program, given piece by piece as it reads.
struct Feed {
    source: Option<OwnedFd>,
    sink: Option<File>,
    bytes: Vec<u8>,
    given: usize,
}

impl Feed {
    fn new(bytes: Vec<u8>) -> rustix::io::Result<Self> {
        if bytes.is_empty() {
            return Ok(Self { source: None, sink: None, bytes, given: 0 });
        }
        let (source, sink) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfl(&sink, OFlags::NONBLOCK)?;
        Ok(Self { source: Some(source), sink: Some(sink.into()), bytes, given: 0 })
    }

    fn source(&mut self) -> Stdio {
        self.source.take().map_or_else(Stdio::null, Stdio::from)
    }

    fn push(&mut self) {
        let Some(sink) = &mut self.sink else {
            return;
        };
        let rest = self.bytes.get(self.given..).unwrap_or_default();
        match sink.write(rest) {
            Ok(n) if n < rest.len() => self.given += n,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // All is given, or the program closed its end.
            Ok(_) | Err(_) => self.sink = None,
        }
    }
}

/// The end in the words of the report: from the second helper where there is one, from the kernel otherwise.
fn conclude(backend: Backend, status: Option<WaitStatus>, report: OwnedFd) -> End {
    if let Some(end) = reported(report) {
        return end;
    }
    let Some(status) = status else {
        return End::System("the end of the program was not seen".to_owned());
    };
    match (backend, status.exit_status()) {
        (Backend::Bubblewrap, Some(code)) => {
            End::System(format!("bubblewrap ended with {code} before the program was started"))
        }
        (Backend::Bubblewrap | Backend::Landlock | Backend::None, _) => ended(status),
    }
}

fn reported(report: OwnedFd) -> Option<End> {
    // Nothing that could write is alive, but waiting here would be for ever if it were.
    fcntl_setfl(&report, OFlags::NONBLOCK).ok()?;
    let mut text = Vec::new();
    // What was read before an error is what there is.
    let _ = File::from(report).read_to_end(&mut text);
    serde_json::from_slice(&text).ok()
}

/// Tasks of this process' user; the limit on processes counts them all where there is no user namespace.
fn tasks_of_this_user() -> u64 {
    let user = geteuid().as_raw();
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let ours = processes.filter(|entry| entry.metadata().is_ok_and(|about| about.uid() == user));
    let tasks = ours.filter_map(|entry| fs::read_dir(entry.path().join("task")).ok());
    u64::try_from(tasks.map(Iterator::count).sum::<usize>()).unwrap_or(u64::MAX)
}

fn system(error: rustix::io::Errno) -> End {
    End::System(error.to_string())
}

/// How long the helper waits before it looks for ended orphans again.
const MOMENT_NS: i64 = 20_000_000;
