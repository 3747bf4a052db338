//! Who signed? Ed25519 keys as PEM text, and the fingerprint by which a person and a file name one of them.

use std::fmt;

use chitin_types::{Digest, NameError, Secret};
use ed25519_dalek::{
    Signature, Signer as _, VerifyingKey,
    pkcs8::{
        DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _, KeypairBytes,
        spki::der::pem::LineEnding,
    },
};
use serde::{Deserialize, Serialize};

use crate::KeyError;

/// `sha256:` and the digest of a public key's DER form (SubjectPublicKeyInfo), as `openssl pkey -pubin -outform der`
/// writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(Digest);

/// A key that checks signatures.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// A key that makes signatures. It is wiped from memory when dropped.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl Fingerprint {
    /// Reads `sha256:<64 lower-case hex>`.
    ///
    /// # Errors
    /// The text is no digest.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        Digest::parse(text).map(Self)
    }

    /// `sha256:` and the first 16 digits, for a line that also shows the name. Never compare by it.
    pub fn short(&self) -> String {
        self.to_string().chars().take("sha256:".len() + 16).collect()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl PublicKey {
    /// Reads a `PUBLIC KEY` block.
    ///
    /// # Errors
    /// The text is no such block, the key is not Ed25519, or it is a point of small order, for which one signature
    /// would fit many messages.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let wrong = KeyError { expected: "Ed25519 public key (a PEM block that begins with BEGIN PUBLIC KEY)" };
        let key = VerifyingKey::from_public_key_pem(&one_block(text)).map_err(|_| wrong)?;
        if key.is_weak() { Err(wrong) } else { Ok(Self(key)) }
    }

    /// The `PUBLIC KEY` block, with a newline at the end.
    ///
    /// # Panics
    /// Never: 32 bytes always have a PEM form.
    pub fn to_pem(&self) -> String {
        self.0.to_public_key_pem(LineEnding::LF).expect("32 bytes have a PEM form")
    }

    /// The name of this key.
    ///
    /// # Panics
    /// Never: 32 bytes always have a DER form.
    pub fn fingerprint(&self) -> Fingerprint {
        let der = self.0.to_public_key_der().expect("32 bytes have a DER form");
        Fingerprint(Digest::of(der.as_bytes()))
    }

    /// Whether `signature` is by this key over `message`. Strict: of the forms that some libraries accept, only the one
    /// that signing gives is (no malleable scalar, no point of small order).
    pub fn signed(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.fingerprint())
    }
}

impl SigningKey {
    /// The key of this seed. The caller brings 32 bytes from the operating system's generator.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// Reads a `PRIVATE KEY` block (PKCS#8, not encrypted).
    ///
    /// # Errors
    /// The text is no such block, or the key is not Ed25519.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let wrong = KeyError { expected: "Ed25519 private key (a PEM block that begins with BEGIN PRIVATE KEY)" };
        ed25519_dalek::SigningKey::from_pkcs8_pem(&one_block(text)).map(Self).map_err(|_| wrong)
    }

    /// The `PRIVATE KEY` block, in version 1 of the format: the form that `openssl genpkey` writes and every tool
    /// reads.
    ///
    /// # Panics
    /// Never: 32 bytes always have a PEM form.
    pub fn to_pem(&self) -> Secret {
        let pair = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        let pem = pair.to_pkcs8_pem(LineEnding::LF).expect("32 bytes have a PEM form");
        Secret::new(pem.as_str())
    }

    /// The half that may be shown.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs. The same message gives the same signature.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public().fingerprint())
    }
}

// The decoder wants the block and nothing else; an editor or a TOML string adds blank lines around it.
fn one_block(text: &str) -> String {
    format!("{}\n", text.trim())
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::STANDARD};

    use super::*;

    // RFC 8410, section 10.
    const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
        -----END PRIVATE KEY-----\n";
    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\n\
        MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
        -----END PUBLIC KEY-----\n";

    #[test]
    fn keys_read_and_write_the_text_that_other_tools_use() {
        let signing = SigningKey::from_pem(PRIVATE).expect("the key of the RFC");
        assert_eq!(signing.to_pem().expose(), PRIVATE);
        assert_eq!(signing.public().to_pem(), PUBLIC);
        assert_eq!(PublicKey::from_pem(&format!("\n\n{PUBLIC}\n")), Ok(signing.public()));
        let der = STANDARD.decode("MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=").expect("base64");
        assert_eq!(signing.public().fingerprint(), Fingerprint(Digest::of(&der)));
        assert_eq!(Fingerprint::parse(&signing.public().fingerprint().to_string()), Ok(signing.public().fingerprint()));
    }

    #[test]
    fn no_printed_form_holds_the_private_half() {
        let signing = SigningKey::from_seed(&[7; 32]);
        for text in [format!("{signing:?}"), format!("{:?}", signing.to_pem()), format!("{:?}", signing.public())] {
            assert!(!text.contains(&hex::encode([7u8; 32])), "{text}");
            assert!(!text.contains(&STANDARD.encode([7u8; 32])), "{text}");
            assert!(!text.contains("[7, 7"), "{text}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        // The identity point: every signature with a small-order R would fit it.
        let mut identity = vec![0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00, 1u8];
        identity.resize(12 + 32, 0);
        let weak = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(&identity));
        let x25519 = PUBLIC.replace("MCowBQYDK2Vw", "MCowBQYDK2Vu");
        for text in ["", "hello", PRIVATE, &weak, &x25519, &PUBLIC.replace("PUBLIC", "CERTIFICATE")] {
            assert!(PublicKey::from_pem(text).is_err(), "{text}");
        }
        for text in ["", PUBLIC, &PRIVATE.replace("MC4CAQAw", "MC4CAQIw")] {
            assert!(SigningKey::from_pem(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_signature_fits_one_key_and_one_message() {
        let (one, other) = (SigningKey::from_seed(&[1; 32]), SigningKey::from_seed(&[2; 32]));
        let signature = one.sign(b"message");
        assert!(one.public().signed(b"message", &signature));
        assert!(!one.public().signed(b"massage", &signature));
        assert!(!other.public().signed(b"message", &signature));
        // Adding the group order to the scalar gives a second signature under rules that are not strict.
        let order = hex::decode("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010").expect("hex");
        let mut malleable = signature;
        let mut carry = 0;
        for (byte, add) in malleable[32..].iter_mut().zip(order) {
            let sum = u16::from(*byte) + u16::from(add) + carry;
            *byte = sum.to_le_bytes()[0];
            carry = sum >> 8;
        }
        assert!(!one.public().signed(b"message", &malleable));
    }
}
