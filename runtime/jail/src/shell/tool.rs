//! How does one call of the shell tool run? A permit and the call go in, an outcome comes out, whatever happens.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use async_trait::async_trait;
use chitin_policy::{Authorized, Grants, Mount};
use chitin_ports::{Audit, AuditEntry, AuditKind, Ended, Invocation, Invoke, Order, Spawn, SpawnError, SpawnMount};
use chitin_types::{CallId, Capabilities, Denial, Digest, FsMode, ToolOutcome, ToolSpec, canonical::canonical};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::{
    args::{self, Asked, WorkPlace},
    lines, outcome, spec,
};
use crate::order::NO_MOUNT_NAMESPACE;

/// The native tool `chitin/shell`.
pub struct Shell {
    spawn: Arc<dyn Spawn>,
    audit: Arc<dyn Audit>,
    roots: RwLock<BTreeMap<String, PathBuf>>,
    places: Mutex<BTreeMap<u32, Arc<Semaphore>>>,
}

/// A granted directory, as named and as found on disk.
struct Granted {
    mount: Mount,
    from: PathBuf,
}

impl Shell {
    /// The tool over a jail; `roots` are the named directories of the configuration.
    pub fn new(spawn: Arc<dyn Spawn>, audit: Arc<dyn Audit>, roots: BTreeMap<String, PathBuf>) -> Self {
        Self { spawn, audit, roots: RwLock::new(roots), places: Mutex::default() }
    }

    /// Named directories after the configuration was read again; running commands keep what they have.
    pub fn set_roots(&self, roots: BTreeMap<String, PathBuf>) {
        *self.roots.write().unwrap_or_else(PoisonError::into_inner) = roots;
    }

    /// What a model reads of `run`.
    pub fn spec() -> ToolSpec {
        spec::spec()
    }

    /// What stands for this tool where a component has a digest; grants and permits are bound to it.
    pub fn identity() -> Digest {
        spec::identity()
    }

    /// What it asks for, as a signed manifest would.
    pub fn requests() -> Capabilities {
        spec::requests()
    }

    async fn run(&self, grants: &Grants, id: &CallId, call: Invocation) -> ToolOutcome {
        let asked = match args::read(&call.args) {
            Ok(asked) => asked,
            Err(why) => return ToolOutcome::InvalidInput(why),
        };
        let granted = match self.granted(grants) {
            Ok(granted) => granted,
            Err(denial) => return ToolOutcome::Denied(denial),
        };
        let seen: Vec<PathBuf> = granted.iter().map(|granted| PathBuf::from(&granted.mount.at)).collect();
        let place = match args::place(asked.cwd.as_deref(), &seen) {
            Ok(place) => place,
            Err(why) => return ToolOutcome::InvalidInput(why),
        };
        let Some(_place) = self.wait_for_place(grants.limits().parallel, call.cancelled.clone()).await else {
            return ToolOutcome::Cancelled;
        };
        let entry = |verdict: &str, detail: Value| {
            AuditEntry::new(AuditKind::Spawn, spec::TOOL, verdict)
                .call(id)
                .session(call.session.as_ref())
                .detail(detail)
        };
        let argv = Digest::of(canonical(&json!(asked.argv)).as_bytes());
        let mounts: Vec<String> = granted.iter().map(Granted::told).collect();
        let start = entry("start", json!({"argv": argv, "cwd": asked.cwd, "mounts": mounts}));
        if let Err(error) = self.audit.append(start).durable().await {
            return ToolOutcome::Broke(format!("audit: {error}"));
        }
        let mut order = order(&asked, grants, &call);
        let ended = self.spawn_in(&mut order, &granted, place.as_ref()).await;
        let facts = facts(&argv, &ended);
        let outcome = match ended {
            Ok(ended) => outcome::of_end(&ended, &order),
            Err(error) => outcome::of_error(error),
        };
        if let Err(error) = self.audit.append(entry(outcome.word(), facts)).durable().await {
            tracing::error!(call = %id, %error, "the end of a command could not be written to the audit");
        }
        outcome
    }

    /// The directories of the grant, on disk.
    fn granted(&self, grants: &Grants) -> Result<Vec<Granted>, Denial> {
        let roots = self.roots.read().unwrap_or_else(PoisonError::into_inner);
        let each = grants.mounts().into_iter().map(|mount| {
            let name = mount.root.clone();
            let found = match roots.get(&name) {
                Some(path) => std::fs::canonicalize(path).map_err(|e| format!("{}: {e}", path.display())),
                None => Err("the configuration does not name it".to_owned()),
            };
            found.map(|from| Granted { mount, from }).map_err(|why| Denial {
                rule: "config:roots".to_owned(),
                reason: format!("root {name:?} cannot be used: {why}"),
                help: Some(format!("add {name} = \"/a/directory\" under [roots] in config.toml")),
            })
        });
        each.collect()
    }

