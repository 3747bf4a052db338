//! Is one wrong byte noticed, wherever it stands? A changed file goes in; one tool is refused, the rest stays as it is.
//!
//! ```text
//!   good files ─→ one byte ^ mask ─→ the tool: exit 6, one error line ─→ another tool: exit 0 ─→ good files
//!                                    └────────── store and lock as before ─────────┘
//! ```

use std::{
    collections::BTreeMap,
    fmt, fs,
    ops::Range,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use chitin_testkit::{
    chitin::{self, Chitin, Ran},
    guests, rows,
};
use chitin_types::Digest;
use rand::{Rng, SeedableRng, rngs::StdRng};
use wasmparser::{Parser, Payload};

#[tokio::test]
async fn a_flipped_byte_disables_its_tool_and_no_other() {
    let mut rng = StdRng::seed_from_u64(SEED);
    let home = Installed::new().await;
    home.victim_answers().await;
    let mut flips: Vec<Flip<'_>> = section_kinds(&home.component.good)
        .into_iter()
        .map(|(kind, range)| Flip::draw(&mut rng, &home.component, range, kind))
        .collect();
    let sections = flips.len();
    assert!(sections >= SECTION_KINDS_MIN, "found nothing to flip: {sections} section kinds");
    let each = if rows::full() { 500 } else { 60 };
    let block = block_of(&home.lock.good, VICTIM);
    for (place, range) in [
        (&home.component, 0..home.component.good.len()),
        (&home.bundle, 0..home.bundle.good.len()),
        (&home.lock, block),
    ] {
        flips.extend((0..each).map(|_| Flip::draw(&mut rng, place, range.clone(), "random".to_owned())));
    }
    for (row, flip) in flips.iter().enumerate() {
        flip.place.put(&flip.bytes());
        home.victim_is_refused(flip).await;
        if row < sections || row.is_multiple_of(10) {
            home.other_answers(flip).await;
        }
        flip.place.restore();
    }
    home.victim_answers().await;
    rows::ran("flips", flips.len());
}

#[tokio::test]
async fn a_byte_flipped_before_the_install_installs_nothing() {
    let mut rng = StdRng::seed_from_u64(SEED);
    let chitin = trusting().await;
    let (path, bundle) = (chitin.outside().join(ARTIFACT), chitin.outside().join(format!("{ARTIFACT}.bundle.json")));
    for to in [&path, &bundle] {
        fs::copy(shelf().join(to.file_name().expect("a name")), to).expect("a copy of the signed component");
    }
    let (component, bundle) = (Place::of("component", path.clone()), Place::of("bundle", bundle));
    let mut flips = Vec::new();
    for (place, range, count, why) in [
        (&component, 0..PREAMBLE_BYTES, 3, "preamble"),
        (&component, 0..component.good.len(), 30, "random"),
        (&bundle, 0..bundle.good.len(), 30, "random"),
    ] {
        flips.extend((0..count).map(|_| Flip::draw(&mut rng, place, range.clone(), why.to_owned())));
    }
    for flip in &flips {
        flip.place.put(&flip.bytes());
        // Without its preamble the file is no component at all, which is said before any signature is looked at.
        let is_none = flip.place.what == component.what && flip.offset < PREAMBLE_BYTES;
        let ran = install(&chitin, &path).await;
        assert_refused(&ran, if is_none { 2 } else { 6 }, flip);
        assert_nothing_installed(&chitin, flip);
        flip.place.restore();
    }
    let ran = install(&chitin, &path).await;
    assert_eq!(ran.code, 0, "the twin without a flip: {ran:?}");
}

#[tokio::test]
async fn bad_input_installs_nothing_and_says_why() {
    let chitin = trusting().await;
    let dir = chitin.outside().join("bad");
    fs::create_dir(&dir).expect("a new directory");
    trust_acme(&chitin).await;
    let time = fs::read(shelf().join(ARTIFACT)).expect("the signed component");
    let other_bundle = fs::read(shelf().join("chitin_fs.wasm.bundle.json")).expect("a bundle");
    let swapped = put(&dir, "swapped.wasm", &time);
    put(&dir, "swapped.wasm.bundle.json", &other_bundle);
    let unknown_import = encoded(r#"(component (import "acme:unknown/thing" (instance (export "go" (func)))))"#);
    for (what, path, code) in [
        ("without a bundle", put(&dir, "unsigned.wasm", &time), 6),
        ("under an empty bundle", with_empty_bundle(&dir, &time), 6),
        ("under the bundle of another component", swapped, 6),
        ("signed by a key that is not trusted", signed_by_a_stranger(&dir, &time).await, 6),
        ("a core module", put(&dir, "module.wasm", &encoded("(module)")), 2),
        ("a text file", put(&dir, "text.wasm", b"these are words\n"), 2),
        ("an empty file", put(&dir, "empty.wasm", b""), 2),
        ("65 MiB", oversized(&dir), 2),
        ("signed, and without an export", signed_by_acme(&chitin, &dir, "nothing", &encoded("(component)")).await, 2),
        ("signed, with an unknown import", signed_by_acme(&chitin, &dir, "import", &unknown_import).await, 2),
    ] {
        let ran = install(&chitin, &path).await;
        assert_refused(&ran, code, &what);
        assert_nothing_installed(&chitin, &what);
    }
    let twin = signed_by_acme(&chitin, &dir, "clock", &time).await;
    let ran = install(&chitin, &twin).await;
    assert_eq!(ran.code, 0, "a good component under the same key: {ran:?}");
}

/// A home with the first-party tools, and the files of it that are flipped.
struct Installed {
    chitin: Chitin,
    component: Place,
    bundle: Place,
    lock: Place,
}

impl Installed {
    async fn new() -> Self {
        let chitin = Chitin::onboarded().await;
        let signed = fs::read(shelf().join(ARTIFACT)).expect("the signed component");
        let entry = chitin.home().join("store/sha256").join(Digest::of(&signed).hex());
        let component = Place::of("component", entry.join("component.wasm"));
        let bundle = Place::of("bundle", entry.join("bundle.json"));
        let lock = Place::of("lock", chitin.home().join("tools.lock"));
        Self { chitin, component, bundle, lock }
    }

    async fn victim_answers(&self) {
        let ran = self.chitin.run(&["tool", "call", VICTIM, "now"]).await;
        assert_eq!(ran.code, 0, "without a flip: {ran:?}");
        assert!(ran.out.contains("utc"), "without a flip: {ran:?}");
    }

    async fn victim_is_refused(&self, flip: &Flip<'_>) {
        let before = self.stored();
        let ran = self.chitin.run(&["tool", "call", VICTIM, "now"]).await;
        assert_refused(&ran, 6, flip);
        assert_eq!(self.stored(), before, "{flip}: the attempt changed the store");
    }

    async fn other_answers(&self, flip: &Flip<'_>) {
        let ran = self.chitin.run(&["tool", "call", "chitin/fs", "list_dir"]).await;
        assert_eq!(ran.code, 0, "{flip}: another tool: {ran:?}");
    }

    /// Everything in the store, and the lock: paths with digests.
    fn stored(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        list(&self.chitin.home().join("store"), &mut found);
        found.insert(self.lock.path.clone(), digest_of(&self.lock.path));
        found
    }
}

/// A file that is flipped, and what it is without a flip.
struct Place {
    what: &'static str,
    path: PathBuf,
    good: Vec<u8>,
    mode: u32,
}

impl Place {
    fn of(what: &'static str, path: PathBuf) -> Self {
        let good = fs::read(&path).unwrap_or_default();
        assert!(!good.is_empty(), "there is no {what} at {}", path.display());
        let mode = fs::metadata(&path).expect("a file").permissions().mode() & 0o7777;
        Self { what, path, good, mode }
    }

    /// Replaces the file instead of writing into it: its mode may allow nobody to write.
    fn put(&self, bytes: &[u8]) {
        fs::remove_file(&self.path).expect("the file is there");
        fs::write(&self.path, bytes).expect("the file is written");
        fs::set_permissions(&self.path, fs::Permissions::from_mode(self.mode)).expect("the mode is set");
    }

    fn restore(&self) {
        self.put(&self.good);
    }
}

/// One changed byte.
struct Flip<'a> {
    place: &'a Place,
    offset: usize,
    mask: u8,
    why: String,
}

impl<'a> Flip<'a> {
    fn draw(rng: &mut StdRng, place: &'a Place, range: Range<usize>, why: String) -> Self {
        Self { place, offset: rng.random_range(range), mask: rng.random_range(1..=u8::MAX), why }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.place.good.clone();
        *bytes.get_mut(self.offset).expect("the offset is inside the file") ^= self.mask;
        bytes
    }
}

impl fmt::Display for Flip<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} byte {} ^ {:#04x} ({})", self.place.what, self.offset, self.mask, self.why)
    }
}

