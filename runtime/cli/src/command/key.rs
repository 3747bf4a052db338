//! Which keys sign, and whose are trusted?

use chitin_package::{NamePattern, TrustedKey};
use chitin_registry::{list_keys, load_key, load_ring, new_key, preview_trust, revoke_trust, trust};
use chitin_types::{Capabilities, FsAsk, FsMode, HostPattern, HttpAsk, KvAsk, PathPattern, RecallAsk, Scheme};
use serde_json::json;

use crate::{
    approve::read_answer,
    args::Key,
    error::{CliError, Exit},
    output::{Output, person_is_there},
    wire::Wire,
};

pub(crate) async fn run(wire: &Wire, args: &Key, output: &Output) -> Result<(), CliError> {
    match args {
        Key::New { name } => {
            let key = new_key(&wire.home, name, wire.records()?.as_ref()).await?;
            let text = format!("made key {name}, {}", key.fingerprint());
            output.result("key", json!({ "name": name, "fingerprint": key.fingerprint().to_string() }), &text);
            output.note(&format!("help: chitin key export {name} --names '{name}/*' --out {name}.toml"));
            Ok(())
        }
        Key::Trust { file } => {
            let key = preview_trust(file)?;
            let key = match load_ring(&wire.home)?.find(key.fingerprint()) {
                None => key,
                // What a person narrowed by hand stays as narrow; a file from outside cannot widen it unseen.
                Some(known) => {
                    let names: Vec<String> = known.names().iter().map(ToString::to_string).collect();
                    output
                        .note(&format!("it is trusted already, for {}; its ceiling stays as it is", names.join(", ")));
                    TrustedKey::new(key.name(), key.key().clone(), key.names().to_vec(), known.ceiling().clone())?
                }
            };
            confirm(wire, &key, output)?;
            trust(&wire.home, &key, wire.records()?.as_ref()).await?;
            output.result("key", value(&key), &format!("trusted {} ({})", key.name(), key.fingerprint()));
            Ok(())
        }
        Key::Revoke { name } => {
            revoke_trust(&wire.home, name, wire.records()?.as_ref()).await?;
            output.result("key", json!({ "name": name }), &format!("{name} is no longer trusted"));
            Ok(())
        }
        Key::List => {
            let ring = load_ring(&wire.home)?;
            let own = list_keys(&wire.home)?;
            let mut lines: Vec<String> = ring.keys().map(|k| format!("trusted  {}", describe(k))).collect();
            lines.extend(own.iter().map(|k| format!("own      {} {}", k.name, k.fingerprint())));
            let mut values: Vec<_> = ring.keys().map(value).collect();
            let mine = |k: &chitin_registry::KeyFile| json!({ "name": k.name, "fingerprint": k.fingerprint().to_string(), "own": true });
            values.extend(own.iter().map(mine));
            output.list("key", "keys", values, &lines.join("\n"));
            Ok(())
        }
        Key::Export { name, names, out } => {
            let public = load_key(&wire.home, name)?.public();
            let patterns = names.iter().map(|n| NamePattern::parse(n)).collect::<Result<Vec<_>, _>>()?;
            let key = TrustedKey::new(name, public, patterns, anything())?;
            std::fs::write(out, key.to_text())
                .map_err(|e| CliError::failed(format!("write {}: {e}", out.display())))?;
            output.result("key", value(&key), &format!("wrote {}", out.display()));
            Ok(())
        }
    }
}

/// Shows a key and waits for a yes.
pub(crate) fn confirm(wire: &Wire, key: &TrustedKey, output: &Output) -> Result<(), CliError> {
    output.note(&format!("key {}", describe(key)));
    if wire.global.yes {
        return Ok(());
    }
    let refused = |why: &str| CliError::new(Exit::Denied, format!("key {} is not trusted: {why}", key.name()));
    if !person_is_there(&wire.global) {
        return Err(refused("nobody is at the terminal to agree").help("compare the fingerprint, then add -y"));
    }
    let answer = read_answer("trust this key? [y/N] ")?;
    if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(refused("you said no")) }
}

fn describe(key: &TrustedKey) -> String {
    let names: Vec<String> = key.names().iter().map(ToString::to_string).collect();
    format!("{} {} signs {}", key.name(), key.fingerprint(), names.join(", "))
}

fn value(key: &TrustedKey) -> serde_json::Value {
    let names: Vec<String> = key.names().iter().map(ToString::to_string).collect();
    json!({ "name": key.name(), "fingerprint": key.fingerprint().to_string(), "names": names, "own": false })
}

/// A ceiling that takes nothing away; whoever trusts the file may lower it first.
fn anything() -> Capabilities {
    let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map(str::to_owned).to_vec();
    let http = HttpAsk {
        host: HostPattern::Any,
        scheme: vec![Scheme::Https, Scheme::Http],
        ports: vec![],
        methods,
        paths: PathPattern::parse("/**").into_iter().collect(),
        reason: None,
    };
    let any = || vec!["*".to_owned()];
    Capabilities {
        fs: vec![FsAsk { at: "*".to_owned(), mode: FsMode::Rw, reason: None }],
        http: vec![http],
        kv: Some(KvAsk { quota_kib: u64::from(u32::MAX), reason: None }),
        recall: Some(RecallAsk { read: any(), write: any(), reason: None }),
    }
}
