//! How does one call run from permit to outcome? The only door into a component.
//!
//! ```text
//!   redeem ─ wait for a place (tool, memory) ─ load ─ store with limits ─ call ─┬ returned ─→ Done / Failed / Denied
//!                                                                              ├ trapped  ─→ Limited / Broke
//!                                                                              ├ too late ─→ Limited(wall time)
//!                                                                              ├ stopped  ─→ Cancelled
//!                                                                              └ panicked ─→ Broke(host-panic)
//! ```
//!
//! The call is a task of its own: a panic in a host function ends this call, and the store is dropped with everything
//! in it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Instant,
};

use async_trait::async_trait;
use chitin_egress::Egress;
use chitin_policy::{Authorized, Grants};
use chitin_ports::{Audit, Compile, ComponentSource, Invocation, Invoke};
use chitin_types::{CallId, Denial, Digest, FunctionName, Part, ToolName, ToolOutcome};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use wasmtime::{Store, UpdateDeadline, component::Component};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;

use crate::{
    CodeCache, HostError, Roots, Slots, Stores,
    capability::{fs::Files, http::Requests},
    engine::{engine, engine_with},
    linker::tool_linker,
    loaded::{LoadedSet, Prepared},
    meter::Meter,
    outcome::{from_error, from_failure},
    state::{CallContext, CallStart, CallState, STDIO_BYTES_MAX, Stdio},
    ticker,
    wit::{ToolWithEverythingPre, pack},
};

/// What a host is made from.
pub struct HostParts {
    /// How many components may be alive at once; the first host of a process decides.
    pub slots: Slots,
    /// Compiled code.
    pub cache: CodeCache,
    /// Who compiles what is not in the cache.
    pub compiler: Arc<dyn Compile>,
    /// Named roots, opened.
    pub roots: Roots,
    /// The way out.
    pub egress: Egress,
    /// Where decisions are written.
    pub audit: Arc<dyn Audit>,
    /// Who verifies bytes.
    pub source: Arc<dyn ComponentSource>,
    /// Where guests keep things between their calls.
    pub stores: Stores,
}

/// Runs calls.
pub struct Host {
    loaded: LoadedSet,
    roots: RwLock<Arc<Roots>>,
    egress: Egress,
    pub(crate) audit: Arc<dyn Audit>,
    pub(crate) stores: Stores,
    memory_mib: Arc<Semaphore>,
    places: Mutex<HashMap<(ToolName, u32), Arc<Semaphore>>>,
}

/// Memory that all running calls may reserve together, in MiB; calls above it wait.
const MEMORY_MIB_TOTAL: usize = 4_096;
/// Bytes that one call into the host may carry from the guest.
pub(crate) const HOSTCALL_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Ticks until the first look at a guest; instantiation counts.
const FIRST_LOOK_TICKS: u64 = 1;

impl Host {
    /// A host with its own linker, on the engine of the process.
    ///
    /// # Errors
    /// The engine does not start.
    pub fn new(parts: HostParts) -> Result<Self, HostError> {
        let HostParts { slots, cache, compiler, roots, egress, audit, source, stores } = parts;
        Ok(Self {
            loaded: LoadedSet::new(cache, compiler, source, tool_linker(engine_with(slots)?)?),
            roots: RwLock::new(Arc::new(roots)),
            egress,
            audit,
            stores,
            memory_mib: Arc::new(Semaphore::new(MEMORY_MIB_TOTAL)),
            places: Mutex::default(),
        })
    }

    pub(crate) fn loaded(&self) -> &LoadedSet {
        &self.loaded
    }

    /// The code of a component that was verified in this process, compiled if it has to be.
    pub(crate) async fn component(&self, digest: &Digest) -> Result<Component, HostError> {
        self.loaded.component(engine()?, digest).await
    }

