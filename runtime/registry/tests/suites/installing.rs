//! What does an install leave on disk, in which order, and what does a refused one leave?

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    sync::atomic::Ordering,
};

use chitin_package::{COMPONENT_BYTES_MAX, SigningKey};
use chitin_policy::Accept;
use chitin_ports::{LeftOut, PackDescription, PackKind, Toolbox as _};
use chitin_registry::{
    GrantAfter, GrantChoice, Home, RegistryError, Versions, forget_damaged, installed, remove, trust,
};
use chitin_types::{Digest, Effects, FunctionName};
use serde_json::json;

use super::kit::{FS, Kit, component_bytes, flip, nothing, tool, trusted};

type Change = fn(&mut PackDescription);

fn variant(error: &RegistryError) -> &'static str {
    match error {
        RegistryError::Untrusted(_) => "untrusted",
        RegistryError::Unusable(_) => "unusable",
        RegistryError::Usage(_) => "usage",
        RegistryError::Document { .. } => "document",
        RegistryError::NotFound(_) => "not found",
        RegistryError::Denied(_) => "denied",
        RegistryError::Limit(_) => "limit",
        RegistryError::Busy(_) => "busy",
        RegistryError::Io { .. } => "io",
        RegistryError::Port(_) => "port",
    }
}

#[tokio::test]
async fn an_install_writes_store_grant_and_lock_after_its_record() {
    let kit = Kit::new().await;
    let weather = tool("acme/weather");
    let path = kit.signed("acme/weather", "1.0.0", FS);
    let before = kit.files();

    let review = kit.review(&path).await.expect("the component is good");
    assert_eq!(kit.files().len(), before.len() + 1, "a review writes nothing but the home's key");
    assert_eq!(review.name(), &weather);
    assert_eq!(review.version().to_string(), "1.0.0");
    assert_eq!(review.signer_name(), "acme");
    assert_eq!(review.requests().fs.len(), 1);
    assert_eq!(review.added_requests(), review.requests());
    assert_eq!(review.imports(), ["chitin:types/types@0.1.0"]);
    assert_eq!(review.added_imports(), ["chitin:types/types@0.1.0"]);
    assert_eq!(review.functions().iter().map(|f| f.title.as_str()).collect::<Vec<_>>(), ["get"]);
    assert_eq!(review.upgrade_from(), None);
    assert_eq!(review.grant_after(), GrantAfter::None);

    kit.installer().commit(review, GrantChoice::Give(nothing(&weather))).await.expect("the tool is installed");
    assert_eq!(kit.audit.lines(), ["install acme/weather installed", "grant acme/weather granted"]);
    let early: Vec<String> = kit.audit.files_then();
    assert!(!early.iter().any(|file| file.starts_with("store/") || file.starts_with("policies/")), "{early:?}");
    assert!(!early.iter().any(|file| file == "tools.lock"), "{early:?}");

    let bytes = component_bytes("acme/weather", "1.0.0");
    let hex = Digest::of(&bytes).hex();
    let files = kit.files();
    assert_eq!(files.get(&format!("store/sha256/{hex}/component.wasm")), Some(&bytes));
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "keys/home.key",
            "policies/acme__weather.toml",
            &format!("store/sha256/{hex}/bundle.json"),
            &format!("store/sha256/{hex}/component.wasm"),
            "tools.lock",
            "trust/acme.toml",
        ]
    );
    let grant = kit.grants().load(&weather).expect("the grant is good").expect("there is a grant");
    assert_eq!(grant.pin.map(|pin| pin.component), Some(Digest::of(&bytes)));
}

