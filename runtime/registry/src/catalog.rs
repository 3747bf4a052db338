//! Which tools are there, and may their bytes be used? The list comes from the lock alone; a tool is verified before
//! its first use in this process, and from then on its bytes are the ones in memory.
//!
//! ```text
//!   resolve(wire name) ─ lock entry ─ proven before? ─┬ yes ──────────────────────────┬─ grants ─→ Installed
//!                             │                       └ read, hash, verify, keep bytes┘
//!                             └ under no good seal ─→ untrusted, this tool only
//! ```
//!
//! Grants and trusted keys are read at every call, so that what is taken back is gone at the next one. A file that is
//! broken by then keeps what it said before, as long as this process knew it (`kept.rs`).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use chitin_package::{KeyRing, LockEntry, LockFile, PinnedFunction, TrustedKey, Verified, VerifyError};
use chitin_policy::{Defaults, Grant, Grants};
use chitin_ports::{Clock, ComponentSource, Installed, PortError, Toolbox};
use chitin_types::{Capabilities, Denial, Digest, ToolName, ToolOutcome, ToolSpec, WireName};

use crate::{
    Home, HomeKey, RegistryError, Said,
    beside::Beside,
    grants::{load_defaults, load_grant},
    kept::Kept,
    prove::{Proven, prove},
    tools::read_bytes,
    trust::read_each,
};

/// The installed tools of one home.
pub struct Catalog {
    home: Home,
    key: HomeKey,
    clock: Arc<dyn Clock>,
    lock: Mutex<Option<Parsed<Vec<u8>, LockFile>>>,
    kept: Mutex<Kept>,
    pub(crate) beside: Beside,
    proven: Mutex<HashMap<Pair, Proven>>,
    // Held while a component is read and verified, so that two calls at once do not both do it.
    proving: tokio::sync::Mutex<()>,
}

/// One installed tool, verified in this process.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its entry in the lock.
    pub entry: LockEntry,
    /// The verdict about its bytes.
    pub verified: Verified,
    /// What it may really do.
    pub grants: Arc<Grants>,
}

// The digests of component and bundle: what was proven about one pair says nothing about another.
type Pair = (Digest, Digest);

// What was made of which text. The text is compared as a whole: a time of change can lie.
struct Parsed<S, T> {
    source: S,
    value: Arc<T>,
}

impl Catalog {
    /// The tools of this home.
    ///
    /// # Errors
    /// The home's key cannot be read or made.
    pub fn new(home: Home, clock: Arc<dyn Clock>) -> Result<Self, RegistryError> {
        let key = HomeKey::load_or_create(&home)?;
        Ok(Self {
            home,
            key,
            clock,
            lock: Mutex::default(),
            kept: Mutex::default(),
            beside: Beside::default(),
            proven: Mutex::default(),
            proving: tokio::sync::Mutex::default(),
        })
    }

