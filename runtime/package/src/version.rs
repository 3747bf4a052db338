//! Which of two versions is the newer one? Text goes in, an ordered value with one spelling comes out.

use std::{cmp::Ordering, fmt};

use chitin_types::NameError;
use serde::{Deserialize, Serialize};

/// `major.minor.patch`, with an optional `-pre.release`; ordered as Semantic Versioning 2.0 orders them. Build metadata
/// is refused: two versions that compare equal must have the same text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    numbers: [u64; 3],
    pre: Vec<Part>,
}

// Numbers come before words, which the order of the variants gives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    Number(u64),
    Word(String),
}

impl Version {
    /// Reads a version.
    ///
    /// # Errors
    /// It is not three plain numbers, with or without a pre-release.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        read(text).ok_or_else(|| NameError {
            what: "version",
            given: text.to_owned(),
            expected: "x.y.z or x.y.z-pre, without leading zeros",
        })
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let release_last = self.pre.is_empty().cmp(&other.pre.is_empty());
        self.numbers.cmp(&other.numbers).then(release_last).then_with(|| self.pre.cmp(&other.pre))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        for (index, part) in self.pre.iter().enumerate() {
            f.write_str(if index == 0 { "-" } else { "." })?;
            match part {
                Part::Number(number) => write!(f, "{number}")?,
                Part::Word(word) => f.write_str(word)?,
            }
        }
        Ok(())
    }
}

impl std::str::FromStr for Version {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Version {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(&text)
    }
}

impl From<Version> for String {
    fn from(version: Version) -> String {
        version.to_string()
    }
}

fn read(text: &str) -> Option<Version> {
    if text.len() > VERSION_BYTES_MAX {
        return None;
    }
    let (core, pre) = match text.split_once('-') {
        Some((core, pre)) => (core, pre.split('.').map(read_part).collect::<Option<Vec<_>>>()?),
        None => (text, vec![]),
    };
    let numbers = core.split('.').map(read_number).collect::<Option<Vec<_>>>()?;
    Some(Version { numbers: <[u64; 3]>::try_from(numbers).ok()?, pre })
}

fn read_number(text: &str) -> Option<u64> {
    let plain = text == "0" || (!text.starts_with('0') && !text.is_empty());
    if plain && text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn read_part(text: &str) -> Option<Part> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        None
    } else if text.bytes().all(|b| b.is_ascii_digit()) {
        read_number(text).map(Part::Number)
    } else {
        Some(Part::Word(text.to_owned()))
    }
}

/// Longer texts are no versions that a person wrote; the limit keeps messages and file lines short.
const VERSION_BYTES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_order_as_semver_orders_them() {
        let ascending = [
            "0.0.1",
            "0.9.0",
            "0.10.0",
            "1.0.0-1",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "2.0.0",
        ];
        let versions: Vec<Version> = ascending.iter().map(|text| Version::parse(text).expect(text)).collect();
        for (i, left) in versions.iter().enumerate() {
            assert_eq!(left.to_string(), ascending[i]);
            for (j, right) in versions.iter().enumerate() {
                assert_eq!(left.cmp(right), i.cmp(&j), "{left} {right}");
            }
        }
    }

    #[test]
    fn a_version_has_one_spelling() {
        let long = format!("1.0.0-{}", "a".repeat(60));
        for text in [
            "",
            "1",
            "1.0",
            "1.0.0.0",
            "01.0.0",
            "1.0.0-",
            "1.0.0-a..b",
            "1.0.0-01",
            "1.0.0+build",
            "v1.0.0",
            "1.0.x",
            "-1.0.0",
            "1.0. 0",
            "99999999999999999999.0.0",
            &long,
        ] {
            assert!(Version::parse(text).is_err(), "{text:?}");
        }
    }
}
