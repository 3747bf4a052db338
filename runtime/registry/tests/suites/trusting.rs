//! Whose keys are these, and who is trusted? Looking changes nothing, agreeing is recorded, and one bad file refuses
//! all.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, sync::atomic::Ordering};

use chitin_package::{Bundle, SigningKey, Statement};
use chitin_registry::{
    HomeKey, RegistryError, list_keys, load_key, load_ring, new_key, preview_trust, remove_key, revoke_trust, trust,
};
use chitin_types::Digest;

use super::kit::{Kit, component_bytes, trusted};

type Load = fn(&Kit) -> Result<(), RegistryError>;

#[tokio::test]
async fn keys_are_made_loaded_and_listed() {
    let kit = Kit::new().await;
    let made = new_key(&kit.home, "mine", &*kit.audit).await.expect("a new key");
    let other = new_key(&kit.home, "other", &*kit.audit).await.expect("a new key");
    assert_ne!(made.fingerprint(), other.fingerprint());
    assert_eq!(kit.audit.lines(), ["key mine made", "key other made"]);
    assert_eq!(load_key(&kit.home, "mine").expect("the key").public(), made.public);
    HomeKey::load_or_create(&kit.home).expect("the home's key");
    assert_eq!(list_keys(&kit.home).expect("the list"), [made.clone(), other]);
    assert_eq!(fs::metadata(&made.path).expect("the file").permissions().mode() & 0o777, 0o600);

    let before = fs::read(&made.path).expect("the file");
    for name in ["mine", "Mine", "../mine", ""] {
        let error = new_key(&kit.home, name, &*kit.audit).await.expect_err(name);
        assert!(matches!(error, RegistryError::Usage(_)), "{name}: {error}");
    }
    assert_eq!(fs::read(&made.path).expect("the file"), before);
    remove_key(&kit.home, "other", &*kit.audit).await.expect("the key is removed");
    assert!(matches!(load_key(&kit.home, "other"), Err(RegistryError::NotFound(_))));
    kit.audit.broken.store(true, Ordering::SeqCst);
    assert!(matches!(new_key(&kit.home, "unrecorded", &*kit.audit).await, Err(RegistryError::Port(_))));
    assert!(matches!(load_key(&kit.home, "unrecorded"), Err(RegistryError::NotFound(_))));
}

#[tokio::test]
async fn a_key_that_others_can_read_is_not_used() {
    let kit = Kit::new().await;
    let made = new_key(&kit.home, "mine", &*kit.audit).await.expect("a new key");
    HomeKey::load_or_create(&kit.home).expect("the home's key");
    let rows: [(PathBuf, Load); 2] = [
        (made.path.clone(), |kit| load_key(&kit.home, "mine").map(|_| ())),
        (kit.home.keys().join("home.key"), |kit| HomeKey::load_or_create(&kit.home).map(|_| ())),
    ];
    for (path, load) in rows {
        for (mode, expected) in [(0o600, true), (0o640, false), (0o604, false), (0o400, true)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("the mode is changed");
            assert_eq!(load(&kit).is_ok(), expected, "{} {mode:o}", path.display());
        }
    }
}

#[tokio::test]
async fn the_home_key_is_made_once() {
    let kit = Kit::new().await;
    let first = HomeKey::load_or_create(&kit.home).expect("the home's key");
    assert_eq!(HomeKey::load_or_create(&kit.home).expect("the home's key"), first);
    assert_ne!(first.bytes(), &[0; 32]);
    assert!(!format!("{first:?}").contains(&hex::encode(first.bytes())));
    fs::write(kit.home.keys().join("home.key"), "short").expect("the file is written");
    assert!(matches!(HomeKey::load_or_create(&kit.home), Err(RegistryError::Untrusted(_))));
}