    /// Everything that the lock holds, with the damaged blocks set apart. Nothing is verified.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn tools(&self) -> Result<Arc<LockFile>, RegistryError> {
        let source = read_bytes(&self.home)?;
        cached(&self.lock, source, |bytes| Ok(LockFile::parse(bytes, self.key.bytes())))
    }

    /// One tool by its name, verified.
    ///
    /// # Errors
    /// It is not installed, its block or its bytes are not those that were installed, or its grant is refused.
    pub async fn tool(&self, name: &ToolName) -> Result<Tool, RegistryError> {
        let tools = self.tools()?;
        let Some(entry) = tools.find(name) else {
            return Err(if tools.damaged.is_empty() {
                RegistryError::NotFound(Said::new(format!("{name} is not installed")).help("chitin tool list"))
            } else {
                let help = format!("install it again from its file, or: chitin tool remove {name}");
                RegistryError::Untrusted(Said::new(damage(&tools, name.as_str())).help(help))
            });
        };
        let proven = self.prove(entry).await?;
        let grants = self.grants(entry, &proven.verified)?;
        Ok(Tool { entry: entry.clone(), verified: proven.verified, grants })
    }

    /// What is wrong with the files that people write, one line each, and what holds meanwhile. They are looked at again,
    /// so that one that nobody needed since it broke is told, too.
    pub fn problems(&self) -> Vec<String> {
        let tools = match self.tools() {
            Ok(tools) => tools,
            Err(error) => return vec![error.to_string()],
        };
        let installed = tools.entries.iter().map(|entry| &entry.name);
        let names: Vec<&ToolName> = installed.clone().chain(self.beside.native()).collect();
        held(&self.kept).grants.retain(|tool, _| names.contains(&tool));
        // What holds is of no interest here, and what is wrong is kept with it.
        let _ = (self.ring(), self.defaults());
        for name in names {
            let _ = self.given(name);
        }
        let mut problems = held(&self.kept).problems();
        for hidden in installed.filter(|name| self.beside.has(name.short())) {
            problems.push(format!("{hidden} is not offered: another tool is {}__… in this process", hidden.short()));
        }
        problems
    }

    // Reads and verifies at most once; the key is looked up each time, so that one that was revoked stops its tools.
    async fn prove(&self, entry: &LockEntry) -> Result<Proven, RegistryError> {
        let ring = self.ring()?;
        if let Some(proven) = self.proven_by(&ring, entry)? {
            return Ok(proven);
        }
        let _proving = self.proving.lock().await;
        if let Some(proven) = self.proven_by(&ring, entry)? {
            return Ok(proven);
        }
        let (home, wanted, now_ms) = (self.home.clone(), entry.clone(), self.clock.now_ms());
        let proven = tokio::task::spawn_blocking(move || prove(&home, &wanted, &ring, now_ms))
            .await
            .map_err(|e| PortError(format!("verify {}: {e}", entry.name)))??;
        held(&self.proven).insert((entry.component, entry.bundle), proven.clone());
        Ok(proven)
    }

    fn proven_by(&self, ring: &KeyRing, entry: &LockEntry) -> Result<Option<Proven>, RegistryError> {
        let known = held(&self.proven).get(&(entry.component, entry.bundle)).cloned();
        let Some(Proven { verified, bytes }) = known else { return Ok(None) };
        let fingerprint = verified.signer().fingerprint();
        match ring.find(fingerprint) {
            // Nothing about the key changed, and its time is not over.
            Some(signer) if signer == verified.signer() => {
                still_in_time(signer, self.clock.now_ms())?;
                Ok(Some(Proven { verified, bytes }))
            }
            // Its names, times or ceiling changed: everything is verified again.
            Some(_) => Ok(None),
            None => Err(VerifyError::UnknownKey { fingerprint }.into()),
        }
    }

    fn grants(&self, entry: &LockEntry, verified: &Verified) -> Result<Arc<Grants>, RegistryError> {
        let grant = self.granted(&entry.name, entry.component)?;
        let requests = verified.statement().predicate.requests.clone();
        self.within(requests, grant, verified.signer().ceiling().clone())
    }

    /// What the user gave to a tool, for everything that `policy` compares.
    pub(crate) fn granted(&self, tool: &ToolName, component: Digest) -> Result<Grant, RegistryError> {
        // A grant that is bound to nothing: `authorize` answers that nothing is granted.
        let unbound = || Grant { pin: None, ..Grant::nothing(tool.clone(), component) };
        Ok(self.given(tool)?.unwrap_or_else(unbound))
    }

    /// Puts the documents side by side, with the limits that hold for all.
    pub(crate) fn within(
        &self,
        requests: Capabilities,
        grant: Grant,
        ceiling: Capabilities,
    ) -> Result<Arc<Grants>, RegistryError> {
        Ok(Arc::new(Grants::intersect(requests, grant, ceiling, &self.defaults()?)))
    }

    // The three kinds of files that people write, as they say now or last said.
    fn given(&self, tool: &ToolName) -> Result<Option<Grant>, RegistryError> {
        let read = load_grant(&self.home, tool);
        held(&self.kept).grants.entry(tool.clone()).or_default().settle(read)
    }

    fn defaults(&self) -> Result<Defaults, RegistryError> {
        let read = load_defaults(&self.home).map(Some);
        Ok(held(&self.kept).defaults.settle(read)?.unwrap_or_default())
    }

    fn ring(&self) -> Result<Arc<KeyRing>, RegistryError> {
        let files = read_each(&self.home)?;
        held(&self.kept).trust.settle(files)
    }
}

impl ComponentSource for Catalog {
    fn verified(&self, component: &Digest) -> Option<Arc<Vec<u8>>> {
        let proven = held(&self.proven)
            .iter()
            .find(|((digest, _), _)| digest == component)
            .map(|(_, proven)| Arc::clone(&proven.bytes));
        proven.or_else(|| self.beside.bytes(component))
    }
}

#[async_trait]
impl Toolbox for Catalog {
    async fn specs(&self) -> Result<Vec<ToolSpec>, PortError> {
        let tools = self.tools().map_err(|e| PortError(e.to_string()))?;
        let shown = tools.entries.iter().filter(|entry| !self.beside.has(entry.name.short()));
        let installed = shown.flat_map(functions).map(|(entry, function)| spec(&entry.name, function));
        let mut named = Vec::new();
        for spec in installed.chain(self.beside.specs().into_iter().map(Ok)) {
            let spec = spec?;
            let wire_name = spec.wire_name().map_err(|e| PortError(format!("list {}: {e}", spec.tool)))?;
            named.push((wire_name, spec));
        }
        named.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(named.into_iter().map(|(_, spec)| spec).collect())
    }

