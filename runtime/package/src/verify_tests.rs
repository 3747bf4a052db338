//! What is verified, and what is not? Every refusal stands beside the good pair from which it differs in one thing.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use chitin_types::Capabilities;
use serde_json::{Value, json};

use super::*;
use crate::{Manifest, NamePattern, SigningKey, bundle::BUNDLE_BYTES_MAX, bundle::pae};

const NOW_MS: u64 = 1_700_000_000_000;

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

fn component() -> Vec<u8> {
    let mut bytes = COMPONENT_PREAMBLE.to_vec();
    let mut noise = Noise(7);
    bytes.extend((0..600).map(|_| noise.byte()));
    bytes
}

fn statement(component: &[u8], signer: &SigningKey) -> Statement {
    let text = "schema = 1\nname = \"acme/weather\"\nversion = \"1.0.0\"\nsummary = \"Weather.\"\n\
                world = \"chitin:tool/tool\"\nartifact = \"weather.wasm\"\n[[http]]\nhost = \"api.weather.test\"\n\
                methods = [\"GET\"]\npaths = [\"/v1/**\"]\nreason = \"the forecast comes from here\"\n";
    let manifest = Manifest::parse("component.toml", text).expect("the manifest is good");
    Statement::new(&manifest, component, signer.public().fingerprint())
}

fn bundle(component: &[u8], signer: &SigningKey) -> Vec<u8> {
    Bundle::sign(&statement(component, signer), signer).to_bytes()
}

fn ring(names: &str) -> KeyRing {
    let mut ring = KeyRing::default();
    for (name, seed) in [("acme", 1), ("other", 2)] {
        let names = vec![NamePattern::parse(names).expect("a valid pattern")];
        let trusted = TrustedKey::new(name, key(seed).public(), names, Capabilities::default()).expect("a valid name");
        ring.add(trusted).expect("the keys differ");
    }
    ring
}

fn check(component: &[u8], bundle: &[u8]) -> Result<Verified, VerifyError> {
    verify(component, bundle, &ring("acme/*"), NOW_MS)
}

fn edited(bundle: &[u8], edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(bundle).expect("a bundle is JSON");
    edit(&mut value);
    value.to_string().into_bytes()
}

#[test]
fn a_signed_component_is_verified() {
    let component = component();
    let bytes = bundle(&component, &key(1));
    let verified = check(&component, &bytes).expect("the pair is good");
    assert_eq!(verified.component(), Digest::of(&component));
    assert_eq!(verified.bundle(), Digest::of(&bytes));
    assert_eq!(verified.signer().name(), "acme");
    assert_eq!(verified.statement(), &statement(&component, &key(1)));
    // A formatter between the publisher and us changes no meaning.
    let pretty = serde_json::from_slice::<Value>(&bytes).map(|value| format!("{value:#}")).expect("a bundle is JSON");
    assert_eq!(check(&component, pretty.as_bytes()).map(|v| v.component()), Ok(verified.component()));
    let empty_log = edited(&bytes, |b| b["verificationMaterial"]["tlogEntries"] = json!([]));
    assert!(check(&component, &empty_log).is_ok());
}

#[test]
fn what_is_not_signed_by_a_trusted_key_is_refused() {
    let component = component();
    let good = bundle(&component, &key(1));
    let signatures = |b: &mut Value| b["dsseEnvelope"]["signatures"].take();
    let rename = |b: &mut Value, name: Value| {
        b["verificationMaterial"]["publicKey"]["hint"] = name.clone();
        b["dsseEnvelope"]["signatures"][0]["keyid"] = name;
    };
    let unknown = key(9).public().fingerprint();
    let acme = ("acme".to_owned(), key(1).public().fingerprint());
    let other = ("other".to_owned(), key(2).public().fingerprint());
    let bad_signature = |(signer, fingerprint): (String, _)| VerifyError::BadSignature { signer, fingerprint };
    for (what, bytes, expected) in [
        ("an empty file", vec![], VerifyError::Unsigned),
        ("no signature", edited(&good, |b| b["dsseEnvelope"]["signatures"] = json!([])), VerifyError::Unsigned),
        ("a key that nobody trusted", bundle(&component, &key(9)), VerifyError::UnknownKey { fingerprint: unknown }),
        (
            "another key's name on it",
            edited(&good, |b| rename(b, json!(key(2).public().fingerprint()))),
            bad_signature(other),
        ),
        (
            "the signature of another statement",
            edited(&good, |b| {
                let mut later = Value::Null;
                edited(&bundle(b"other bytes", &key(1)), |o| later = signatures(o));
                b["dsseEnvelope"]["signatures"] = later;
            }),
            bad_signature(acme.clone()),
        ),
        (
            "an altered payload",
            edited(&good, |b| {
                let payload = STANDARD.decode(b["dsseEnvelope"]["payload"].as_str().expect("text")).expect("base64");
                let wider = String::from_utf8(payload).expect("JSON").replace("api.weather.test", "*");
                b["dsseEnvelope"]["payload"] = json!(STANDARD.encode(wider));
            }),
            bad_signature(acme),
        ),
    ] {
        assert_eq!(check(&component, &bytes), Err(expected), "{what}");
    }
}

