//! How does a test call a component? A guest, a grant and arguments go in; the outcome and the audit come out.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use chitin_egress::Egress;
use chitin_host::{CodeCache, Host, HostParts, Roots, Stores, compile::InProcess};
use chitin_policy::{Authorized, Call, Defaults, Grant, Grants, Verdict, authorize};
use chitin_ports::{Audit, AuditEntry, Clock, ComponentSource, Invocation, Invoke, Receipt};
use chitin_records::Records;
use chitin_types::{
    CallId, Capabilities, Digest, Effects, FsAsk, FsMode, FunctionName, HttpAsk, KvAsk, RecallAsk, ToolName,
    ToolOutcome,
};
use serde_json::Value;
use tokio::sync::watch;

/// An audit that keeps everything in memory, and can be told to fail.
#[derive(Default)]
pub struct Recording {
    entries: Mutex<Vec<AuditEntry>>,
    /// While true, entries are taken and never become durable.
    pub broken: std::sync::atomic::AtomicBool,
}

impl Recording {
    /// Everything so far.
    pub fn entries(&self) -> Vec<AuditEntry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Audit for Recording {
    fn append(&self, entry: AuditEntry) -> Receipt {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        let (sender, receipt) = Receipt::pair();
        let broken = self.broken.load(std::sync::atomic::Ordering::SeqCst);
        let result = if broken { Err(chitin_ports::PortError("write: the disk is full".to_owned())) } else { Ok(()) };
        // The receiver may be gone already when nobody waits.
        let _ = sender.send(result);
        receipt
    }
}

/// The system's clock.
struct Wall;

impl Clock for Wall {
    fn now_ms(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Gives the bytes of one component.
pub struct OneComponent(pub Arc<Vec<u8>>);

impl ComponentSource for OneComponent {
    fn verified(&self, component: &Digest) -> Option<Arc<Vec<u8>>> {
        (Digest::of(&self.0) == *component).then(|| Arc::clone(&self.0))
    }
}

/// A host around one guest.
pub struct Kit {
    /// The host.
    pub host: Arc<Host>,
    /// What it wrote down.
    pub audit: Arc<Recording>,
    /// Digest of the guest.
    pub component: Digest,
    /// A directory that is mounted as root `default` (and can be looked at from outside).
    pub workspace: PathBuf,
    _dir: tempfile::TempDir,
}

impl Kit {
    /// A host around this artifact. Compiled code is shared by all tests of a run, as between processes of one home.
    ///
    /// # Panics
    /// The guest was not built, or the host does not start.
    pub fn new(artifact: &str) -> Self {
        Self::with_cache(artifact, &crate::guests::repository().join("target/testkit-cache"))
    }

    /// The same, with a cache of its own.
    ///
    /// # Panics
    /// As [`Kit::new`].
    pub fn with_cache(artifact: &str, cache: &Path) -> Self {
        let bytes = Arc::new(crate::guests::bytes(artifact));
        let dir = tempfile::tempdir().expect("a temporary directory");
        let workspace = dir.path().join("workspace");
        std::fs::create_dir(&workspace).expect("a new directory");
        let audit = Arc::new(Recording::default());
        let state = Records::open(&dir.path().join("state.db"), [7; 32], Arc::new(Wall));
        let records = Arc::new(state.expect("the records open"));
        let parts = HostParts {
            slots: chitin_host::Slots::Server,
            cache: CodeCache::new(cache, [7; 32]),
            compiler: Arc::new(InProcess),
            stores: Stores { kv: Arc::clone(&records) as _, recall: Arc::clone(&records) as _ },
            roots: Roots::open([("default".to_owned(), workspace.clone())]).expect("the root opens"),
            egress: Egress::default(),
            audit: Arc::clone(&audit) as Arc<dyn Audit>,
            source: Arc::new(OneComponent(Arc::clone(&bytes))),
        };
        let host = Arc::new(Host::new(parts).expect("the host starts"));
        Self { host, audit, component: Digest::of(&bytes), workspace, _dir: dir }
    }

    /// A grant of nothing for this guest, to which a test adds its one line.
    ///
    /// # Panics
    /// Never: the name is a literal.
    pub fn grant(&self) -> Grant {
        Grant::nothing(ToolName::parse("test/probe").expect("a name"), self.component)
    }

    /// Calls a function through policy and host, as the agent does.
    ///
    /// # Panics
    /// Policy does not allow the call at all.
    pub async fn call(&self, grant: &Grant, function: &str, args: Value) -> ToolOutcome {
        let (_keep, cancelled) = watch::channel(false);
        self.call_cancellable(grant, function, args, cancelled).await
    }

    /// The same, with a way to stop it.
    ///
    /// # Panics
    /// As [`Kit::call`].
    pub async fn call_cancellable(
        &self,
        grant: &Grant,
        function: &str,
        args: Value,
        cancelled: watch::Receiver<bool>,
    ) -> ToolOutcome {
        let permit = self.permit(grant, function, &args);
        let tool = grant.tool.clone();
        let function = FunctionName::parse(function).expect("a function name");
        let call =
            Invocation { tool, component: self.component, function, args, session: None, cancelled, progress: None };
        self.host.invoke(permit, call).await
    }

    /// A permit for one call.
    ///
    /// # Panics
    /// Policy does not allow the call.
    pub fn permit(&self, grant: &Grant, function: &str, args: &Value) -> Authorized {
        let grants = Arc::new(Grants::intersect(everything(), grant.clone(), everything(), &Defaults::default()));
        let call = Call {
            id: CallId::parse("test-call").expect("an id"),
            component: self.component,
            function: FunctionName::parse(function).expect("a function name"),
            args: args.clone(),
            effects: Effects::default(),
        };
        match authorize(&grants, &call, &BTreeSet::new()) {
            Verdict::Allow(permit) => permit,
            other => panic!("{function} is not allowed: {other:?}"),
        }
    }
}

/// Every capability there is: a request and a ceiling that take nothing away.
///
/// # Panics
/// Never: the patterns are literals.
pub fn everything() -> Capabilities {
    let http = HttpAsk {
        host: chitin_types::HostPattern::Any,
        scheme: vec![chitin_types::Scheme::Http, chitin_types::Scheme::Https],
        ports: vec![],
        methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].map(str::to_owned).to_vec(),
        paths: vec![chitin_types::PathPattern::parse("/**").expect("a pattern")],
        reason: None,
    };
    let any = || vec!["*".to_owned()];
    Capabilities {
        fs: vec![FsAsk { at: "*".to_owned(), mode: FsMode::Rw, reason: None }],
        http: vec![http],
        kv: Some(KvAsk { quota_kib: 65_536, reason: None }),
        recall: Some(RecallAsk { read: any(), write: any(), reason: None }),
    }
}
