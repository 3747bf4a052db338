//! What do the capabilities' tests stand on? The state of one call without a guest, a grant that the test fills, and
//! stores in memory. Host functions are called on the state as a guest would call them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use chitin_egress::Egress;
use chitin_policy::{Defaults, Grant, Grants, KvGrant, RecallGrant};
use chitin_ports::{Audit, AuditEntry, Cas, KeyValue, KvError, Memory, Origin, PortError, Recall, Receipt};
use chitin_types::{CallId, Capabilities, Digest, KvAsk, RecallAsk, ToolName};
use tokio::sync::watch;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;

use crate::{
    capability::{fs::Files, http::Requests},
    state::{CallContext, CallStart, CallState, Stdio, Stores},
};

/// One call that is running, and what it wrote down.
pub(crate) struct Scene {
    pub(crate) state: CallState,
    pub(crate) audit: Arc<Heard>,
    pub(crate) notes: Arc<Notes>,
}

impl Scene {
    /// A call of the tool `test/probe`, under a grant of nothing that `fill` adds to.
    pub(crate) fn new(fill: impl FnOnce(&mut Grant)) -> Self {
        Self::of("test/probe", &Arc::default(), fill)
    }

    /// A call of another tool, over values that are there already.
    pub(crate) fn of(tool: &str, kv: &Arc<Shelf>, fill: impl FnOnce(&mut Grant)) -> Self {
        let mut grant = Grant::nothing(ToolName::parse(tool).expect("a name"), Digest::of(b"probe"));
        fill(&mut grant);
        // What the test sets is what holds.
        let limits = Defaults { schema: 1, limits: grant.limits };
        let (audit, notes) = (Arc::new(Heard::default()), Arc::new(Notes::default()));
        let recall: Arc<dyn Recall> = notes.clone();
        let kept: Arc<dyn KeyValue> = kv.clone();
        let start = CallStart {
            id: CallId::parse("test-call").expect("an id"),
            session: None,
            grants: Arc::new(Grants::intersect(asks(), grant, asks(), &limits)),
            audit: audit.clone(),
            stores: Stores { kv: kept, recall },
            channel: None,
            cancelled: watch::channel(false).1,
            progress: None,
        };
        let call = Arc::new(CallContext::new(start));
        let requests = Requests::new(Arc::clone(&call), Egress::default());
        let stdio = Stdio { out: MemoryOutputPipe::new(1024), err: MemoryOutputPipe::new(1024) };
        Self { state: CallState::new(call, Files::default(), requests, &stdio), audit, notes }
    }
}

/// A line of a grant file: `[kv] quota_kib = …`.
pub(crate) fn kv(quota_kib: u64) -> impl FnOnce(&mut Grant) {
    move |grant| grant.kv = Some(KvGrant { quota_kib })
}

/// Lines of a grant file: `[recall]` with scopes to read and to write.
pub(crate) fn recall(read: &[&str], write: &[&str]) -> impl FnOnce(&mut Grant) {
    let owned = |scopes: &[&str]| scopes.iter().map(|scope| (*scope).to_owned()).collect();
    let given = RecallGrant { read: owned(read), write: owned(write) };
    move |grant| grant.recall = Some(given)
}

/// A request and a ceiling that take nothing away.
fn asks() -> Capabilities {
    let any = || vec!["*".to_owned()];
    Capabilities {
        kv: Some(KvAsk { quota_kib: 65_536, reason: None }),
        recall: Some(RecallAsk { read: any(), write: any(), reason: None }),
        ..Capabilities::default()
    }
}

/// An audit in memory, which can be told to fail.
#[derive(Default)]
pub(crate) struct Heard {
    entries: Mutex<Vec<AuditEntry>>,
    pub(crate) broken: AtomicBool,
}

impl Heard {
    /// Verdict and rule of everything so far.
    pub(crate) fn rules(&self) -> Vec<(String, String)> {
        let entries = self.entries();
        entries.into_iter().map(|entry| (entry.verdict, entry.rule.unwrap_or_default())).collect()
    }

