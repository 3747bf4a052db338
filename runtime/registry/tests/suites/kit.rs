//! What do the tests of this binary share? One home in a temporary directory, an author with a key, and an audit that
//! notes what lay on disk when an entry came in.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use chitin_package::{NamePattern, SigningKey, TrustedKey};
use chitin_policy::{Call, Grant, Verdict, authorize};
use chitin_ports::{
    Audit, AuditEntry, AuditKind, Clock, Describe, DescribeError, Installed, PackDescription, PackFunction, PackKind,
    PortError, Receipt,
};
use chitin_registry::{Catalog, GrantChoice, GrantFiles, Home, Installer, RegistryError, Review, Signed, sign, trust};
use chitin_types::{CallId, Capabilities, Digest, Effects, FsAsk, FsMode, FunctionName, ToolName};
use serde_json::json;

/// An ask that the tests add to a manifest.
pub(crate) const FS: &str = "[[fs]]\nat = \"/project\"\nmode = \"ro\"\nreason = \"to read the project\"\n";

/// One home and one author.
pub(crate) struct Kit {
    pub(crate) home: Home,
    pub(crate) audit: Arc<Noting>,
    pub(crate) compiler: Arc<Scripted>,
    pub(crate) clock: Arc<Fixed>,
    author: SigningKey,
    dir: tempfile::TempDir,
}

impl Kit {
    /// A home that trusts the author for `acme/*`, with a ceiling of reading anything.
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(dir.path().join("author")).expect("a new directory");
        let home = Home::open(dir.path().join("home")).expect("a new home");
        let kit = Self {
            audit: Arc::new(Noting::new(home.clone())),
            home,
            compiler: Arc::default(),
            clock: Arc::new(Fixed(AtomicU64::new(1_700_000_000_000))),
            author: SigningKey::from_seed(&[1; 32]),
            dir,
        };
        trust(&kit.home, &trusted("acme", 1, "acme/*"), &*kit.audit).await.expect("the key is trusted");
        kit.audit.clear();
        kit
    }

    /// Writes and signs a component. Versions of one name differ in their bytes.
    pub(crate) fn signed(&self, name: &str, version: &str, asks: &str) -> PathBuf {
        self.signed_by(&self.author, name, version, asks).0
    }

    /// The same with another key.
    pub(crate) fn signed_by(&self, key: &SigningKey, name: &str, version: &str, asks: &str) -> (PathBuf, Signed) {
        let dir = self.dir.path().join("author");
        let artifact = format!("{}.wasm", name.replace('/', "-"));
        let (component, manifest) = (dir.join(&artifact), dir.join("component.toml"));
        let text = format!(
            "schema = 1\nname = \"{name}\"\nversion = \"{version}\"\nsummary = \"A tool.\"\n\
             world = \"chitin:tool/tool\"\nartifact = \"{artifact}\"\n{asks}"
        );
        fs::write(&manifest, text).expect("the manifest is written");
        fs::write(&component, component_bytes(name, version)).expect("the component is written");
        let signed = sign(&component, &manifest, key).expect("the component is signed");
        (component, signed)
    }

    pub(crate) fn installer(&self) -> Installer {
        Installer::new(
            self.home.clone(),
            Arc::clone(&self.compiler) as Arc<dyn Describe>,
            Arc::clone(&self.audit) as Arc<dyn Audit>,
            Arc::clone(&self.clock) as Arc<dyn Clock>,
        )
        .expect("an installer")
    }

    pub(crate) fn catalog(&self) -> Catalog {
        Catalog::new(self.home.clone(), Arc::clone(&self.clock) as Arc<dyn Clock>).expect("a catalog")
    }

    pub(crate) fn grants(&self) -> GrantFiles {
        GrantFiles::new(self.home.clone(), Arc::clone(&self.audit) as Arc<dyn Audit>).expect("the grant files")
    }

    pub(crate) async fn review(&self, path: &Path) -> Result<Review, RegistryError> {
        self.installer().review(path).await
    }

    /// Reviews and commits.
    pub(crate) async fn install(&self, path: &Path, choice: GrantChoice) -> Result<(), RegistryError> {
        let review = self.review(path).await?;
        self.installer().commit(review, choice).await
    }

    /// Installs a tool with a grant of nothing.
    pub(crate) async fn installed(&self, name: &str) -> ToolName {
        let tool = tool(name);
        let path = self.signed(name, "1.0.0", "");
        self.install(&path, GrantChoice::Give(nothing(&tool))).await.expect("the tool is installed");
        tool
    }

    /// Every file below the home with its bytes, the writer's lock aside.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        walk(self.home.root(), self.home.root(), &mut found);
        found.remove("run/registry.lock");
        found
    }

    pub(crate) fn grant_path(&self, tool: &ToolName) -> PathBuf {
        self.home.policies().join(Home::grant_file(tool))
    }
}

/// Trust in the key of this seed.
pub(crate) fn trusted(name: &str, seed: u8, names: &str) -> TrustedKey {
    let ceiling = Capabilities {
        fs: vec![FsAsk { at: "*".to_owned(), mode: FsMode::Ro, reason: None }],
        http: vec![],
        ..Capabilities::default()
    };
    let names = vec![NamePattern::parse(names).expect("a valid pattern")];
    TrustedKey::new(name, SigningKey::from_seed(&[seed; 32]).public(), names, ceiling).expect("a valid name")
}

