//! How does a signature travel? A Sigstore bundle v0.3 with a DSSE envelope: bytes in, a payload and one signature out.
//!
//! The shape is the one that cosign 3 writes and `@sigstore/verify` reads for a signature by a plain key. Of everything
//! that the format allows, this reads one form: one signature, by the key that the hint names, no certificate, no log
//! entry. A field that would have to be checked and is not must not be there.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Fingerprint, SigningKey, Statement, VerifyError};

/// Bytes of a bundle file. A registry could otherwise serve one without an end; an honest one has a few KiB.
pub const BUNDLE_BYTES_MAX: usize = 256 * 1024;

/// The payload type of an in-toto statement, and the only one that is verified.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// A bundle of the one accepted shape. Nothing about it is verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    payload_type: String,
    payload: Vec<u8>,
    signature: [u8; 64],
    key: Fingerprint,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    media_type: String,
    verification_material: Material,
    dsse_envelope: Envelope,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Material {
    public_key: PublicKeyHint,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tlog_entries: Vec<Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicKeyHint {
    hint: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<Signature>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signature {
    sig: String,
    keyid: String,
}

impl Bundle {
    /// Signs a statement.
    pub fn sign(statement: &Statement, key: &SigningKey) -> Self {
        let payload = statement.to_bytes();
        let signature = key.sign(&pae(PAYLOAD_TYPE, &payload));
        Self { payload_type: PAYLOAD_TYPE.to_owned(), payload, signature, key: key.public().fingerprint() }
    }

    /// Reads a bundle file.
    ///
    /// # Errors
    /// [`VerifyError::TooLarge`], [`VerifyError::Unsigned`] for an empty file or list, else [`VerifyError::BadBundle`].
    pub fn parse(bytes: &[u8]) -> Result<Self, VerifyError> {
        if bytes.len() > BUNDLE_BYTES_MAX {
            return Err(VerifyError::TooLarge { what: "bundle", bytes: bytes.len(), bytes_max: BUNDLE_BYTES_MAX });
        }
        if bytes.is_empty() {
            return Err(VerifyError::Unsigned);
        }
        let written: Written = serde_json::from_slice(bytes).map_err(|e| bad(e.to_string()))?;
        let Written { media_type, verification_material: material, dsse_envelope: envelope } = written;
        if media_type != MEDIA_TYPE {
            return Err(bad(format!("mediaType is {media_type:?} instead of {MEDIA_TYPE:?}")));
        }
        if !material.tlog_entries.is_empty() {
            return Err(bad("it has transparency log entries, which this version does not check".to_owned()));
        }
        let Signature { sig, keyid } = one_signature(envelope.signatures)?;
        if keyid != material.public_key.hint {
            return Err(bad("keyid and hint name two keys".to_owned()));
        }
        let key = Fingerprint::parse(&keyid).map_err(|e| bad(e.to_string()))?;
        let payload = STANDARD.decode(envelope.payload).map_err(|e| bad(format!("the payload: {e}")))?;
        let signature = STANDARD.decode(sig).map_err(|e| bad(format!("the signature: {e}")))?;
        let signature = <[u8; 64]>::try_from(signature)
            .map_err(|bytes| bad(format!("the signature has {} bytes instead of 64", bytes.len())))?;
        Ok(Self { payload_type: envelope.payload_type, payload, signature, key })
    }

    /// The bytes of the file: one line without white space, so that every byte means something.
    ///
    /// # Panics
    /// Never: every field has a JSON form.
    pub fn to_bytes(&self) -> Vec<u8> {
        let key = self.key.to_string();
        let written = Written {
            media_type: MEDIA_TYPE.to_owned(),
            verification_material: Material { public_key: PublicKeyHint { hint: key.clone() }, tlog_entries: vec![] },
            dsse_envelope: Envelope {
                payload: STANDARD.encode(&self.payload),
                payload_type: self.payload_type.clone(),
                signatures: vec![Signature { sig: STANDARD.encode(self.signature), keyid: key }],
            },
        };
        serde_json::to_vec(&written).expect("every field of a bundle has a JSON form")
    }

    /// What the payload claims to be.
    pub fn payload_type(&self) -> &str {
        &self.payload_type
    }

    /// The bytes that were signed, without their framing.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The bytes that the signature is over.
    pub fn signed_bytes(&self) -> Vec<u8> {
        pae(&self.payload_type, &self.payload)
    }

    /// The signature.
    pub fn signature(&self) -> &[u8; 64] {
        &self.signature
    }

    /// The key that the bundle names.
    pub fn key(&self) -> Fingerprint {
        self.key
    }
}

/// DSSE's pre-authentication encoding. The lengths keep a byte from moving between type and payload.
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut out = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    out.extend_from_slice(payload);
    out
}

// With two signatures, one good and one bad, readers disagree on whether the bundle is signed.
fn one_signature(signatures: Vec<Signature>) -> Result<Signature, VerifyError> {
    match <[Signature; 1]>::try_from(signatures) {
        Ok([only]) => Ok(only),
        Err(none) if none.is_empty() => Err(VerifyError::Unsigned),
        Err(many) => Err(bad(format!("it has {} signatures, and exactly one is accepted", many.len()))),
    }
}

fn bad(message: String) -> VerifyError {
    VerifyError::BadBundle(message)
}

/// The bundle version that is read and written.
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_framing_is_that_of_the_dsse_protocol() {
        // The example of secure-systems-lab/dsse, protocol.md.
        assert_eq!(
            pae("http://example.com/HelloWorld", b"hello world"),
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
    }
}