#[test]
fn a_bundle_of_another_shape_is_refused() {
    let component = component();
    let good = bundle(&component, &key(1));
    let mut trailing = good.clone();
    trailing.extend_from_slice(b"{}");
    let keyid = |name: &'static str| move |b: &mut Value| b["dsseEnvelope"]["signatures"][0]["keyid"] = json!(name);
    for (says, bytes) in [
        ("trailing characters", trailing),
        (
            "2 signatures",
            edited(&good, |b| {
                let first = b["dsseEnvelope"]["signatures"][0].clone();
                b["dsseEnvelope"]["signatures"] =
                    json!([first, { "sig": STANDARD.encode([0u8; 64]), "keyid": first["keyid"] }]);
            }),
        ),
        ("name two keys", edited(&good, keyid("sha256:00"))),
        (
            "mediaType",
            edited(&good, |b| b["mediaType"] = json!("application/vnd.dev.sigstore.bundle+json;version=0.1")),
        ),
        ("payloadType", edited(&good, |b| b["dsseEnvelope"]["payloadType"] = json!("text/plain"))),
        ("transparency log", edited(&good, |b| b["verificationMaterial"]["tlogEntries"] = json!([{}]))),
        ("unknown field", edited(&good, |b| b["messageSignature"] = json!({}))),
        ("unknown field", edited(&good, |b| b["verificationMaterial"]["certificate"] = json!({}))),
        ("the payload", edited(&good, |b| b["dsseEnvelope"]["payload"] = json!("***"))),
        ("63 bytes", edited(&good, |b| b["dsseEnvelope"]["signatures"][0]["sig"] = json!(STANDARD.encode([1u8; 63])))),
        (
            "missing field",
            edited(&good, |b| {
                b.as_object_mut().expect("an object").remove("dsseEnvelope");
            }),
        ),
    ] {
        match check(&component, &bytes) {
            Err(VerifyError::BadBundle(message)) if message.contains(says) => {}
            other => panic!("{says}: {other:?}"),
        }
    }
    assert!(check(&component, &good).is_ok());
}

#[test]
fn every_truncation_is_refused() {
    let component = component();
    let good = bundle(&component, &key(1));
    for end in 0..good.len() {
        assert!(check(&component, &good[..end]).is_err(), "the first {end} bytes of the bundle");
    }
    for end in 0..component.len() {
        assert!(check(&component[..end], &good).is_err(), "the first {end} bytes of the component");
    }
    assert!(check(&component, &good).is_ok());
}

#[test]
fn a_component_that_was_altered_is_refused() {
    let component = component();
    let good = bundle(&component, &key(1));
    let mut longer = component.clone();
    longer.push(0);
    let mut doubled = component.clone();
    doubled.extend_from_slice(&component);
    for bytes in [longer, doubled] {
        assert!(matches!(check(&bytes, &good), Err(VerifyError::Altered { .. })));
    }
    for (bytes, says) in [
        (b"\0asm\x01\x00\x00\x00".as_slice(), "core module"),
        (b"".as_slice(), "empty"),
        (b"#!/bin/sh".as_slice(), "does not begin"),
    ] {
        match check(bytes, &good) {
            Err(VerifyError::NotAComponent(message)) => assert!(message.contains(says), "{message}"),
            other => panic!("{says}: {other:?}"),
        }
    }
    assert!(check(&component, &good).is_ok());
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let component = component();
    let good = bundle(&component, &key(1));
    let mut padded = good.clone();
    padded.resize(BUNDLE_BYTES_MAX, b' ');
    assert!(check(&component, &padded).is_ok(), "the limit itself is allowed");
    padded.push(b' ');
    assert!(matches!(check(&component, &padded), Err(VerifyError::TooLarge { what: "bundle", .. })));
    let huge = vec![0u8; COMPONENT_BYTES_MAX + 1];
    assert!(matches!(check(&huge, &good), Err(VerifyError::TooLarge { what: "component", .. })));
}