    pub(crate) fn entries(&self) -> Vec<AuditEntry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Audit for Heard {
    fn append(&self, entry: AuditEntry) -> Receipt {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        let (sender, receipt) = Receipt::pair();
        let broken = self.broken.load(Ordering::SeqCst);
        let result = if broken { Err(PortError("write: the disk is full".to_owned())) } else { Ok(()) };
        // Nobody may be waiting.
        let _ = sender.send(result);
        receipt
    }
}

/// Values in memory, by owner, bucket and key.
#[derive(Default)]
pub(crate) struct Shelf(Mutex<BTreeMap<(String, String, String), Vec<u8>>>);

impl Shelf {
    #[expect(clippy::too_many_arguments, reason = "the arguments of the port")]
    fn put(&self, owner: &str, bucket: &str, key: &str, value: &[u8], quota_bytes: u64) -> Result<(), KvError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = (owner.to_owned(), bucket.to_owned(), key.to_owned());
        let others = kept.iter().filter(|(place, _)| place.0 == owner && **place != at);
        let used: usize = others.map(|(place, value)| place.2.len() + value.len()).sum();
        if (used + key.len() + value.len()) as u64 > quota_bytes {
            return Err(KvError::Quota { used_bytes: used as u64, quota_bytes });
        }
        kept.insert(at, value.to_vec());
        Ok(())
    }

    fn find(&self, owner: &str, bucket: &str, key: &str) -> Option<Vec<u8>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&(owner.to_owned(), bucket.to_owned(), key.to_owned())).cloned()
    }
}

#[async_trait]
impl KeyValue for Shelf {
    async fn get(&self, owner: &str, bucket: &str, key: &str) -> Result<Option<Vec<u8>>, KvError> {
        Ok(self.find(owner, bucket, key))
    }

    async fn set(&self, owner: &str, bucket: &str, key: &str, value: &[u8], quota_bytes: u64) -> Result<(), KvError> {
        self.put(owner, bucket, key, value, quota_bytes)
    }

    async fn delete(&self, owner: &str, bucket: &str, key: &str) -> Result<(), KvError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.remove(&(owner.to_owned(), bucket.to_owned(), key.to_owned()));
        Ok(())
    }

    async fn keys(&self, owner: &str, bucket: &str, after: Option<&str>, max: usize) -> Result<Vec<String>, KvError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let here = kept.keys().filter(|place| place.0 == owner && place.1 == bucket);
        let later = here.filter(|place| after.is_none_or(|after| place.2.as_str() > after));
        Ok(later.take(max).map(|place| place.2.clone()).collect())
    }

    async fn increment(&self, owner: &str, bucket: &str, key: &str, by: i64, quota: u64) -> Result<i64, KvError> {
        let text = self.find(owner, bucket, key).unwrap_or_else(|| b"0".to_vec());
        let number: i64 = String::from_utf8_lossy(&text).parse().map_err(|_| KvError::NotANumber)?;
        let sum = number.checked_add(by).ok_or(KvError::NotANumber)?;
        self.put(owner, bucket, key, sum.to_string().as_bytes(), quota)?;
        Ok(sum)
    }

    async fn swap(
        &self,
        owner: &str,
        bucket: &str,
        key: &str,
        expected: Option<&[u8]>,
        new: &[u8],
        quota_bytes: u64,
    ) -> Result<Cas, KvError> {
        let now = self.find(owner, bucket, key);
        if now.as_deref() != expected {
            return Ok(Cas::Differs(now));
        }
        self.put(owner, bucket, key, new, quota_bytes)?;
        Ok(Cas::Swapped)
    }
}

/// A memory that finds what contains the text of a query.
#[derive(Default)]
pub(crate) struct Notes(pub(crate) Mutex<Vec<Memory>>);

impl Notes {
    fn select(&self, keep: impl Fn(&Memory) -> bool, limit: usize) -> Vec<Memory> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.iter().filter(|memory| keep(memory)).take(limit).cloned().collect()
    }
}

#[async_trait]
impl Recall for Notes {
    async fn query(&self, text: &str, scopes: &[String], limit: usize) -> Result<Vec<Memory>, PortError> {
        Ok(self.select(|memory| scopes.contains(&memory.scope) && memory.text.contains(text), limit))
    }

    async fn entries(&self, scopes: &[String], after: Option<&str>, limit: usize) -> Result<Vec<Memory>, PortError> {
        let later = |memory: &Memory| after.is_none_or(|after| memory.id.as_str() > after);
        Ok(self.select(|memory| scopes.contains(&memory.scope) && later(memory), limit))
    }

    async fn remember(&self, text: &str, scope: &str, origin: &Origin) -> Result<String, PortError> {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = format!("m{:04}", notes.len());
        let (scope, text, origin) = (scope.to_owned(), text.to_owned(), origin.who.clone());
        notes.push(Memory { id: id.clone(), scope, text, stored_at_ms: 1, score: 0.0, origin });
        Ok(id)
    }

    async fn forget(&self, id: &str, scopes: &[String]) -> Result<bool, PortError> {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = notes.len();
        notes.retain(|memory| memory.id != id || !scopes.contains(&memory.scope));
        Ok(notes.len() < before)
    }
}