#[tokio::test]
async fn trusting_is_looking_first_and_agreeing_then() {
    let kit = Kit::new().await;
    let path = kit.home.root().join("run/given.toml");
    fs::write(&path, trusted("bob", 7, "bob/*").to_text()).expect("the file is written");
    let before = kit.files();
    let shown = preview_trust(&path).expect("the file is good");
    assert_eq!(kit.files(), before, "looking changes nothing");
    trust(&kit.home, &shown, &*kit.audit).await.expect("the key is trusted");
    assert_eq!(kit.audit.lines(), ["key bob trusted"]);
    assert_eq!(load_ring(&kit.home).expect("the ring").find(shown.fingerprint()), Some(&shown));
    trust(&kit.home, &shown, &*kit.audit).await.expect("the same key again");
    for other in [trusted("bob", 8, "bob/*"), trusted("robert", 7, "bob/*")] {
        let error = trust(&kit.home, &other, &*kit.audit).await.expect_err("another key or another name");
        assert!(matches!(error, RegistryError::Denied(_)), "{error}");
    }
    revoke_trust(&kit.home, "bob", &*kit.audit).await.expect("the trust is revoked");
    assert_eq!(load_ring(&kit.home).expect("the ring").find(shown.fingerprint()), None);
    assert!(matches!(revoke_trust(&kit.home, "bob", &*kit.audit).await, Err(RegistryError::NotFound(_))));
    kit.audit.broken.store(true, Ordering::SeqCst);
    assert!(matches!(trust(&kit.home, &shown, &*kit.audit).await, Err(RegistryError::Port(_))));
    assert_eq!(load_ring(&kit.home).expect("the ring").keys().count(), 1);
}

#[tokio::test]
async fn one_bad_trust_file_refuses_the_ring_with_its_place() {
    let kit = Kit::new().await;
    let path = kit.home.trust().join("z.toml");
    let good = trusted("bob", 7, "bob/*").to_text();
    for (text, place) in [
        (good.replacen("schema = 1", "schema = 9", 1), "trust/z.toml:1:1"),
        (trusted("again", 1, "bob/*").to_text(), "trust/z.toml:3:1"),
    ] {
        fs::write(&path, text).expect("the file is written");
        let error = load_ring(&kit.home).expect_err(place);
        assert!(error.to_string().starts_with(place), "{error}");
    }
    fs::write(&path, [b"schema = 1\nname = \"".as_slice(), &[0xff], b"\"\n"].concat()).expect("the file is written");
    let error = load_ring(&kit.home).expect_err("no text");
    assert!(error.to_string().starts_with("trust/z.toml:2:9"), "{error}");
    fs::write(&path, good).expect("the file is written");
    assert_eq!(load_ring(&kit.home).expect("the ring").keys().count(), 2);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("the mode is changed");
    assert!(matches!(load_ring(&kit.home), Err(RegistryError::Untrusted(_))));
}

#[tokio::test]
async fn signing_names_the_release_before() {
    let kit = Kit::new().await;
    let key = SigningKey::from_seed(&[1; 32]);
    let previous = |version: &str| kit.signed_by(&key, "acme/weather", version, "").1.statement.predicate.previous;
    let digest = |version: &str| Some(Digest::of(&component_bytes("acme/weather", version)));
    assert_eq!(previous("1.0.0"), None);
    assert_eq!(previous("1.1.0"), digest("1.0.0"));
    assert_eq!(previous("1.1.0"), digest("1.0.0"), "signing again changes nothing");
    assert_eq!(previous("1.0.0"), None, "an older version follows nothing");
    let other = SigningKey::from_seed(&[2; 32]);
    let (_, signed) = kit.signed_by(&other, "acme/weather", "1.2.0", "");
    assert_eq!(signed.statement.predicate.previous, None, "another key's word does not count");
    let bundle = Bundle::parse(&fs::read(&signed.path).expect("the file")).expect("the bundle");
    assert_eq!(Statement::parse(bundle.payload()), Ok(signed.statement));
}

#[tokio::test]
async fn a_manifest_is_not_signed_onto_another_file() {
    let kit = Kit::new().await;
    let path = kit.signed("acme/weather", "1.0.0", "");
    let (other, manifest) = (path.with_file_name("other.wasm"), path.with_file_name("component.toml"));
    fs::write(&other, component_bytes("acme/other", "1.0.0")).expect("the file is written");
    let key = SigningKey::from_seed(&[1; 32]);
    let error = chitin_registry::sign(&other, &manifest, &key).expect_err("another file");
    assert!(matches!(error, RegistryError::Usage(_)), "{error}");
    fs::write(&path, b"\0asm\x01\x00\x00\x00").expect("the file is written");
    let error = chitin_registry::sign(&path, &manifest, &key).expect_err("a core module");
    assert!(matches!(error, RegistryError::Unusable(_)), "{error}");
}
