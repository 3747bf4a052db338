//! What does one call own? Everything in its store: WASI contexts, handles, counters, and what it was refused.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use chitin_policy::Grants;
use chitin_ports::{Audit, AuditEntry, AuditKind, KeyValue, Progress, Recall};
use chitin_types::{CallId, Denial, Limits, Part, SessionId};
use serde_json::Value;
use tokio::sync::watch;
use wasmtime_wasi::{ResourceTable, WasiCtx, WasiCtxView, WasiView, p2::pipe::MemoryOutputPipe};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::{
    capability::{fs::Files, http::Requests},
    channel::Side,
    limits::{Memory, Reached},
};

/// What outlives a call: where guests keep things, each by what its own grants allow.
#[derive(Clone)]
pub struct Stores {
    /// Values by key, each tool its own.
    pub kv: Arc<dyn KeyValue>,
    /// The assistant's memory.
    pub recall: Arc<dyn Recall>,
}

/// The data of one store.
pub struct CallState {
    pub(crate) table: ResourceTable,
    pub(crate) wasi: WasiCtx,
    pub(crate) http: WasiHttpCtx,
    pub(crate) requests: Requests,
    pub(crate) files: Files,
    pub(crate) memory: Memory,
    pub(crate) call: Arc<CallContext>,
}

/// What host functions of one call share, also with tasks that outlive a borrow of the store.
pub struct CallContext {
    pub(crate) id: CallId,
    pub(crate) session: Option<SessionId>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) limits: Limits,
    pub(crate) audit: Arc<dyn Audit>,
    pub(crate) stores: Stores,
    /// What only a channel has; none for a tool.
    pub(crate) channel: Option<Arc<Side>>,
    pub(crate) deadline: Instant,
    pub(crate) cancelled: watch::Receiver<bool>,
    pub(crate) progress: Option<Progress>,
    pub(crate) reached: Reached,
    pub(crate) partial: Mutex<Vec<Part>>,
    host_calls: AtomicU64,
    output_bytes: AtomicU64,
    denials: Mutex<Vec<Denial>>,
}

/// Denials written to the audit for one call; a guest that probes in a loop must not fill the disk.
const DENIALS_MAX: usize = 32;
/// Handles of one call: files, streams, requests, pollables.
pub(crate) const HANDLES_MAX: usize = 2_048;
/// Size of one set of headers in bytes, as wasmtime-wasi-http counts.
pub(crate) const HEADER_BYTES_MAX: usize = 32 * 1024;
/// Standard output and error each, in bytes.
pub(crate) const STDIO_BYTES_MAX: usize = 64 * 1024;
/// Bytes that one call of a random function gives.
pub(crate) const RANDOM_BYTES_MAX: u64 = 64 * 1024;

/// Captured standard output and error.
pub(crate) struct Stdio {
    pub(crate) out: MemoryOutputPipe,
    pub(crate) err: MemoryOutputPipe,
}

/// What a call context is made from.
pub(crate) struct CallStart {
    pub(crate) id: CallId,
    pub(crate) session: Option<SessionId>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) audit: Arc<dyn Audit>,
    pub(crate) stores: Stores,
    pub(crate) channel: Option<Arc<Side>>,
    pub(crate) cancelled: watch::Receiver<bool>,
    pub(crate) progress: Option<Progress>,
}

impl CallContext {
    pub(crate) fn new(start: CallStart) -> Self {
        let CallStart { id, session, grants, audit, stores, channel, cancelled, progress } = start;
        let limits = grants.limits();
        Self {
            id,
            session,
            limits,
            grants,
            audit,
            stores,
            channel,
            deadline: Instant::now() + Duration::from_millis(limits.wall_ms),
            cancelled,
            progress,
            reached: Reached::default(),
            partial: Mutex::default(),
            host_calls: AtomicU64::new(0),
            output_bytes: AtomicU64::new(0),
            denials: Mutex::default(),
        }
    }

    /// Counts one call into the host that costs the host something.
    pub(crate) fn charge(&self) -> wasmtime::Result<()> {
        if self.host_calls.fetch_add(1, Ordering::Relaxed) >= self.limits.host_calls {
            return Err(self.reached.stop(format!("host calls ({})", self.limits.host_calls)));
        }
        Ok(())
    }

    /// Counts bytes that leave the guest as output.
    pub(crate) fn charge_output(&self, bytes: usize) -> wasmtime::Result<()> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let before = self.output_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > self.limits.output_kib.saturating_mul(1024) {
            return Err(self.reached.stop(format!("output ({} KiB)", self.limits.output_kib)));
        }
        Ok(())
    }

    /// Remembers and audits a refusal.
    pub(crate) fn deny(&self, denial: Denial) {
        let mut denials = self.denials.lock().unwrap_or_else(PoisonError::into_inner);
        if denials.len() < DENIALS_MAX {
            let detail = serde_json::json!({ "reason": denial.reason });
            self.audit.append(self.entry("deny", &denial.rule, detail)).later();
            denials.push(denial);
        }
    }

    /// The last refusal, which is why a call that failed did.
    pub(crate) fn last_denial(&self) -> Option<Denial> {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).last().cloned()
    }

    /// Writes an effect down before it leaves the process; when that fails, the effect must not happen.
    pub(crate) async fn effect(&self, rule: &str, detail: Value) -> Result<(), Denial> {
        self.audit.append(self.entry("allow", rule, detail)).durable().await.map_err(|error| Denial {
            rule: "audit:durable".to_owned(),
            reason: format!("the effect could not be written to the audit: {error}"),
            help: Some("chitin doctor".to_owned()),
        })
    }

    /// Writes down something that was looked at, without waiting.
    pub(crate) fn look(&self, rule: &str, detail: Value) {
        self.audit.append(self.entry("allow", rule, detail)).later();
    }

    fn entry(&self, verdict: &str, rule: &str, detail: Value) -> AuditEntry {
        AuditEntry::new(AuditKind::Effect, self.grants.tool().to_string(), verdict)
            .rule(rule)
            .call(&self.id)
            .session(self.session.as_ref())
            .detail(detail)
    }
}

impl CallState {
    /// The state of a call that is about to start.
    pub(crate) fn new(call: Arc<CallContext>, files: Files, requests: Requests, stdio: &Stdio) -> Self {
        let wasi = WasiCtx::builder()
            .stdout(stdio.out.clone())
            .stderr(stdio.err.clone())
            .allow_blocking_current_thread(true)
            .max_random_size(RANDOM_BYTES_MAX)
            .build();
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES_MAX);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(HEADER_BYTES_MAX);
        let memory = Memory::new(&call.limits, call.reached.clone());
        Self { table, wasi, http, requests, files, memory, call }
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for CallState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.requests }
    }
}
