//! Which keys does this home hold? Signing keys as `keys/<name>.pem`, and the key under which its own files are sealed.

use std::{fmt, fs, path::PathBuf};

use chitin_package::{Fingerprint, PublicKey, SigningKey, trust::key_name};
use chitin_ports::{Audit, AuditEntry, AuditKind};
use serde_json::json;

use crate::{
    Home, RegistryError, Said,
    disk::{Privacy, read_below, remove_file, write_new_file},
    home::KEYS,
    record::durable,
    writer::Writer,
};

/// 32 random bytes of this home, for seals over files that only this home reads. Losing it costs a fresh install of
/// every tool, and nothing else.
#[derive(Clone, PartialEq, Eq)]
pub struct HomeKey([u8; 32]);

/// A signing key of this home, without its private half.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFile {
    /// The name that the user gave it.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// The half that may be shown.
    pub public: PublicKey,
}

impl HomeKey {
    /// Reads `keys/home.key`, and makes it at the first use. Of two processes that make it at once, one wins and both
    /// read that one.
    ///
    /// # Errors
    /// It cannot be read or made, others may read it, or it is not 64 hexadecimal digits.
    pub fn load_or_create(home: &Home) -> Result<Self, RegistryError> {
        if let Some(key) = Self::load(home)? {
            return Ok(key);
        }
        let text = hex::encode(random()?);
        write_new_file(&home.keys(), HOME_KEY, format!("{text}\n").as_bytes())?;
        let vanished = || RegistryError::Busy(Said::new("keys/home.key vanished right after it was made"));
        Self::load(home)?.ok_or_else(vanished)
    }

    /// The 32 bytes. Use them under a domain of your own, as `tools.lock` does.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn load(home: &Home) -> Result<Option<Self>, RegistryError> {
        let Some(bytes) = read_below(home.root(), &[KEYS, HOME_KEY], KEY_BYTES_MAX, Privacy::Secret)? else {
            return Ok(None);
        };
        let mut key = [0; 32];
        if hex::decode_to_slice(bytes.trim_ascii(), &mut key).is_ok() {
            return Ok(Some(Self(key)));
        }
        let said = Said::new("keys/home.key does not hold 64 hexadecimal digits");
        Err(RegistryError::Untrusted(said.help("remove it and install every tool again")))
    }
}

impl fmt::Debug for HomeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HomeKey([redacted])")
    }
}

impl KeyFile {
    /// The key's fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        self.public.fingerprint()
    }
}

/// Makes a signing key.
///
/// # Errors
/// The name is not valid or taken, there is no randomness, or the audit or the disk fails; then there is no key.
pub async fn new_key(home: &Home, name: &str, audit: &dyn Audit) -> Result<KeyFile, RegistryError> {
    let name = valid(name)?;
    let _writer = Writer::take(home).await?;
    let path = home.keys().join(file_name(&name));
    let taken = || {
        let said = Said::new(format!("there is a key {name:?} already"));
        RegistryError::Usage(said.help("choose another name; a key that signed something is not replaced"))
    };
    if fs::symlink_metadata(&path).is_ok() {
        return Err(taken());
    }
    let key = SigningKey::from_seed(&random()?);
    let public = key.public();
    let entry = AuditEntry::new(AuditKind::Key, name.as_str(), "made")
        .detail(json!({ "fingerprint": public.fingerprint().to_string() }));
    durable(audit, vec![entry]).await?;
    if !write_new_file(&home.keys(), &file_name(&name), key.to_pem().expose().as_bytes())? {
        return Err(taken());
    }
    Ok(KeyFile { name, path, public })
}

/// Loads a signing key, for signing and for nothing else.
///
/// # Errors
/// There is none with this name, others may read it, or it is no Ed25519 key.
pub fn load_key(home: &Home, name: &str) -> Result<SigningKey, RegistryError> {
    let name = valid(name)?;
    let file = file_name(&name);
    let Some(bytes) = read_below(home.root(), &[KEYS, &file], KEY_BYTES_MAX, Privacy::Secret)? else {
        let said = Said::new(format!("there is no key {name:?}"));
        return Err(RegistryError::NotFound(said.help(format!("chitin key new {name}"))));
    };
    let text = String::from_utf8(bytes).unwrap_or_default();
    SigningKey::from_pem(&text).map_err(|e| RegistryError::Usage(Said::new(format!("keys/{file} cannot be used: {e}"))))
}

/// Every signing key, by name. A file that cannot be used is left out and named in the log.
///
/// # Errors
/// The directory cannot be read.
pub fn list_keys(home: &Home) -> Result<Vec<KeyFile>, RegistryError> {
    let doing = || "list the keys".to_owned();
    let mut found = Vec::new();
    for entry in fs::read_dir(home.keys()).map_err(RegistryError::io(doing()))? {
        let file = entry.map_err(RegistryError::io(doing()))?.file_name();
        let Some(name) = file.to_str().and_then(|file| file.strip_suffix(SUFFIX)) else { continue };
        match load_key(home, name) {
            Ok(key) => {
                let path = home.keys().join(file_name(name));
                found.push(KeyFile { name: name.to_owned(), path, public: key.public() });
            }
            Err(error) => tracing::warn!(key = name, %error, "a signing key is left out"),
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Removes a signing key. What it signed stays valid; revoke the trust in it where that must end.
///
/// # Errors
/// There is none with this name, or the audit or the disk fails.
pub async fn remove_key(home: &Home, name: &str, audit: &dyn Audit) -> Result<(), RegistryError> {
    let name = valid(name)?;
    let _writer = Writer::take(home).await?;
    let fingerprint = load_key(home, &name)?.public().fingerprint();
    let entry = AuditEntry::new(AuditKind::Key, name.as_str(), "removed")
        .detail(json!({ "fingerprint": fingerprint.to_string() }));
    durable(audit, vec![entry]).await?;
    remove_file(&home.keys(), &file_name(&name)).map(|_| ())
}

fn valid(name: &str) -> Result<String, RegistryError> {
    key_name(name).map_err(|e| RegistryError::Usage(Said::new(e.to_string())))
}

fn file_name(name: &str) -> String {
    format!("{name}{SUFFIX}")
}

fn random() -> Result<[u8; 32], RegistryError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|e| RegistryError::Io {
        doing: "get random bytes from the system".to_owned(),
        source: std::io::Error::other(e.to_string()),
    })?;
    Ok(bytes)
}

const HOME_KEY: &str = "home.key";
const SUFFIX: &str = ".pem";
/// A key file has about 120 bytes; a larger one is something else.
const KEY_BYTES_MAX: usize = 16 * 1024;
