//! Who starts native programs? The jail: it finds out once which sandbox works, and runs every order in that one.

use std::{
    collections::VecDeque,
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use chitin_ports::{Ended, Order, Spawn, SpawnError};
use tokio::{
    sync::{OnceCell, watch},
    time::timeout,
};

use crate::{
    launch::{Ran, launch},
    order::{Frame, plan},
    plan::{Backend, End},
    raw,
    uids::{Lease, Uids},
    verdict::{Rejected, Verdict},
    wrapper,
};

/// What a jail is made from.
#[derive(Debug, Clone)]
pub struct JailConfig {
    /// Absolute path of a program whose `main` calls [`crate::child_main`] first when its first argument is
    /// [`crate::HELPER_ARG`].
    pub helper: PathBuf,
    /// A directory of ours for what each call needs; made with mode 0700 when absent.
    pub scratch: PathBuf,
    /// Which sandbox.
    pub choice: Choice,
}

/// Which sandbox is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The strongest that works.
    Detect,
    /// This one or nothing.
    Bubblewrap,
    /// This one or nothing.
    Landlock,
    /// No sandbox: a person wrote `sandbox = "none"`.
    None,
}

/// Runs native programs in the sandbox that works here.
pub struct Jail {
    config: JailConfig,
    wrappers: Vec<PathBuf>,
    verdict: OnceCell<Verdict>,
    uids: Uids,
    calls: AtomicU64,
    notices: Mutex<VecDeque<String>>,
}

impl Jail {
    /// A jail that has looked at nothing yet.
    pub fn new(config: JailConfig) -> Self {
        Self {
            config,
            wrappers: wrapper::PLACES.map(PathBuf::from).into(),
            verdict: OnceCell::new(),
            uids: Uids::default(),
            calls: AtomicU64::new(0),
            notices: Mutex::default(),
        }
    }

    /// The same jail for a system that keeps bubblewrap elsewhere. The path is checked like the usual ones.
    pub fn with_wrapper_at(mut self, path: PathBuf) -> Self {
        self.wrappers = vec![path];
        self
    }

    /// Which sandbox works here, found out at the first call.
    pub async fn verdict(&self) -> &Verdict {
        self.verdict.get_or_init(|| self.detect()).await
    }

    /// What a person should know of the last runs, oldest first: mounts that became read-only, files put aside.
    pub fn notices(&self) -> Vec<String> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Where calls have their directories.
    pub(crate) fn scratch(&self) -> &Path {
        &self.config.scratch
    }

    async fn detect(&self) -> Verdict {
        self.clear_leftovers();
        let candidates: &[Backend] = match self.config.choice {
            Choice::Detect => &[Backend::Bubblewrap, Backend::Landlock],
            Choice::Bubblewrap => &[Backend::Bubblewrap],
            Choice::Landlock => &[Backend::Landlock],
            Choice::None => &[Backend::None],
        };
        let mut rejected = Vec::new();
        let mut taken = None;
        for backend in candidates {
            match timeout(PROBE_MAX, self.run(*backend, &probe())).await {
                Ok(Ok(Ended { code: Some(0), .. })) => {
                    taken = Some(*backend);
                    break;
                }
                Ok(Ok(ended)) => rejected.push(Rejected { backend: *backend, why: failed(&ended) }),
                Ok(Err(error)) => rejected.push(Rejected { backend: *backend, why: error.to_string() }),
                Err(_) => rejected.push(Rejected { backend: *backend, why: "it hangs".to_owned() }),
            }
        }
        let user_dropped = rustix::process::geteuid().is_root() && taken.is_some_and(|taken| taken != Backend::None);
        let verdict = Verdict { backend: taken, landlock_abi: raw::landlock_abi(), user_dropped, rejected };
        if let Some(backend) = verdict.backend {
            tracing::info!(backend = backend.word(), abi = verdict.landlock_abi, "sandbox found");
        } else {
            tracing::warn!(reasons = verdict.reasons(), "no sandbox works here; no program will be started");
        }
        verdict
    }