#[tokio::test]
async fn everything_below_the_home_is_private() {
    let kit = Kit::new().await;
    kit.installed("acme/weather").await;
    let mut checked = 0;
    let mut check = |path: &Path| {
        let found = fs::symlink_metadata(path).expect("it is there");
        let expected = if found.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(found.permissions().mode() & 0o777, expected, "{}", path.display());
        checked += 1;
    };
    for file in kit.files().keys() {
        let path = kit.home.root().join(file);
        path.ancestors().take_while(|path| path.starts_with(kit.home.root())).for_each(&mut check);
    }
    assert!(checked > 12, "found nothing to check: {checked}");
    // A directory that was left open is closed when the home is opened.
    fs::set_permissions(kit.home.keys(), fs::Permissions::from_mode(0o755)).expect("the mode is changed");
    Home::open(kit.home.root()).expect("the home opens");
    let mode = fs::metadata(kit.home.keys()).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn a_refused_component_leaves_nothing() {
    let kit = Kit::new().await;
    let path = kit.signed("acme/weather", "1.0.0", "");
    let bundle = path.with_file_name("acme-weather.wasm.bundle.json");
    let (good, good_bundle) = (fs::read(&path).expect("a file"), fs::read(&bundle).expect("a file"));
    kit.review(&path).await.expect("the twin of every row is accepted");
    let before = kit.files();
    let module = b"\0asm\x01\x00\x00\x00".to_vec();
    let mut longer = good.clone();
    longer.push(0);
    let stranger = kit.signed_by(&SigningKey::from_seed(&[9; 32]), "acme/weather", "1.0.0", "").1.bundle;
    let other_name = kit.signed_by(&SigningKey::from_seed(&[1; 32]), "core/weather", "1.0.0", "");
    for (what, component, bundle_bytes, expected) in [
        ("no bundle", &good, None, "untrusted"),
        ("another key", &good, Some(&stranger), "untrusted"),
        ("a longer component", &longer, Some(&good_bundle), "untrusted"),
        ("a core module", &module, Some(&good_bundle), "unusable"),
        ("a huge bundle", &good, Some(&vec![b' '; 300 * 1024]), "limit"),
    ] {
        fs::write(&path, component).expect("the file is written");
        match bundle_bytes {
            Some(bytes) => fs::write(&bundle, bytes).expect("the file is written"),
            None => fs::remove_file(&bundle).expect("the file is removed"),
        }
        let error = kit.review(&path).await.expect_err(what);
        assert_eq!(variant(&error), expected, "{what}: {error}");
        assert!(error.help().is_some() || expected == "unusable" || expected == "limit", "{what}: {error}");
    }
    let error = kit.review(&other_name.0).await.expect_err("a name outside of the key's");
    assert_eq!(variant(&error), "untrusted", "{error}");
    let error = kit.review(Path::new("/nonexistent/tool.wasm")).await.expect_err("no file");
    assert_eq!(variant(&error), "not found", "{error}");
    let error = kit.review(kit.home.root()).await.expect_err("a directory");
    assert!(["usage", "io"].contains(&variant(&error)), "{error}");
    assert_eq!(kit.files(), before);
    assert!(kit.audit.lines().is_empty());
}

#[tokio::test]
async fn a_file_that_never_ends_is_not_read_to_its_end() {
    let kit = Kit::new().await;
    let path = kit.signed("acme/weather", "1.0.0", "");
    let sparse = fs::File::options().write(true).open(&path).expect("the file opens");
    sparse.set_len(COMPONENT_BYTES_MAX as u64 + 4096).expect("a sparse file");
    let error = kit.review(&path).await.expect_err("larger than any component");
    assert_eq!(variant(&error), "limit", "{error}");
}

#[tokio::test]
async fn what_a_component_says_about_itself_is_checked() {
    let kit = Kit::new().await;
    let path = kit.signed("acme/weather", "1.0.0", "");
    kit.review(&path).await.expect("the twin of every row is accepted");
    let before = kit.files();
    let rows: [(&str, Change); 9] = [
        ("no function", |d| d.functions.clear()),
        ("65 functions", |d| {
            d.functions = (0..65)
                .map(|i| {
                    let mut function = d.functions[0].clone();
                    function.name = FunctionName::parse(format!("f{i}")).expect("a valid name");
                    function
                })
                .collect();
        }),
        ("one name twice", |d| d.functions.push(d.functions[0].clone())),
        ("a schema of no object", |d| d.functions[0].input_schema = json!({ "type": "string" })),
        ("a schema that is no schema", |d| d.functions[0].input_schema = json!(true)),
        ("a huge schema", |d| d.functions[0].input_schema = json!({ "type": "object", "x": "y".repeat(70_000) })),
        ("no summary", |d| d.functions[0].summary.clear()),
        ("a title that steers the terminal", |d| d.functions[0].title = "\u{1b}[2J".to_owned()),
        ("an import that is no text", |d| d.imports.push("a\nb".to_owned())),
    ];
    for (what, change) in rows {
        let (mut description, mut good) = (None, None);
        kit.compiler.says(|d| {
            good = Some(d.clone());
            change(d);
            description = Some(d.clone());
        });
        let error = kit.review(&path).await.expect_err(what);
        assert_eq!(variant(&error), "unusable", "{what}: {error}");
        assert_ne!(description, good, "{what}");
        kit.compiler.says(|d| *d = good.expect("it was kept"));
    }
    kit.review(&path).await.expect("good again");
    assert_eq!(kit.files(), before);
}

#[tokio::test]
async fn only_a_channel_may_offer_no_function() {
    let kit = Kit::new().await;
    let path = kit.signed("acme/weather", "1.0.0", "");
    let left = || LeftOut { export: "make".to_owned(), reason: "it takes or gives a resource".to_owned() };
    for (kind, functions, expected) in [
        (PackKind::Pack, 1, true),
        (PackKind::Pack, 0, false),
        (PackKind::Typed, 1, true),
        (PackKind::Typed, 0, false),
        (PackKind::Channel, 0, true),
    ] {
        let mut before = None;
        kit.compiler.says(|d| {
            before = Some(d.clone());
            d.kind = kind;
            d.functions.truncate(functions);
            d.left_out.push(left());
        });
        match kit.review(&path).await {
            Ok(review) => {
                assert!(expected, "{kind:?} with {functions}");
                assert_eq!((review.kind(), review.left_out()), (kind, &[left()][..]));
            }
            Err(error) => {
                assert!(!expected, "{kind:?} with {functions}: {error}");
                assert_eq!(variant(&error), "unusable");
                assert!(error.to_string().contains("make (it takes or gives a resource)"), "{error}");
            }
        }
        kit.compiler.says(|d| *d = before.expect("it was kept"));
    }
    kit.compiler.says(|d| d.left_out.push(LeftOut { export: "\u{1b}[2J".to_owned(), reason: "x".to_owned() }));
    let error = kit.review(&path).await.expect_err("an export that steers the terminal");
    assert_eq!(variant(&error), "unusable", "{error}");
}

#[tokio::test]
async fn the_manifest_speaks_for_functions_that_cannot() {
    let doc = "[[function]]\nname = \"get\"\ntitle = \"Fetch\"\nsummary = \"Fetches it.\"\n";
    let reads = Effects { reads: true, ..Effects::default() };
    let pays = Effects { pays: true, ..Effects::default() };
    for (docs, title, summary, effects) in [
        (String::new(), "get", "Gets it.\nAll of it.", reads),
        (doc.to_owned(), "Fetch", "Fetches it.", reads),
        (doc.replace("title = \"Fetch\"\n", ""), "get", "Fetches it.", reads),
        (format!("{doc}effects = {{ pays = true }}\n"), "Fetch", "Fetches it.", pays),
    ] {
        let kit = Kit::new().await;
        let path = kit.signed("acme/weather", "1.0.0", &docs);
        let review = kit.review(&path).await.unwrap_or_else(|error| panic!("{docs}: {error}"));
        let function = &review.functions()[0];
        assert_eq!((function.title.as_str(), function.summary.as_str()), (title, summary), "{docs}");
        assert_eq!(function.effects, effects, "{docs}");
    }
    let kit = Kit::new().await;
    let path = kit.signed("acme/weather", "1.0.0", &doc.replace("\"get\"", "\"put\""));
    let error = kit.review(&path).await.expect_err("a function that is not there");
    assert_eq!(variant(&error), "unusable", "{error}");
    assert!(error.to_string().contains("put") && error.help().is_some_and(|help| help.contains("get")), "{error}");
}

#[tokio::test]
async fn without_a_durable_record_nothing_is_installed_or_removed() {
    let kit = Kit::new().await;
    let path = kit.signed("acme/weather", "1.0.0", "");
    let review = kit.review(&path).await.expect("the component is good");
    let before = kit.files();
    kit.audit.broken.store(true, Ordering::SeqCst);
    let error = kit.installer().commit(review, GrantChoice::Leave).await.expect_err("no record");
    assert_eq!(variant(&error), "port", "{error}");
    assert_eq!(kit.files(), before);

    kit.audit.broken.store(false, Ordering::SeqCst);
    let weather = kit.installed("acme/weather").await;
    let before = kit.files();
    kit.audit.broken.store(true, Ordering::SeqCst);
    remove(&kit.home, &weather, &*kit.audit).await.expect_err("no record");
    assert_eq!(kit.files(), before);
}

#[tokio::test]
async fn versions_go_forward_unless_the_user_says_otherwise() {
    let kit = Kit::new().await;
    for version in ["1.1.0", "1.2.0"] {
        let path = kit.signed("acme/weather", version, "");
        kit.install(&path, GrantChoice::Leave).await.expect("newer versions are installed");
    }
    let older = kit.signed("acme/weather", "1.1.0", "");
    let error = kit.review(&older).await.expect_err("an older version");
    assert_eq!(variant(&error), "denied", "{error}");
    let review = kit.installer().versions(Versions::AlsoOlder).review(&older).await.expect("on purpose");
    assert_eq!(review.upgrade_from().map(ToString::to_string).as_deref(), Some("1.2.0"));
    kit.installer().versions(Versions::AlsoOlder).commit(review, GrantChoice::Leave).await.expect("on purpose");
    let store = fs::read_dir(kit.home.store()).expect("the store").count();
    assert_eq!(store, 1, "the replaced versions are gone");

    // The same bytes again are a repair; other bytes under the same version are refused, even on purpose.
    kit.install(&older, GrantChoice::Leave).await.expect("the same bytes");
    let changed = kit.signed("acme/weather", "1.1.0", "");
    fs::write(&changed, component_bytes("acme/weather", "1.1.0 rebuilt")).expect("the file is written");
    let manifest = changed.with_file_name("component.toml");
    chitin_registry::sign(&changed, &manifest, &SigningKey::from_seed(&[1; 32])).expect("the component is signed");
    for versions in [Versions::NotOlder, Versions::AlsoOlder] {
        let error = kit.installer().versions(versions).review(&changed).await.expect_err("other bytes");
        assert_eq!(variant(&error), "untrusted", "{error}");
    }
}

#[tokio::test]
async fn a_grant_follows_an_upgrade_only_when_nothing_more_is_asked() {
    let wider = FS.replace("\"ro\"", "\"rw\"");
    let http = "[[http]]\nhost = \"a.test\"\nmethods = [\"GET\"]\npaths = [\"/**\"]\nreason = \"to ask\"\n";
    let all = format!("{FS}{http}");
    for (before, after, accept, signer, expected) in [
        (FS, FS, Accept::SameSignerNoNewCaps, 1, GrantAfter::Follows),
        (all.as_str(), FS, Accept::SameSignerNoNewCaps, 1, GrantAfter::Follows),
        (FS, FS, Accept::Exact, 1, GrantAfter::Stays),
        (FS, wider.as_str(), Accept::SameSignerNoNewCaps, 1, GrantAfter::Stays),
        (FS, all.as_str(), Accept::SameSignerNoNewCaps, 1, GrantAfter::Stays),
        (FS, FS, Accept::SameSignerNoNewCaps, 2, GrantAfter::Stays),
    ] {
        let kit = Kit::new().await;
        trust(&kit.home, &trusted("second", 2, "acme/*"), &*kit.audit).await.expect("the key is trusted");
        let weather = tool("acme/weather");
        let mut grant = nothing(&weather);
        grant.pin.as_mut().expect("a pin").accept = accept;
        let path = kit.signed("acme/weather", "1.0.0", before);
        kit.install(&path, GrantChoice::Give(grant)).await.expect("the tool is installed");
        let grant_path = kit.grant_path(&weather);
        let text = format!("# mine\n{}", fs::read_to_string(&grant_path).expect("a grant"));
        fs::write(&grant_path, &text).expect("the grant is written");
        let old = Digest::of(&component_bytes("acme/weather", "1.0.0"));
        let new = Digest::of(&component_bytes("acme/weather", "1.1.0"));

        let key = SigningKey::from_seed(&[signer; 32]);
        let (path, _) = kit.signed_by(&key, "acme/weather", "1.1.0", after);
        let review = kit.review(&path).await.expect("the component is good");
        assert_eq!(review.grant_after(), expected, "{before} to {after}, {accept:?}, key {signer}");
        kit.installer().commit(review, GrantChoice::Leave).await.expect("the tool is upgraded");
        let bound = if expected == GrantAfter::Follows { new } else { old };
        let written = fs::read_to_string(&grant_path).expect("a grant");
        assert_eq!(written, text.replace(&old.to_string(), &bound.to_string()));
    }
}

#[tokio::test]
async fn a_grant_left_behind_is_not_picked_up_by_a_later_release() {
    let kit = Kit::new().await;
    let weather = tool("acme/weather");
    let path = kit.signed("acme/weather", "1.0.0", "");
    kit.install(&path, GrantChoice::Give(nothing(&weather))).await.expect("the tool is installed");
    for (version, expected) in [("1.1.0", GrantAfter::Stays), ("1.2.0", GrantAfter::Stays)] {
        let path = kit.signed("acme/weather", version, FS);
        let review = kit.review(&path).await.expect("the component is good");
        assert_eq!(review.grant_after(), expected, "{version}");
        kit.installer().commit(review, GrantChoice::Leave).await.expect("the tool is upgraded");
    }
    kit.grants().bind(&weather).await.expect("the user grants again");
    let path = kit.signed("acme/weather", "1.3.0", FS);
    assert_eq!(kit.review(&path).await.expect("the component is good").grant_after(), GrantAfter::Follows);
}

#[tokio::test]
async fn two_tools_do_not_share_a_name_that_models_see() {
    let kit = Kit::new().await;
    trust(&kit.home, &trusted("evil", 2, "evil/*"), &*kit.audit).await.expect("the key is trusted");
    kit.installed("acme/weather").await;
    let evil = SigningKey::from_seed(&[2; 32]);
    let (shadow, _) = kit.signed_by(&evil, "evil/weather", "1.0.0", "");
    let error = kit.review(&shadow).await.expect_err("a name that is taken");
    assert_eq!(variant(&error), "denied", "{error}");
    let (other, _) = kit.signed_by(&evil, "evil/whether", "1.0.0", "");
    kit.review(&other).await.expect("a name of its own");
}

#[tokio::test]
async fn what_changed_since_the_review_is_reviewed_again() {
    let kit = Kit::new().await;
    let path = kit.signed("acme/weather", "1.0.0", "");
    let (first, second) = (kit.review(&path).await.expect("good"), kit.review(&path).await.expect("good"));
    kit.installer().commit(first, GrantChoice::Leave).await.expect("the first one is installed");
    let error = kit.installer().commit(second, GrantChoice::Leave).await.expect_err("the other one came later");
    assert_eq!(variant(&error), "busy", "{error}");

    let path = kit.signed("acme/other", "1.0.0", "");
    let review = kit.review(&path).await.expect("good");
    chitin_registry::revoke_trust(&kit.home, "acme", &*kit.audit).await.expect("the trust is revoked");
    let error = kit.installer().commit(review, GrantChoice::Leave).await.expect_err("the key is not trusted any more");
    assert_eq!(variant(&error), "untrusted", "{error}");
}

#[tokio::test]
async fn a_grant_for_another_tool_is_refused() {
    let kit = Kit::new().await;
    let path = kit.signed("acme/weather", "1.0.0", "");
    let review = kit.review(&path).await.expect("the component is good");
    let before = kit.files();
    let error = kit.installer().commit(review, GrantChoice::Give(nothing(&tool("acme/other")))).await;
    assert_eq!(variant(&error.expect_err("another tool's grant")), "usage");
    assert_eq!(kit.files(), before);
}

#[tokio::test]
async fn what_a_crash_left_is_swept() {
    let kit = Kit::new().await;
    kit.installed("acme/weather").await;
    let before = kit.files();
    let orphan = kit.home.store().join("ab".repeat(32));
    for dir in [orphan.clone(), kit.home.store().join(".tmp-x1")] {
        fs::create_dir(&dir).expect("a new directory");
        fs::write(dir.join("component.wasm"), "half").expect("the file is written");
    }
    fs::write(kit.home.root().join(".tmp-y2"), "half").expect("the file is written");
    // A link is removed, and what it points to is not.
    let outside = kit.home.root().join("run");
    symlink(&outside, kit.home.store().join("cd".repeat(32))).expect("a link");
    kit.installed("acme/other").await;
    kit.catalog().resolve("other__get").await.expect("the tool is trusted").expect("the tool is there");
    let added: Vec<String> = kit.files().into_keys().filter(|file| !before.contains_key(file)).collect();
    assert_eq!(added.len(), 3, "{added:?}");
    assert!(outside.join("registry.lock").is_file());
}

#[tokio::test]
async fn a_removed_tool_leaves_nothing() {
    let kit = Kit::new().await;
    let before = kit.files();
    let weather = kit.installed("acme/weather").await;
    kit.audit.clear();
    remove(&kit.home, &weather, &*kit.audit).await.expect("the tool is removed");
    assert_eq!(kit.audit.lines(), ["install acme/weather removed"]);
    assert!(kit.audit.files_then().contains(&"policies/acme__weather.toml".to_owned()), "the record came first");
    let left: Vec<String> = kit.files().into_keys().filter(|file| !before.contains_key(file)).collect();
    assert_eq!(left, ["keys/home.key", "tools.lock"]);
    let error = remove(&kit.home, &weather, &*kit.audit).await.expect_err("it is gone");
    assert_eq!(variant(&error), "not found", "{error}");
    // A grant that was removed stays removed.
    let path = kit.signed("acme/weather", "1.0.0", "");
    assert_eq!(kit.review(&path).await.expect("good").grant_after(), GrantAfter::None);
}

#[tokio::test]
async fn a_damaged_tool_is_repaired_by_installing_it_again() {
    let kit = Kit::new().await;
    let weather = kit.installed("acme/weather").await;
    kit.installed("acme/other").await;
    flip(&kit.home.root().join("tools.lock"), "weather");
    let key = chitin_registry::HomeKey::load_or_create(&kit.home).expect("the key");
    assert_eq!(installed(&kit.home, &key).expect("the lock").damaged.len(), 1);
    // Another change keeps the damaged block, and its bytes in the store.
    kit.installed("acme/third").await;
    assert_eq!(installed(&kit.home, &key).expect("the lock").damaged.len(), 1);
    let path = kit.signed("acme/weather", "1.0.0", "");
    kit.install(&path, GrantChoice::Leave).await.expect("the tool is installed again");
    let lock = installed(&kit.home, &key).expect("the lock");
    assert!(lock.find(&weather).is_some());
    assert_eq!(lock.entries.len(), 3);
    // The altered block has a name that is nobody's; it goes when the user says so.
    assert_eq!(forget_damaged(&kit.home, &*kit.audit).await.expect("it is forgotten"), 1);
    assert_eq!(forget_damaged(&kit.home, &*kit.audit).await.expect("nothing is left to forget"), 0);
    assert_eq!(installed(&kit.home, &key).expect("the lock").entries, lock.entries);
    assert!(kit.catalog().resolve("weather__get").await.expect("the tool is trusted").is_some());
}