/// The first range of every kind of section, those of nested modules and components included.
fn section_kinds(component: &[u8]) -> BTreeMap<String, Range<usize>> {
    let mut kinds = BTreeMap::new();
    let mut nesting = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.expect("the component parses");
        if let Payload::Version { encoding, range, .. } = &payload {
            nesting.push(*encoding);
            kinds.entry(format!("{encoding:?} preamble")).or_insert_with(|| range.clone());
        }
        if let Payload::End(_) = &payload {
            nesting.pop();
        }
        let Some((id, range)) = payload.as_section().filter(|(_, range)| !range.is_empty()) else { continue };
        let name = if let Payload::CustomSection(custom) = &payload { custom.name() } else { "" };
        let encoding = nesting.last().expect("a section stands in a module or component");
        kinds.entry(format!("{encoding:?} section {id} {name}")).or_insert(range);
    }
    kinds
}

/// Where a tool's block stands in the lock: from its header to the next one.
fn block_of(lock: &[u8], tool: &str) -> Range<usize> {
    let text = std::str::from_utf8(lock).expect("the lock is text");
    let name = text.find(&format!("\nname = \"{tool}\"\n")).expect("the tool has a block");
    let (before, after) = text.split_at(name + 1);
    let start = before.rfind(HEADER).expect("a block has a header");
    start..after.find(HEADER).map_or(text.len(), |length| before.len() + length)
}