    async fn run(&self, backend: Backend, order: &Order) -> Result<Ended, SpawnError> {
        let wrapper = match backend {
            Backend::Bubblewrap => Some(wrapper::find(&self.wrappers).map_err(SpawnError::NoSandbox)?),
            Backend::Landlock | Backend::None => None,
        };
        let lease = self.lease(backend)?;
        let call_dir = self.call_dir().map_err(|e| SpawnError::System(format!("make a scratch directory: {e}")))?;
        let frame = Frame {
            backend,
            wrapper,
            uid: lease.as_ref().map(Lease::uid),
            helper: self.config.helper.clone(),
            call_dir: call_dir.clone(),
        };
        let ran = match plan(order, frame) {
            Ok(plan) => launch(&self.config.helper, &plan, order).await,
            Err(error) => Err(error),
        };
        // The helper removes it too, also when this future is dropped.
        if let Err(error) = fs::remove_dir_all(&call_dir)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::debug!(%error, "a scratch directory stays");
        }
        self.ended(backend, ran?)
    }

    /// A user for the program, when the daemon is root and there is a sandbox at all.
    fn lease(&self, backend: Backend) -> Result<Option<Lease>, SpawnError> {
        if !rustix::process::geteuid().is_root() || backend == Backend::None {
            return Ok(None);
        }
        let lease = self.uids.take();
        lease.map(Some).ok_or_else(|| SpawnError::System("no free user is left for the program".to_owned()))
    }

    fn call_dir(&self) -> io::Result<PathBuf> {
        make_private(&self.config.scratch)?;
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        // Two jails of one process share a scratch directory in tests, so an existing name is skipped.
        for attempt in 0..CALL_DIR_ATTEMPTS {
            let name = format!("{CALL_PREFIX}{}-{number}-{attempt}", std::process::id());
            let dir = fs::canonicalize(&self.config.scratch)?.join(name);
            match DirBuilder::new().mode(0o700).create(&dir) {
                Ok(()) => return Ok(dir),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Removes what a daemon that was killed left behind.
    fn clear_leftovers(&self) {
        for entry in fs::read_dir(&self.config.scratch).into_iter().flatten().filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let owner = name.strip_prefix(CALL_PREFIX).and_then(|rest| rest.split('-').next());
            if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
                && let Err(error) = fs::remove_dir_all(entry.path())
            {
                tracing::debug!(%error, name, "a leftover scratch directory stays");
            }
        }
    }

    fn keep_notices<'n>(&self, told: impl Iterator<Item = &'n String>) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        for notice in told {
            tracing::warn!("{notice}");
            notices.push_back(notice.clone());
        }
        let over = notices.len().saturating_sub(NOTICES_MAX);
        notices.drain(..over);
    }

    fn ended(&self, backend: Backend, ran: Ran) -> Result<Ended, SpawnError> {
        self.keep_notices(ran.unsettled.iter().chain(&ran.notices));
        if !ran.unsettled.is_empty() {
            return Err(SpawnError::Unsettled([ran.unsettled, ran.notices].concat().join("; ")));
        }
        match ran.end {
            End::Exited { code, signal } => Ok(Ended {
                code: code.filter(|_| ran.stopped.is_none()),
                signal,
                stopped: ran.stopped,
                out: ran.out,
                err: ran.err,
                dropped_bytes: ran.dropped_bytes,
                backend: backend.word(),
                notices: ran.notices,
            }),
            // Stopped before the program was started: the wish came first, whatever the wrapper says about it.
            End::System(_) if ran.stopped.is_some() => Ok(Ended {
                code: None,
                signal: None,
                stopped: ran.stopped,
                out: ran.out,
                err: vec![],
                dropped_bytes: ran.dropped_bytes,
                backend: backend.word(),
                notices: ran.notices,
            }),
            End::NotTight(why) => Err(SpawnError::NotTight(why)),
            End::BadOrder(why) => Err(SpawnError::BadOrder(why)),
            End::System(why) => {
                let said = String::from_utf8_lossy(&ran.err);
                Err(SpawnError::System(format!("{why} {}", said.trim()).trim().to_owned()))
            }
        }
    }
}

#[async_trait]
impl Spawn for Jail {
    async fn spawn(&self, order: Order) -> Result<Ended, SpawnError> {
        let verdict = self.verdict().await;
        match verdict.backend {
            Some(backend) => self.run(backend, &order).await,
            None => Err(SpawnError::NoSandbox(verdict.reasons())),
        }
    }
}

/// Makes a directory that only the daemon enters, and those above it, where they are absent.
pub(crate) fn make_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// The smallest order there is.
fn probe() -> Order {
    Order {
        argv: vec!["/bin/true".to_owned()],
        cwd: "/".into(),
        env: vec![],
        stdin: vec![],
        mounts: vec![],
        wall_ms: u64::try_from(PROBE_MAX.as_millis()).unwrap_or(u64::MAX),
        cpu_s: 5,
        memory_mib: 64,
        output_kib: 4,
        processes: 16,
        file_mib: 1,
        cancelled: watch::channel(false).1,
        outlet: None,
    }
}

fn failed(ended: &Ended) -> String {
    let said = String::from_utf8_lossy(&ended.err);
    match ended.code {
        Some(code) => format!("/bin/true ended with {code} {}", said.trim()),
        None => format!("/bin/true did not end by itself {}", said.trim()),
    }
}

/// How long one candidate may take to run `/bin/true`; one that hangs is none.
const PROBE_MAX: Duration = Duration::from_secs(5);
/// Notices that are kept for `explain`.
const NOTICES_MAX: usize = 32;
/// How the directory of a call is named; the number of the process follows.
const CALL_PREFIX: &str = "call-";
/// Names that are tried for one directory.
const CALL_DIR_ATTEMPTS: u32 = 1_000;