    /// Asks a component to describe itself.
    pub(crate) async fn ask(
        &self,
        pre: &ToolWithEverythingPre<CallState>,
        grants: Arc<Grants>,
    ) -> Result<Vec<pack::Spec>, String> {
        let (_keep, cancelled) = watch::channel(false);
        let id = CallId::parse("describe").expect("a literal id in the right spelling");
        let call = Arc::new(CallContext::new(CallStart {
            id,
            session: None,
            grants,
            audit: Arc::clone(&self.audit),
            stores: self.stores.clone(),
            channel: None,
            cancelled,
            progress: None,
        }));
        let mut store = self.store(&call).map_err(|e| e.to_string())?;
        let describe = async |store: &mut Store<CallState>| {
            let instance = pre.instantiate_async(&mut *store).await?;
            instance.chitin_tool_guest().call_describe(store).await
        };
        match bounded(&call, &mut store, describe).await {
            Ok(specs) => Ok(specs),
            Err(error) => Err(from_error(&call, &error).text_for_model()),
        }
    }

    /// A fresh store for one call, inside its limits.
    /// Replaces the named roots, for calls that start from now on.
    pub fn set_roots(&self, roots: Roots) {
        *self.roots.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(roots);
    }

    pub(crate) fn store(&self, call: &Arc<CallContext>) -> Result<Store<CallState>, HostError> {
        let roots = Arc::clone(&self.roots.read().unwrap_or_else(PoisonError::into_inner));
        let files = Files::new(call, &roots)?;
        let requests = Requests::new(Arc::clone(call), self.egress.clone());
        let stdio = Stdio { out: MemoryOutputPipe::new(STDIO_BYTES_MAX), err: MemoryOutputPipe::new(STDIO_BYTES_MAX) };
        let mut store = Store::new(engine()?, CallState::new(Arc::clone(call), files, requests, &stdio));
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(HOSTCALL_BYTES_MAX);
        Ok(store)
    }

    async fn run(&self, grants: Arc<Grants>, id: CallId, invocation: Invocation) -> ToolOutcome {
        let Invocation { tool, component, function, args, session, cancelled, progress } = invocation;
        let limits = grants.limits();
        let Some(_places) = self.wait_for_place(&tool, &limits, cancelled.clone()).await else {
            return ToolOutcome::Cancelled;
        };
        let mut stop = cancelled.clone();
        let prepared = tokio::select! {
            prepared = self.prepared(&component) => prepared,
            true = stopped(&mut stop) => return ToolOutcome::Cancelled,
        };
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(HostError::NotRunnable(why)) => return ToolOutcome::Untrusted(why),
            Err(error) => return host_broke(&error),
        };
        let call = Arc::new(CallContext::new(CallStart {
            id,
            session,
            grants,
            audit: Arc::clone(&self.audit),
            stores: self.stores.clone(),
            channel: None,
            cancelled,
            progress,
        }));
        let mut store = match self.store(&call) {
            Ok(store) => store,
            Err(HostError::Root { name, why }) => return no_root(&name, &why),
            Err(error) => return host_broke(&error),
        };
        let context = Arc::clone(&call);
        let task = tokio::spawn(async move {
            match prepared.as_ref() {
                Prepared::Pack(pre) => invoke_pack(&context, &mut store, pre, &function, &args).await,
                Prepared::Typed(typed) => typed.call(&context, &mut store, &function, &args).await,
            }
        });
        task.await.unwrap_or_else(|error| {
            tracing::error!(call = %call.id, %error, "a host function panicked");
            ToolOutcome::Broke("host-panic".to_owned())
        })
    }

    async fn prepared(&self, component: &Digest) -> Result<Arc<Prepared>, HostError> {
        self.loaded.prepared(engine()?, component).await
    }

    async fn wait_for_place(
        &self,
        tool: &ToolName,
        limits: &chitin_types::Limits,
        mut cancelled: watch::Receiver<bool>,
    ) -> Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)> {
        let place = {
            let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
            let key = (tool.clone(), limits.parallel);
            let one = || Arc::new(Semaphore::new(usize::try_from(limits.parallel.max(1)).unwrap_or(1)));
            Arc::clone(places.entry(key).or_insert_with(one))
        };
        let mib = u32::try_from(limits.memory_mib.min(MEMORY_MIB_TOTAL as u64)).unwrap_or(1);
        let both = async {
            let place = place.acquire_owned().await.ok()?;
            let memory = Arc::clone(&self.memory_mib).acquire_many_owned(mib).await.ok()?;
            Some((place, memory))
        };
        tokio::select! {
            both = both => both,
            true = stopped(&mut cancelled) => None,
        }
    }
}

