//! Which trust files are read, and which names does a key sign?

use super::*;
use crate::SigningKey;

fn public(seed: u8) -> PublicKey {
    SigningKey::from_seed(&[seed; 32]).public()
}

fn good() -> String {
    let key = public(1);
    format!(
        "schema = 1\nname = \"acme\"\nfingerprint = \"{}\"\npublic_key = \"\"\"\n{}\"\"\"\n\
         names = [\"acme/*\", \"misc/tool\"]\nnot_before_ms = 1000\nnot_after_ms = 2000\n\n\
         [[ceiling.fs]]\nat = \"*\"\nmode = \"ro\"\n",
        key.fingerprint(),
        key.to_pem()
    )
}

#[test]
fn a_trust_file_reads_back_the_same() {
    let key = TrustedKey::parse("acme.toml", &good()).expect("the file is good");
    assert_eq!(key.fingerprint(), public(1).fingerprint());
    assert_eq!(key.times_ms(), (Some(1000), Some(2000)));
    assert_eq!(key.ceiling().fs.len(), 1);
    assert_eq!(TrustedKey::parse("acme.toml", &key.to_text()), Ok(key));
}

#[test]
fn each_bad_line_refuses_the_file_with_its_place() {
    // The twin of each row is the good file, from which it differs in one place.
    let good = good();
    let (fingerprint, other) = (public(1).fingerprint().to_string(), public(2).fingerprint().to_string());
    for (from, to, place, says) in [
        ("schema = 1", "schema = 2", "t.toml:1:1", "schema 2"),
        ("name = \"acme\"", "name = \"../acme\"", "t.toml:2:1", "key name"),
        (fingerprint.as_str(), other.as_str(), "t.toml:3:1", "not that of the public key"),
        ("BEGIN PUBLIC KEY", "BEGIN PRIVATE KEY", "t.toml:4:1", "Ed25519 public key"),
        ("\"acme/*\"", "\"*\"", "t.toml:9:9", "name pattern"),
        ("[\"acme/*\", \"misc/tool\"]", "[]", "t.toml:9:1", "empty"),
        ("not_after_ms = 2000", "not_after_ms = 999", "t.toml:10:1", "lies after"),
        ("not_after_ms = 2000", "revoked = true", "t.toml:11:1", "unknown field"),
        ("at = \"*\"", "at = \"x\"", "t.toml", "absolute path"),
    ] {
        assert!(good.contains(from), "the row's text {from:?} is not in the good file");
        let error = TrustedKey::parse("t.toml", &good.replacen(from, to, 1)).expect_err(to);
        assert!(error.to_string().starts_with(place), "{to}: {error}");
        assert!(error.message.contains(says), "{to}: {error}");
    }
}

#[test]
fn a_key_signs_the_names_of_its_patterns_only() {
    let key = TrustedKey::parse("acme.toml", &good()).expect("the file is good");
    for (tool, expected) in [
        ("acme/weather", true),
        ("acme/other", true),
        ("misc/tool", true),
        ("misc/other", false),
        ("acmes/weather", false),
        ("core/fs", false),
    ] {
        assert_eq!(key.may_sign(&ToolName::parse(tool).expect("a valid name")), expected, "{tool}");
    }
    for text in ["*", "*/*", "acme", "acme/", "acme/**", "acme/a*", "/*", "Acme/*"] {
        assert!(NamePattern::parse(text).is_err(), "{text}");
    }
}

#[test]
fn one_key_has_one_ceiling() {
    let names = || vec![NamePattern::parse("acme/*").expect("a valid pattern")];
    let key =
        |name: &str, seed| TrustedKey::new(name, public(seed), names(), Capabilities::default()).expect("a valid name");
    let mut ring = KeyRing::default();
    assert_eq!(ring.add(key("one", 1)), Ok(()));
    assert_eq!(ring.add(key("two", 2)), Ok(()));
    let again = ring.add(key("three", 1)).expect_err("the key is on the ring");
    assert_eq!((again.first.as_str(), again.second.as_str()), ("one", "three"));
    assert_eq!(ring.find(public(1).fingerprint()).map(TrustedKey::name), Some("one"));
    assert_eq!(ring.keys().count(), 2);
}