    /// Runs the order with each directory where the grant says; where there is no mount namespace, at its own place.
    async fn spawn_in(
        &self,
        order: &mut Order,
        granted: &[Granted],
        place: Option<&WorkPlace>,
    ) -> Result<Ended, SpawnError> {
        aim(order, granted, place, |granted| PathBuf::from(&granted.mount.at));
        match self.spawn.spawn(order.clone()).await {
            Err(SpawnError::BadOrder(why)) if why.starts_with(NO_MOUNT_NAMESPACE) => {
                aim(order, granted, place, |granted| granted.from.clone());
                self.spawn.spawn(order.clone()).await
            }
            ended => ended,
        }
    }

    /// A place among the calls that run at once; `None` when somebody asked to stop meanwhile.
    async fn wait_for_place(
        &self,
        parallel: u32,
        mut cancelled: watch::Receiver<bool>,
    ) -> Option<OwnedSemaphorePermit> {
        let parallel = parallel.max(1);
        let place = {
            let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
            let one = || Arc::new(Semaphore::new(usize::try_from(parallel).unwrap_or(1)));
            Arc::clone(places.entry(parallel).or_insert_with(one))
        };
        let stopped = async {
            // A caller that went away never asks.
            if cancelled.wait_for(|stop| *stop).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = stopped => None,
            place = place.acquire_owned() => place.ok(),
        }
    }
}

impl Granted {
    fn told(&self) -> String {
        format!("{} {} {}", self.mount.at, self.mount.root, self.mount.mode.word())
    }
}

#[async_trait]
impl Invoke for Shell {
    async fn invoke(&self, permit: Authorized, call: Invocation) -> ToolOutcome {
        let id = permit.call().clone();
        let grants = match permit.redeem(&call.component, &call.function, &call.args) {
            Ok(grants) => grants,
            Err(denial) => return ToolOutcome::Denied(denial),
        };
        if call.component != Self::identity() {
            return ToolOutcome::Untrusted(format!("{} is no native tool of this version", call.component));
        }
        if call.function.as_str() != spec::FUNCTION {
            return ToolOutcome::InvalidInput(format!("{} has no function {}", spec::TOOL, call.function));
        }
        self.run(&grants, &id, call).await
    }
}

/// The order without directories.
fn order(asked: &Asked, grants: &Grants, call: &Invocation) -> Order {
    let limits = grants.limits();
    Order {
        argv: asked.argv.clone(),
        cwd: PathBuf::from("/"),
        env: vec![],
        stdin: vec![],
        mounts: vec![],
        wall_ms: asked.timeout_ms.map_or(limits.wall_ms, |asked| asked.min(limits.wall_ms)),
        cpu_s: limits.cpu_ms.div_ceil(1_000),
        memory_mib: limits.memory_mib,
        output_kib: limits.output_kib,
        processes: PROCESSES_MAX,
        file_mib: FILE_MIB_MAX,
        cancelled: call.cancelled.clone(),
        outlet: call.progress.clone().map(lines::outlet),
    }
}

/// Puts the directories where `at` says, and the working directory among them.
fn aim(order: &mut Order, granted: &[Granted], place: Option<&WorkPlace>, at: impl Fn(&Granted) -> PathBuf) {
    order.mounts = granted
        .iter()
        .map(|granted| SpawnMount {
            from: granted.from.clone(),
            at: at(granted),
            writable: granted.mount.mode == FsMode::Rw,
        })
        .collect();
    let cwd = place.and_then(|place| granted.get(place.mount).map(|granted| at(granted).join(&place.below)));
    order.cwd = cwd.unwrap_or_else(|| PathBuf::from("/"));
}

/// What the audit keeps of an end: never a byte of output.
fn facts(argv: &Digest, ended: &Result<Ended, SpawnError>) -> Value {
    match ended {
        Ok(ended) => json!({
            "argv": argv, "backend": ended.backend, "exit_code": ended.code, "signal": ended.signal,
            "output_bytes": ended.out.len() + ended.err.len(), "dropped_bytes": ended.dropped_bytes,
            "notices": ended.notices.len(),
        }),
        Err(error) => json!({"argv": argv, "error": match error {
            SpawnError::NoSandbox(_) => "no-sandbox",
            SpawnError::BadOrder(_) => "bad-order",
            SpawnError::NotTight(_) => "not-tight",
            SpawnError::Unsettled(_) => "unsettled",
            SpawnError::System(_) => "system",
        }}),
    }
}

/// Processes and threads of one command; a bomb stops here.
const PROCESSES_MAX: u64 = 256;
/// The largest file that a command writes, so that one loop cannot fill the disk with one file.
const FILE_MIB_MAX: u64 = 1_024;
