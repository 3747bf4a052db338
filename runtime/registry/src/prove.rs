//! Are the stored bytes those that were installed? A lock entry and the trusted keys go in, verified bytes come out.

use std::sync::Arc;

use chitin_package::{KeyRing, LockEntry, Verified, verify};
use chitin_types::Digest;

use crate::{Home, RegistryError, Said, store};

/// A component that was read once, hashed in memory and verified. What runs are these bytes.
#[derive(Clone)]
pub(crate) struct Proven {
    /// The verdict.
    pub(crate) verified: Verified,
    /// The bytes that it is about.
    pub(crate) bytes: Arc<Vec<u8>>,
}

/// Reads and verifies the component of an entry. Nothing is read again after it returned.
pub(crate) fn prove(home: &Home, entry: &LockEntry, ring: &KeyRing, now_ms: u64) -> Result<Proven, RegistryError> {
    let name = &entry.name;
    let untrusted = |what: String| {
        let help = format!("install {name} again from its file, or: chitin tool remove {name}");
        RegistryError::Untrusted(Said::new(format!("{name} is disabled: {what}")).help(help))
    };
    let stored =
        store::read(home, &entry.component)?.ok_or_else(|| untrusted("its files are not in the store".to_owned()))?;
    let found = Digest::of(&stored.component);
    if found != entry.component {
        return Err(untrusted(format!("its component is {found}, and {} was installed", entry.component)));
    }
    if Digest::of(&stored.bundle) != entry.bundle {
        return Err(untrusted("its bundle is not the one that was installed".to_owned()));
    }
    let verified =
        verify(&stored.component, &stored.bundle, ring, now_ms).map_err(|error| untrusted(error.to_string()))?;
    let signed = &verified.statement().predicate;
    if signed.name != entry.name || signed.version != entry.version || verified.signer().fingerprint() != entry.signer {
        return Err(untrusted("its statement is about another name, version or key than the lock".to_owned()));
    }
    Ok(Proven { verified, bytes: Arc::new(stored.component) })
}
