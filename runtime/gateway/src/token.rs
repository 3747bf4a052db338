//! Is this the owner's token? A token goes in, and the file that holds the hash of the right one decides.
//!
//! The file is read at every question. A daemon that remembered it would go on accepting a token that was revoked.

use std::{fs::File, io::Read as _, path::PathBuf};

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The file with the SHA-256 of the token: 64 lower-case hex digits on one line. No file, or any other content, admits
/// nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenFile {
    /// Its place.
    pub path: PathBuf,
}

/// What is kept of a token that was presented: enough to ask again whether it still counts, too little to use it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenDigest([u8; 32]);

impl TokenFile {
    /// What the file holds for this token.
    pub fn hash(token: &str) -> String {
        hex::encode(TokenDigest::of(token).0)
    }

    /// Whether the file holds this token's hash now.
    pub(crate) fn admits(&self, digest: &TokenDigest) -> bool {
        self.wanted().is_some_and(|wanted| bool::from(wanted.as_slice().ct_eq(digest.0.as_slice())))
    }

    fn wanted(&self) -> Option<[u8; 32]> {
        let mut text = String::new();
        // So small that reading it blocks nobody.
        File::open(&self.path).ok()?.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        if line.bytes().any(|b| b.is_ascii_uppercase()) {
            return None;
        }
        let mut wanted = [0; 32];
        hex::decode_to_slice(line, &mut wanted).ok()?;
        Some(wanted)
    }
}

impl TokenDigest {
    /// The digest of a token as it was presented.
    pub(crate) fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }
}

/// More than 64 digits and a line end, so that a longer file is seen to be longer; a file that grew is not read whole.
const FILE_BYTES_MAX: u64 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_with_exactly_the_hash_admits() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = TokenFile { path: dir.path().join("token") };
        let hash = TokenFile::hash("chitin-secret");
        let check = |content: &str, expected: bool| {
            std::fs::write(&file.path, content).expect("written");
            assert_eq!(file.admits(&TokenDigest::of("chitin-secret")), expected, "{content:?}");
        };
        check(&hash, true);
        check(&format!("{hash}\n"), true);
        check("", false);
        check("\n", false);
        check("chitin-secret", false);
        check(&hash.to_uppercase(), false);
        check(&hash[..62], false);
        check(&format!("{hash}\n{hash}\n"), false);
        check(&format!(" {hash}"), false);
        check(&TokenFile::hash("another"), false);
        check(&TokenFile::hash(""), false);
        std::fs::remove_file(&file.path).expect("removed");
        assert!(!file.admits(&TokenDigest::of("chitin-secret")), "no file");
    }

    #[test]
    fn the_hash_is_plain_sha_256() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(TokenFile::hash("abc"), expected);
    }
}
