//! May these bytes be trusted? A component, its bundle, the trusted keys and the time go in; a [`Verified`] comes out.
//!
//! ```text
//!   component ─ bundle ─ payload type ─ key ─ time ─ signature ─ statement ─ digest ─ name ─ publisher ─→ Verified
//! ```
//!
//! Each step is one function, and the first that fails ends it. Nothing of the statement is looked at before the
//! signature over it holds, and a step that fails yields no part of a verdict.

use chitin_types::Digest;

use crate::{Bundle, KeyRing, Statement, TrustedKey, VerifyError, bundle::PAYLOAD_TYPE};

/// Bytes of a component. The largest toolchain in use (StarlingMonkey) makes 12 MB; without a limit, a registry could
/// fill the memory of whoever asks it.
pub const COMPONENT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A component whose signature, digest, name and key were checked. Made only by [`verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    statement: Statement,
    signer: TrustedKey,
    component: Digest,
    bundle: Digest,
}

impl Verified {
    /// What was signed.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// Who signed it, as trusted when it was verified.
    pub fn signer(&self) -> &TrustedKey {
        &self.signer
    }

    /// Digest of the component's bytes.
    pub fn component(&self) -> Digest {
        self.component
    }

    /// Digest of the bundle's bytes.
    pub fn bundle(&self) -> Digest {
        self.bundle
    }
}

/// Verifies a component against its bundle. `now_ms` is milliseconds since 1970, for keys that are trusted for a time.
///
/// # Errors
/// The first check that fails. Nothing of the component may be compiled, shown as signed, or kept.
pub fn verify(component: &[u8], bundle: &[u8], ring: &KeyRing, now_ms: u64) -> Result<Verified, VerifyError> {
    check_component(component)?;
    let signed = Bundle::parse(bundle)?;
    check_payload_type(&signed)?;
    let signer = find_signer(&signed, ring)?;
    check_time(signer, now_ms)?;
    check_signature(&signed, signer)?;
    let statement = Statement::parse(signed.payload())?;
    let digest = check_digest(&statement, component)?;
    check_name(&statement, signer)?;
    check_publisher(&statement, signer)?;
    Ok(Verified { statement, signer: signer.clone(), component: digest, bundle: Digest::of(bundle) })
}

/// Checks what can be seen of a component without its bundle: its size and its first eight bytes.
///
/// # Errors
/// [`VerifyError::TooLarge`] or [`VerifyError::NotAComponent`].
pub fn check_component(component: &[u8]) -> Result<(), VerifyError> {
    check_size(component)?;
    check_preamble(component)
}

fn check_size(component: &[u8]) -> Result<(), VerifyError> {
    if component.len() > COMPONENT_BYTES_MAX {
        let bytes = component.len();
        return Err(VerifyError::TooLarge { what: "component", bytes, bytes_max: COMPONENT_BYTES_MAX });
    }
    Ok(())
}

fn check_preamble(component: &[u8]) -> Result<(), VerifyError> {
    if component.starts_with(COMPONENT_PREAMBLE) {
        Ok(())
    } else if component.starts_with(MODULE_PREAMBLE) {
        let hint = "this is a core module and no component; build for wasm32-wasip2, or run wasm-tools component new";
        Err(VerifyError::NotAComponent(hint.to_owned()))
    } else if component.is_empty() {
        Err(VerifyError::NotAComponent("the file is empty".to_owned()))
    } else {
        Err(VerifyError::NotAComponent("the file does not begin as a WebAssembly component does".to_owned()))
    }
}

fn check_payload_type(bundle: &Bundle) -> Result<(), VerifyError> {
    if bundle.payload_type() == PAYLOAD_TYPE {
        Ok(())
    } else {
        let found = bundle.payload_type();
        Err(VerifyError::BadBundle(format!("payloadType is {found:?} instead of {PAYLOAD_TYPE:?}")))
    }
}

fn find_signer<'a>(bundle: &Bundle, ring: &'a KeyRing) -> Result<&'a TrustedKey, VerifyError> {
    ring.find(bundle.key()).ok_or(VerifyError::UnknownKey { fingerprint: bundle.key() })
}

fn check_time(signer: &TrustedKey, now_ms: u64) -> Result<(), VerifyError> {
    let refused = |when| {
        let (signer, fingerprint) = (signer.name().to_owned(), signer.fingerprint());
        Err(VerifyError::KeyNotInTime { signer, fingerprint, when })
    };
    let (from, to) = signer.times_ms();
    if from.is_some_and(|from| now_ms < from) {
        refused("not trusted yet")
    } else if to.is_some_and(|to| now_ms > to) {
        refused("no longer trusted")
    } else {
        Ok(())
    }
}

fn check_signature(bundle: &Bundle, signer: &TrustedKey) -> Result<(), VerifyError> {
    if signer.key().signed(&bundle.signed_bytes(), bundle.signature()) {
        Ok(())
    } else {
        let (signer, fingerprint) = (signer.name().to_owned(), signer.fingerprint());
        Err(VerifyError::BadSignature { signer, fingerprint })
    }
}

fn check_digest(statement: &Statement, component: &[u8]) -> Result<Digest, VerifyError> {
    let (signed, found) = (statement.component, Digest::of(component));
    if signed == found { Ok(found) } else { Err(VerifyError::Altered { signed, found }) }
}

fn check_name(statement: &Statement, signer: &TrustedKey) -> Result<(), VerifyError> {
    let tool = &statement.predicate.name;
    if signer.may_sign(tool) {
        Ok(())
    } else {
        Err(VerifyError::NameNotAllowed { tool: tool.clone(), signer: signer.name().to_owned() })
    }
}

// The bundle's own key id is outside of the signature; the statement's copy of it is inside.
fn check_publisher(statement: &Statement, signer: &TrustedKey) -> Result<(), VerifyError> {
    let named = statement.predicate.publisher;
    if named == signer.fingerprint() {
        Ok(())
    } else {
        Err(VerifyError::BadBundle(format!("the statement was written for {named}, which did not sign it")))
    }
}

/// Magic bytes, then version 13 and layer 1, as the component model's binary format has them.
const COMPONENT_PREAMBLE: &[u8] = b"\0asm\x0d\x00\x01\x00";
/// Magic bytes, then version 1 and layer 0: a core module.
const MODULE_PREAMBLE: &[u8] = b"\0asm\x01\x00\x00\x00";

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