#[test]
fn a_key_signs_its_own_names_in_its_own_time() {
    let component = component();
    let good = bundle(&component, &key(1));
    for (names, expected) in [("acme/*", true), ("acme/weather", true), ("acme/other", false), ("core/*", false)] {
        let result = verify(&component, &good, &ring(names), NOW_MS);
        assert_eq!(result.is_ok(), expected, "{names}");
        assert!(expected || matches!(result, Err(VerifyError::NameNotAllowed { .. })), "{names}");
    }
    let fingerprint = key(1).public().fingerprint();
    let text = format!(
        "schema = 1\nname = \"acme\"\nfingerprint = \"{fingerprint}\"\npublic_key = \"\"\"\n{}\"\"\"\n\
         names = [\"acme/*\"]\nnot_before_ms = 1000\nnot_after_ms = 2000\n",
        key(1).public().to_pem()
    );
    let mut ring = KeyRing::default();
    ring.add(TrustedKey::parse("acme.toml", &text).expect("the file is good")).expect("the ring is empty");
    for (now_ms, when) in
        [(999, Some("not trusted yet")), (1000, None), (2000, None), (2001, Some("no longer trusted"))]
    {
        let expected = when.map(|when| VerifyError::KeyNotInTime { signer: "acme".to_owned(), fingerprint, when });
        assert_eq!(verify(&component, &good, &ring, now_ms).err(), expected, "at {now_ms}");
    }
}

#[test]
fn a_statement_written_for_another_key_is_refused() {
    // A thief of statements signs somebody else's with a key of their own.
    let component = component();
    let stolen = Bundle::sign(&statement(&component, &key(1)), &key(2)).to_bytes();
    match check(&component, &stolen) {
        Err(VerifyError::BadBundle(message)) => assert!(message.contains("did not sign it"), "{message}"),
        other => panic!("{other:?}"),
    }
    let own = bundle(&component, &key(2));
    assert!(check(&component, &own).is_ok());
    // The framing is part of what is signed: the same payload under another type does not verify.
    let payload = statement(&component, &key(1)).to_bytes();
    let unframed = key(1).sign(&payload);
    let bytes = edited(&bundle(&component, &key(1)), |b| {
        b["dsseEnvelope"]["signatures"][0]["sig"] = json!(STANDARD.encode(unframed));
    });
    assert!(matches!(check(&component, &bytes), Err(VerifyError::BadSignature { .. })));
    assert!(key(1).public().signed(&pae(PAYLOAD_TYPE, &payload), &key(1).sign(&pae(PAYLOAD_TYPE, &payload))));
}

#[test]
fn no_flipped_byte_is_verified() {
    let component = component();
    let good = bundle(&component, &key(1));
    let mut noise = Noise(42);
    for round in 0..500 {
        for target in [&component, &good] {
            let mut bytes = target.clone();
            let offset = noise.below(bytes.len());
            let change = noise.byte().max(1);
            bytes[offset] ^= change;
            let result = if std::ptr::eq(target, &raw const component) {
                check(&bytes, &good)
            } else {
                check(&component, &bytes)
            };
            assert!(result.is_err(), "round {round}: offset {offset} ^ {change:#04x}");
        }
    }
    assert!(check(&component, &good).is_ok());
}

/// The same bytes on each run (xorshift64*), so that a failure can be repeated.
struct Noise(u64);

impl Noise {
    fn word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn byte(&mut self) -> u8 {
        self.word().to_be_bytes()[0]
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.word() % end as u64).expect("smaller than a usize")
    }
}