#[async_trait]
impl Invoke for Host {
    async fn invoke(&self, permit: Authorized, call: Invocation) -> ToolOutcome {
        let id = permit.call().clone();
        match permit.redeem(&call.component, &call.function, &call.args) {
            Ok(grants) => self.run(grants, id, call).await,
            Err(denial) => ToolOutcome::Denied(denial),
        }
    }
}

async fn invoke_pack(
    call: &CallContext,
    store: &mut Store<CallState>,
    pre: &ToolWithEverythingPre<CallState>,
    function: &FunctionName,
    args: &Value,
) -> ToolOutcome {
    let request = pack::Request { tool: function.to_string(), args: args.to_string(), files: vec![] };
    let work = async |store: &mut Store<CallState>| {
        let instance = pre.instantiate_async(&mut *store).await?;
        instance.chitin_tool_guest().call_invoke(store, &request).await
    };
    match bounded(call, store, work).await {
        // While the store lives: the files of a result are handles in it.
        Ok(Ok(parts)) => match store.data_mut().parts_from_guest(parts) {
            Ok(parts) => done(call, parts),
            Err(error) => from_error(call, &error),
        },
        Ok(Err(failure)) => from_failure(call, failure),
        Err(error) => from_error(call, &error),
    }
}

/// Runs `work` on the store inside the wall time, the processor time and the wish to stop. The deadline lives in the
/// epoch callback for a guest that computes, and in the timer for one that waits. After an error the store may hold a
/// guest that was stopped in the middle, and must not be used again.
pub(crate) async fn bounded<T>(
    call: &CallContext,
    store: &mut Store<CallState>,
    work: impl AsyncFnOnce(&mut Store<CallState>) -> wasmtime::Result<T>,
) -> wasmtime::Result<T> {
    let meter = Meter::new();
    watch_guest(store, meter.clone());
    let _ticking = ticker::running(engine()?);
    let mut cancelled = call.cancelled.clone();
    let wall = tokio::time::sleep_until(tokio::time::Instant::from_std(call.deadline));
    tokio::select! {
        biased;
        result = meter.meter(work(store)) => result,
        () = wall => Err(call.reached.stop(format!("wall time ({} ms)", call.limits.wall_ms))),
        true = stopped(&mut cancelled) => Err(wasmtime::Error::msg("cancelled")),
    }
}

fn watch_guest(store: &mut Store<CallState>, meter: Meter) {
    store.set_epoch_deadline(FIRST_LOOK_TICKS);
    store.epoch_deadline_callback(move |context| {
        let call = &context.data().call;
        if *call.cancelled.borrow() {
            return Ok(UpdateDeadline::Interrupt);
        }
        if Instant::now() >= call.deadline {
            return Err(call.reached.stop(format!("wall time ({} ms)", call.limits.wall_ms)));
        }
        if meter.used_ns() / 1_000_000 >= call.limits.cpu_ms {
            return Err(call.reached.stop(format!("processor time ({} ms)", call.limits.cpu_ms)));
        }
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
    });
}

/// Ends with `true` when somebody asks to stop; a caller that went away never asks.
async fn stopped(cancelled: &mut watch::Receiver<bool>) -> bool {
    if cancelled.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
    true
}

/// What a call gave in the end, behind what it gave on the way.
pub(crate) fn done(call: &CallContext, parts: Vec<Part>) -> ToolOutcome {
    let mut all: Vec<Part> = std::mem::take(&mut *call.partial.lock().unwrap_or_else(PoisonError::into_inner));
    all.extend(parts);
    ToolOutcome::Done(all)
}

/// A grant that mounts a root which the configuration does not name is a matter of policy, not a fault of the tool.
fn no_root(name: &str, why: &str) -> ToolOutcome {
    ToolOutcome::Denied(Denial {
        rule: "config:roots".to_owned(),
        reason: format!("root {name:?} cannot be used: {why}"),
        help: Some(format!("add {name} = \"/a/directory\" under [roots] in config.toml")),
    })
}

fn host_broke(error: &HostError) -> ToolOutcome {
    tracing::error!(%error, "the host cannot run a call");
    ToolOutcome::Broke(format!("host: {error}"))
}