/// A component by its first bytes, and otherwise whatever tells it from others.
pub(crate) fn component_bytes(name: &str, version: &str) -> Vec<u8> {
    [b"\0asm\x0d\x00\x01\x00".as_slice(), name.as_bytes(), version.as_bytes()].concat()
}

pub(crate) fn tool(name: &str) -> ToolName {
    ToolName::parse(name).expect("a valid name")
}

/// A grant of nothing, which an install binds to what it installs.
pub(crate) fn nothing(tool: &ToolName) -> Grant {
    Grant::nothing(tool.clone(), Digest::of(b"replaced by the install"))
}

/// Finds and changes one byte.
pub(crate) fn flip(path: &Path, needle: &str) {
    let mut bytes = fs::read(path).expect("the file is there");
    let at = bytes.windows(needle.len()).position(|window| window == needle.as_bytes()).expect("the text is there");
    *bytes.get_mut(at).expect("the place was found") ^= 1;
    fs::write(path, bytes).expect("the file is written");
}

fn walk(root: &Path, dir: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            walk(root, &path, found);
        } else {
            let name = path.strip_prefix(root).expect("below the root").display().to_string();
            found.insert(name, fs::read(&path).expect("a file"));
        }
    }
}

/// Describes every component as this list says.
pub(crate) struct Scripted(Mutex<PackDescription>);

impl Scripted {
    pub(crate) fn says(&self, change: impl FnOnce(&mut PackDescription)) {
        change(&mut held(&self.0));
    }
}

impl Default for Scripted {
    fn default() -> Self {
        let get = PackFunction {
            name: FunctionName::parse("get").expect("a valid name"),
            title: String::new(),
            summary: "Gets it.\nAll of it.".to_owned(),
            input_schema: json!({ "type": "object", "properties": { "city": { "type": "string" } } }),
            effects: Effects { reads: true, ..Effects::default() },
        };
        let imports = vec!["chitin:types/types@0.1.0".to_owned()];
        let (kind, left_out) = (PackKind::Pack, vec![]);
        Self(Mutex::new(PackDescription { kind, functions: vec![get], left_out, imports }))
    }
}

#[async_trait]
impl Describe for Scripted {
    async fn describe(&self, _component: &[u8]) -> Result<PackDescription, DescribeError> {
        Ok(held(&self.0).clone())
    }
}

/// Keeps entries, and for each the files of the home at that moment.
pub(crate) struct Noting {
    home: Home,
    seen: Mutex<Vec<(AuditEntry, Vec<String>)>>,
    pub(crate) broken: AtomicBool,
}

impl Noting {
    fn new(home: Home) -> Self {
        Self { home, seen: Mutex::default(), broken: AtomicBool::new(false) }
    }

    /// Kind, subject and verdict of each entry, in order.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |entry: &AuditEntry| {
            let kind = match entry.kind {
                AuditKind::Install => "install",
                AuditKind::Grant => "grant",
                AuditKind::Key => "key",
                _ => "other",
            };
            let rule = entry.rule.as_ref().map(|rule| format!(" {rule}")).unwrap_or_default();
            format!("{kind} {} {}{rule}", entry.subject, entry.verdict)
        };
        held(&self.seen).iter().map(|(entry, _)| line(entry)).collect()
    }

    /// The files that lay below the home when the entries came in.
    pub(crate) fn files_then(&self) -> Vec<String> {
        held(&self.seen).iter().flat_map(|(_, files)| files.clone()).collect()
    }

    pub(crate) fn clear(&self) {
        held(&self.seen).clear();
    }
}

impl Audit for Noting {
    fn append(&self, entry: AuditEntry) -> Receipt {
        let mut found = BTreeMap::new();
        walk(self.home.root(), self.home.root(), &mut found);
        held(&self.seen).push((entry, found.into_keys().collect()));
        let (sender, receipt) = Receipt::pair();
        let broken = self.broken.load(Ordering::SeqCst);
        let result =
            if broken { Err(PortError("write the audit record: the disk is full".to_owned())) } else { Ok(()) };
        sender.send(result).expect("somebody waits for the receipt");
        receipt
    }
}

/// A clock that stands still until a test moves it.
pub(crate) struct Fixed(pub(crate) AtomicU64);

impl Clock for Fixed {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The rule that decides about a call of this function without arguments.
pub(crate) fn rule_of(installed: &Installed) -> String {
    let call = Call {
        id: CallId::parse("c1").expect("a valid id"),
        component: installed.component,
        function: installed.spec.function.clone(),
        args: json!({}),
        effects: installed.spec.effects,
    };
    match authorize(&installed.grants, &call, &std::collections::BTreeSet::default()) {
        Verdict::Allow(permit) => permit.rule().to_owned(),
        Verdict::Ask(pending) => pending.rule().to_owned(),
        Verdict::Deny(denial) => denial.rule,
    }
}