    async fn resolve(&self, wire_name: &str) -> Result<Option<Installed>, ToolOutcome> {
        if let Some(found) = self.find_beside(wire_name) {
            return found.map(Some);
        }
        let tools = self.tools().map_err(|error| broke(&error))?;
        let asked = |(entry, function): &(&LockEntry, &PinnedFunction)| {
            WireName::of(&entry.name, &function.name).is_ok_and(|name| name.as_str() == wire_name)
        };
        let Some((entry, function)) = tools.entries.iter().flat_map(functions).find(asked) else {
            // The names in damaged blocks are not trusted either, so any of them may be the one.
            return if tools.damaged.is_empty() {
                Ok(None)
            } else {
                Err(ToolOutcome::Untrusted(damage(&tools, wire_name)))
            };
        };
        let proven = self.prove(entry).await.map_err(|error| untrusted(&error))?;
        let grants = self.grants(entry, &proven.verified).map_err(|error| denied(&error))?;
        let spec = spec(&entry.name, function).map_err(|error| broke(&error.into()))?;
        Ok(Some(Installed { spec, component: entry.component, grants }))
    }
}

fn functions(entry: &LockEntry) -> impl Iterator<Item = (&LockEntry, &PinnedFunction)> {
    entry.functions.iter().map(move |function| (entry, function))
}

/// One function as it is offered.
pub(crate) fn spec(tool: &ToolName, function: &PinnedFunction) -> Result<ToolSpec, PortError> {
    let input_schema = serde_json::from_str(&function.input_schema)
        .map_err(|e| PortError(format!("read the schema of {tool} {}: {e}", function.name)))?;
    Ok(ToolSpec {
        tool: tool.clone(),
        function: function.name.clone(),
        title: function.title.clone(),
        summary: function.summary.clone(),
        input_schema,
        effects: function.effects,
    })
}

fn damage(tools: &LockFile, asked: &str) -> String {
    let reasons: Vec<&str> = tools.damaged.iter().take(REASONS_MAX).map(|damaged| damaged.reason.as_str()).collect();
    format!("{asked} may stand in a damaged block of tools.lock ({})", reasons.join("; "))
}

fn still_in_time(signer: &TrustedKey, now_ms: u64) -> Result<(), RegistryError> {
    let (from, to) = signer.times_ms();
    let early = from.is_some_and(|from| now_ms < from);
    let late = to.is_some_and(|to| now_ms > to);
    if early || late {
        let when = if early { "not trusted yet" } else { "no longer trusted" };
        let (signer, fingerprint) = (signer.name().to_owned(), signer.fingerprint());
        return Err(VerifyError::KeyNotInTime { signer, fingerprint, when }.into());
    }
    Ok(())
}

// The disk failed under a file of the tool: for the call it is the same as a file that is not the verified one.
fn untrusted(error: &RegistryError) -> ToolOutcome {
    tracing::warn!(%error, "a tool is disabled");
    ToolOutcome::Untrusted(error.to_string())
}

/// What a grant that cannot be used means for the call.
pub(crate) fn denied(error: &RegistryError) -> ToolOutcome {
    match error {
        RegistryError::Document { .. } | RegistryError::Untrusted(_) => {
            let help = error.help().map_or_else(|| "chitin policy check".to_owned(), ToOwned::to_owned);
            ToolOutcome::Denied(Denial { rule: "grant:file".to_owned(), reason: error.to_string(), help: Some(help) })
        }
        other => broke(other),
    }
}

fn broke(error: &RegistryError) -> ToolOutcome {
    tracing::warn!(%error, "the tools of this home cannot be read");
    ToolOutcome::Broke("registry-unreadable".to_owned())
}

fn cached<S: PartialEq, T>(
    cache: &Mutex<Option<Parsed<S, T>>>,
    source: S,
    parse: impl FnOnce(&S) -> Result<T, RegistryError>,
) -> Result<Arc<T>, RegistryError> {
    let mut cache = held(cache);
    if let Some(known) = cache.as_ref().filter(|known| known.source == source) {
        return Ok(Arc::clone(&known.value));
    }
    let value = Arc::new(parse(&source)?);
    *cache = Some(Parsed { source, value: Arc::clone(&value) });
    Ok(value)
}

// A panic elsewhere leaves these maps whole: each change of them is one assignment.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reasons in one message; a lock that is all damage would fill the model's context.
const REASONS_MAX: usize = 3;
