//! How are bytes named by their content? Bytes go in, `sha256:<64 hex>` comes out, and back.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::NameError;

/// A SHA-256 digest, written `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A digest that was computed elsewhere (a MAC, a chain link).
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// 64 lower-case hexadecimal digits, without the prefix.
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }

    /// Reads `sha256:<64 lower-case hex>`; upper case is refused so that one digest has one spelling.
    ///
    /// # Errors
    /// The prefix, the length or a digit is wrong.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let wrong =
            || NameError { what: "digest", given: text.to_owned(), expected: "sha256: and 64 lower-case hex digits" };
        let digits = text.strip_prefix("sha256:").ok_or_else(wrong)?;
        if digits.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| wrong())?;
        Ok(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<String> for Digest {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_digest_has_one_spelling() {
        let digest = Digest::of(b"abc");
        let text = digest.to_string();
        assert_eq!(text, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(Digest::parse(&text), Ok(digest));
        assert!(Digest::parse(&text.to_uppercase()).is_err());
        assert!(Digest::parse(&text[7..]).is_err());
        assert!(Digest::parse(&text[..70]).is_err());
    }
}
