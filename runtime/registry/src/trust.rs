//! Whose signatures count here? `trust/*.toml`, one key a file; trusting one is an act in two steps, look and agree.
//!
//! A file that cannot be read refuses the whole ring: leaving it out would silently shrink what is trusted, and a file
//! that was meant to narrow a key might be just the one that is left out. A process that knew a whole ring goes on with
//! what each file last said (`kept.rs`).

use std::{fs, path::Path};

use chitin_package::{KeyRing, TrustedKey};
use chitin_ports::{Audit, AuditEntry, AuditKind};
use chitin_types::{DocumentError, Place};
use serde_json::json;

use crate::{
    Home, RegistryError, Said,
    disk::{Privacy, read_below, read_named, remove_file, write_file},
    home::TRUST,
    record::durable,
    writer::Writer,
};

/// Reads a trust file that the user was given, to be shown before it is trusted.
///
/// # Errors
/// There is no such file, or it is refused, with its place.
pub fn preview_trust(path: &Path) -> Result<TrustedKey, RegistryError> {
    let shown = path.display().to_string();
    let bytes = read_named(path, TRUST_BYTES_MAX)?
        .ok_or_else(|| RegistryError::NotFound(Said::new(format!("there is no file {shown}"))))?;
    Ok(TrustedKey::parse(&shown, &text_of(&shown, bytes)?)?)
}

/// Trusts the key that was shown. The file that is written holds exactly what was read, in our own spelling.
///
/// # Errors
/// Another key is trusted under this name, this key is trusted under another name, or the audit or the disk fails; then
/// nothing is trusted that was not before.
pub async fn trust(home: &Home, key: &TrustedKey, audit: &dyn Audit) -> Result<(), RegistryError> {
    let _writer = Writer::take(home).await?;
    let sources = read_sources(home)?;
    for known in ring_of(&sources)?.keys() {
        let (same_name, same_key) = (known.name() == key.name(), known.fingerprint() == key.fingerprint());
        if same_name != same_key {
            let message = format!("{} is trusted as {:?} already", known.fingerprint(), known.name());
            let help = format!("chitin key revoke {}, if this one is meant to replace it", known.name());
            return Err(RegistryError::Denied(Said::new(message).help(help)));
        }
    }
    let names: Vec<String> = key.names().iter().map(ToString::to_string).collect();
    let entry = AuditEntry::new(AuditKind::Key, key.name(), "trusted")
        .detail(json!({ "fingerprint": key.fingerprint().to_string(), "names": names }));
    durable(audit, vec![entry]).await?;
    // A file that somebody named by hand is replaced in its place: a second one about the same key would break the
    // ring.
    let by_hand = sources.into_iter().find(|(file, text)| {
        TrustedKey::parse(&shown(file), text).is_ok_and(|known| known.fingerprint() == key.fingerprint())
    });
    let file = by_hand.map_or_else(|| file_name(key.name()), |(file, _)| file);
    write_file(&home.trust(), &file, key.to_text().as_bytes())
}

/// Ends the trust in a key. Tools that it signed stop at their next call.
///
/// # Errors
/// No key is trusted under this name, or the audit or the disk fails.
pub async fn revoke_trust(home: &Home, name: &str, audit: &dyn Audit) -> Result<(), RegistryError> {
    let _writer = Writer::take(home).await?;
    let sources = read_sources(home)?;
    let found = sources.iter().find_map(|(file, text)| {
        let key = TrustedKey::parse(&shown(file), text).ok()?;
        (key.name() == name).then(|| (file.clone(), key.fingerprint()))
    });
    let Some((file, fingerprint)) = found else {
        let said = Said::new(format!("no key is trusted as {name:?}"));
        return Err(RegistryError::NotFound(said.help("chitin key list")));
    };
    let entry =
        AuditEntry::new(AuditKind::Key, name, "revoked").detail(json!({ "fingerprint": fingerprint.to_string() }));
    durable(audit, vec![entry]).await?;
    remove_file(&home.trust(), &file).map(|_| ())
}

/// Reads every trust file.
///
/// # Errors
/// One of them is refused, with its place; or two are about one key.
pub fn load_ring(home: &Home) -> Result<KeyRing, RegistryError> {
    ring_of(&read_sources(home)?)
}

/// The ring of these files, in the order given.
pub(crate) fn ring_of(sources: &[(String, String)]) -> Result<KeyRing, RegistryError> {
    let mut ring = KeyRing::default();
    for (file, text) in sources {
        let key = key_of(file, text)?;
        ring.add(key).map_err(|e| DocumentError::near(&shown(file), text, "fingerprint", e.to_string()))?;
    }
    Ok(ring)
}

/// The key in one file.
pub(crate) fn key_of(file: &str, text: &str) -> Result<TrustedKey, RegistryError> {
    Ok(TrustedKey::parse(&shown(file), text)?)
}

/// Names and texts of all trust files, by name.
pub(crate) fn read_sources(home: &Home) -> Result<Vec<(String, String)>, RegistryError> {
    read_each(home)?.into_iter().map(|(file, text)| text.map(|text| (file, text))).collect()
}

/// The name of a trust file, and its text or what is wrong with it.
pub(crate) type ReadFile = (String, Result<String, RegistryError>);

/// The same, with what is wrong with each file alone.
///
/// # Errors
/// The directory cannot be listed, or holds too much.
pub(crate) fn read_each(home: &Home) -> Result<Vec<ReadFile>, RegistryError> {
    let doing = || "list the trusted keys".to_owned();
    let mut sources = Vec::new();
    for entry in fs::read_dir(home.trust()).map_err(RegistryError::io(doing()))? {
        let name = entry.map_err(RegistryError::io(doing()))?.file_name();
        let Some(name) = name.to_str().filter(|name| name.ends_with(SUFFIX) && !name.starts_with('.')) else {
            continue;
        };
        if sources.len() == FILES_MAX {
            return Err(RegistryError::Limit(Said::new(format!("trust/ holds more than {FILES_MAX} files"))));
        }
        let read = read_below(home.root(), &[TRUST, name], TRUST_BYTES_MAX, Privacy::OwnedDocument).transpose();
        // A file that was removed between the listing and now is not trusted.
        if let Some(read) = read {
            sources.push((name.to_owned(), read.and_then(|bytes| text_of(&shown(name), bytes))));
        }
    }
    sources.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(sources)
}

pub(crate) fn text_of(shown: &str, bytes: Vec<u8>) -> Result<String, RegistryError> {
    String::from_utf8(bytes).map_err(|e| {
        let place = Place::at(shown, &String::from_utf8_lossy(e.as_bytes()), e.utf8_error().valid_up_to());
        RegistryError::Document { place, message: "the file is not UTF-8".to_owned(), help: None }
    })
}

fn shown(file: &str) -> String {
    format!("{TRUST}/{file}")
}

fn file_name(name: &str) -> String {
    format!("{name}{SUFFIX}")
}

const SUFFIX: &str = ".toml";
/// Trusted keys of one home. Each is read at every start; a directory full of files would delay it without a limit.
const FILES_MAX: usize = 256;
/// A trust file has a few KiB.
const TRUST_BYTES_MAX: usize = 64 * 1024;