fn list(dir: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(dir).expect("a directory of the store") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            list(&path, found);
            found.insert(path, "directory".to_owned());
        } else {
            let digest = digest_of(&path);
            found.insert(path, digest);
        }
    }
}

fn digest_of(path: &Path) -> String {
    Digest::of(&fs::read(path).expect("a file of the store")).to_string()
}

fn assert_refused(ran: &Ran, code: i32, what: &dyn fmt::Display) {
    assert_eq!(ran.code, code, "{what}: {ran:?}");
    assert!(ran.out.trim().is_empty(), "{what}: a refusal is no result: {ran:?}");
    let errors: Vec<&str> = ran.err.lines().filter_map(|line| line.strip_prefix("error:")).collect();
    assert!(errors.len() == 1 && errors.iter().all(|error| !error.trim().is_empty()), "{what}: {ran:?}");
    assert!(!ran.err.contains("panicked"), "{what}: {ran:?}");
}

fn assert_nothing_installed(chitin: &Chitin, what: &dyn fmt::Display) {
    let mut found = BTreeMap::new();
    list(&chitin.home().join("store/sha256"), &mut found);
    assert!(found.is_empty(), "{what}: left in the store: {found:?}");
    // A home without tools has no lock.
    let lock = fs::read(chitin.home().join("tools.lock")).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&lock).contains(HEADER), "{what}: the lock has an entry");
}

/// The signed first-party tools, beside the binary.
fn shelf() -> PathBuf {
    chitin::binary().parent().expect("the binary lies in a directory").join("components")
}

/// A home without tools that trusts the first-party key.
async fn trusting() -> Chitin {
    let chitin = Chitin::new();
    done(&chitin, &["-y", "key", "trust", text(&shelf().join("publisher.toml"))]).await;
    chitin
}

async fn install(chitin: &Chitin, path: &Path) -> Ran {
    chitin.run(&["-y", "tool", "install", text(path)]).await
}

async fn done(chitin: &Chitin, args: &[&str]) {
    let ran = chitin.run(args).await;
    assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
}

/// Makes a key in this home and trusts it there, so that what it signs is refused for nothing but itself.
async fn trust_acme(chitin: &Chitin) {
    let public = chitin.outside().join("acme.toml");
    done(chitin, &["key", "new", "acme"]).await;
    done(chitin, &["key", "export", "acme", "--names", "acme/*", "--out", text(&public)]).await;
    done(chitin, &["-y", "key", "trust", text(&public)]).await;
}

async fn signed_by_acme(chitin: &Chitin, dir: &Path, name: &str, component: &[u8]) -> PathBuf {
    let path = put(dir, &format!("{name}.wasm"), component);
    let manifest = format!(
        "schema = 1\nname = \"acme/{name}\"\nversion = \"1.0.0\"\nsummary = \"A component for a test.\"\n\
         world = \"chitin:tool/tool@0.1.0\"\nartifact = \"{name}.wasm\"\n"
    );
    let manifest = put(dir, &format!("{name}.toml"), manifest.as_bytes());
    done(chitin, &["tool", "sign", text(&path), "--manifest", text(&manifest), "--key", "acme"]).await;
    path
}

/// The real component and the real manifest, under a key of a home that nobody here knows.
async fn signed_by_a_stranger(dir: &Path, component: &[u8]) -> PathBuf {
    let (stranger, dir) = (Chitin::new(), dir.join("stranger"));
    fs::create_dir(&dir).expect("a new directory");
    let path = put(&dir, ARTIFACT, component);
    let manifest = guests::repository().join("components/time/component.toml");
    done(&stranger, &["key", "new", "mallory"]).await;
    done(&stranger, &["tool", "sign", text(&path), "--manifest", text(&manifest), "--key", "mallory"]).await;
    path
}

fn with_empty_bundle(dir: &Path, component: &[u8]) -> PathBuf {
    put(dir, "hollow.wasm.bundle.json", b"");
    put(dir, "hollow.wasm", component)
}

/// One MiB more than the limit, and a hole on disk. It begins as a component does.
fn oversized(dir: &Path) -> PathBuf {
    let path = put(dir, "oversized.wasm", &encoded("(component)"));
    let file = fs::OpenOptions::new().write(true).open(&path).expect("the file opens");
    file.set_len(65 * 1024 * 1024).expect("the file grows");
    path
}

fn put(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, bytes).expect("a new file");
    path
}

fn encoded(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("the text is WebAssembly")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// The same rows in every run; a failing row says its byte and its mask.
const SEED: u64 = 0x00C0_FFEE;
const VICTIM: &str = "chitin/time";
const ARTIFACT: &str = "chitin_time.wasm";
const HEADER: &str = "[[tool]]";
/// Magic bytes, version and layer.
const PREAMBLE_BYTES: usize = 8;
/// A component of the current toolchain has 24; far fewer would mean that the walk missed the nested module.
const SECTION_KINDS_MIN: usize = 20;
