//! What is installed? `tools.lock`: one sealed block a tool, so that damage to one block disables one tool.
//!
//! ```text
//!   [[tool]]                        ┐
//!   name = "acme/weather"           │ what the seal covers, byte for byte
//!   …                               ┘
//!   seal = "<HMAC-SHA-256 of it>"
//!   [[tool]]                        the next block begins where the last one ended
//! ```
//!
//! The file is TOML, but it is not read as TOML: one wrong byte would then cost every tool. Reading goes from block to
//! block. Where a seal does not fit, it goes on at the next `[[tool]]`, which a block of ours has only at its
//! beginning, and the bytes between are kept as damaged. Only text under a good seal is parsed.

use std::collections::BTreeMap;

use chitin_types::{Digest, Effects, FunctionName, ToolName};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::{Fingerprint, Version};

/// One installed tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockEntry {
    /// Publisher and name.
    pub name: ToolName,
    /// The installed version.
    pub version: Version,
    /// Where it came from, for people: a file name or an address.
    pub source: String,
    /// Digest of the component's bytes; also its place in the store.
    pub component: Digest,
    /// Digest of the bundle's bytes.
    pub bundle: Digest,
    /// Digest of what the component said about itself when it was installed.
    pub describe: Digest,
    /// The key that signed it.
    pub signer: Fingerprint,
    /// The WIT worlds that it was built for.
    pub worlds: Vec<String>,
    /// The interfaces that it imports.
    pub imports: Vec<String>,
    /// What it offers, so that a list of tools loads no component.
    pub functions: Vec<PinnedFunction>,
}

/// One function, as the component described it when it was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedFunction {
    /// Its name in the pack.
    pub name: FunctionName,
    /// A short display name.
    pub title: String,
    /// What the model reads.
    pub summary: String,
    /// JSON Schema of the arguments, as JSON text.
    pub input_schema: String,
    /// What it claims to do.
    #[serde(default)]
    pub effects: Effects,
}

/// A piece of the file under no good seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged {
    /// The tool that it seems to be about. A guess: the bytes are not trusted.
    pub name_guess: Option<ToolName>,
    /// What is wrong.
    pub reason: String,
    /// The bytes, which are kept until the tool is installed again or removed.
    pub bytes: Vec<u8>,
}

/// Everything that the file holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockFile {
    /// The tools under a good seal, sorted by name; no name occurs twice.
    pub entries: Vec<LockEntry>,
    /// The rest.
    pub damaged: Vec<Damaged>,
}

impl LockFile {
    /// Reads the file. Every block is judged alone: this cannot fail, it can only find less.
    pub fn parse(bytes: &[u8], key: &[u8; 32]) -> Self {
        let mut file = Self::default();
        let mut sealed: BTreeMap<ToolName, Vec<(LockEntry, &[u8])>> = BTreeMap::new();
        let (mut at, mut attempts) = (0, 0);
        while at < bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            attempts += 1;
            if attempts > BLOCKS_MAX {
                file.add_damaged(rest, format!("the file has more than {BLOCKS_MAX} blocks"));
                break;
            }
            let length = match read_block(rest, key) {
                Ok((entry, block)) => {
                    sealed.entry(entry.name.clone()).or_default().push((entry, block));
                    block.len()
                }
                Err(reason) => {
                    let length = 1 + find(rest.get(1..).unwrap_or_default(), HEADER).unwrap_or(rest.len() - 1);
                    file.add_damaged(rest.get(..length).unwrap_or_default(), reason.to_owned());
                    length
                }
            };
            at += length;
        }
        for (name, blocks) in sealed {
            file.add_sealed(&name, blocks);
        }
        file
    }

    /// The bytes of the file: the entries by name, each under its seal, then what was damaged, as it was.
    pub fn to_bytes(&self, key: &[u8; 32]) -> Vec<u8> {
        let mut sorted: Vec<&LockEntry> = self.entries.iter().collect();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        let mut out = Vec::new();
        for entry in sorted {
            let body = entry.body();
            let seal = hex::encode(mac(key, body.as_bytes()).finalize().into_bytes());
            out.extend_from_slice(body.as_bytes());
            out.extend_from_slice(format!("seal = \"{seal}\"\n").as_bytes());
        }
        for damaged in &self.damaged {
            out.extend_from_slice(&damaged.bytes);
        }
        out
    }

    /// The entry of this tool.
    pub fn find(&self, name: &ToolName) -> Option<&LockEntry> {
        self.entries.iter().find(|entry| entry.name == *name)
    }

    /// Puts this entry in the place of what was there under its name, damaged blocks included.
    pub fn put(&mut self, entry: LockEntry) {
        self.take(&entry.name);
        self.entries.push(entry);
        self.entries.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// Takes out everything under this name and tells whether there was something. When no entry has the name, a
    /// damaged block without a readable name goes too: it is the only place where the tool can be.
    pub fn take(&mut self, name: &ToolName) -> bool {
        let known = self.find(name).is_some();
        let before = self.entries.len() + self.damaged.len();
        self.entries.retain(|entry| entry.name != *name);
        self.damaged.retain(|damaged| match &damaged.name_guess {
            Some(guess) => guess != name,
            None => known,
        });
        before > self.entries.len() + self.damaged.len()
    }

    fn add_sealed(&mut self, name: &ToolName, blocks: Vec<(LockEntry, &[u8])>) {
        // Two versions of one tool: which one runs would depend on the order in the file.
        if blocks.len() > 1 {
            for (_, block) in blocks {
                let reason = "the name stands in two blocks".to_owned();
                self.damaged.push(Damaged { name_guess: Some(name.clone()), reason, bytes: block.to_vec() });
            }
        } else {
            self.entries.extend(blocks.into_iter().map(|(entry, _)| entry));
        }
    }

    fn add_damaged(&mut self, bytes: &[u8], reason: String) {
        if !bytes.iter().all(u8::is_ascii_whitespace) {
            self.damaged.push(Damaged { name_guess: guess_name(bytes), reason, bytes: bytes.to_vec() });
        }
    }
}

impl LockEntry {
    /// Whether its block is short enough to be found again. Whoever installs a tool asks before writing.
    pub fn fits(&self) -> bool {
        // The seal line's leading newline is the body's last.
        self.body().len() + SEAL_START.len() - 1 + SEAL_DIGITS + SEAL_END.len() <= BLOCK_BYTES_MAX
    }

    // The text that the seal covers. Every value is one line, so that no text of a tool can end a block or begin one.
    fn body(&self) -> String {
        let mut out = format!(
            "[[tool]]\nname = {}\nversion = {}\nsource = {}\ncomponent = {}\nbundle = {}\ndescribe = {}\nsigner = {}\n",
            quoted(self.name.as_str()),
            quoted(&self.version.to_string()),
            quoted(&self.source),
            quoted(&self.component.to_string()),
            quoted(&self.bundle.to_string()),
            quoted(&self.describe.to_string()),
            quoted(&self.signer.to_string()),
        );
        out.push_str(&format!("worlds = [{}]\n", listed(&self.worlds)));
        out.push_str(&format!("imports = [{}]\n", listed(&self.imports)));
        out.push_str("functions = [\n");
        for function in &self.functions {
            out.push_str(&format!("  {},\n", function.inline_table()));
        }
        out.push_str("]\n");
        out
    }
}

impl PinnedFunction {
    fn inline_table(&self) -> String {
        let Effects { reads, writes, destroys, open_world, idempotent, repeatable, pays } = self.effects;
        let claims: Vec<String> = [
            ("reads", reads),
            ("writes", writes),
            ("destroys", destroys),
            ("open_world", open_world),
            ("idempotent", idempotent),
            ("repeatable", repeatable),
            ("pays", pays),
        ]
        .into_iter()
        .filter(|(_, claimed)| *claimed)
        .map(|(name, _)| format!("{name} = true"))
        .collect();
        format!(
            "{{ name = {}, title = {}, summary = {}, input_schema = {}, effects = {{ {} }} }}",
            quoted(self.name.as_str()),
            quoted(&self.title),
            quoted(&self.summary),
            quoted(&self.input_schema),
            claims.join(", ")
        )
    }
}

// One block at the very beginning of `bytes`: its entry, and all of its bytes.
fn read_block<'a>(bytes: &'a [u8], key: &[u8; 32]) -> Result<(LockEntry, &'a [u8]), &'static str> {
    let (body, seal, length) = split_at_seal(bytes).ok_or("no seal follows")?;
    mac(key, body).verify_slice(&seal).map_err(|_| "the seal does not fit the text")?;
    let block = bytes.get(..length).ok_or("the seal is cut off")?;
    // From here on, the text is our own; what does not parse was written by another version.
    let text = std::str::from_utf8(body).map_err(|_| "the text is not UTF-8")?;
    let blocks: Blocks = toml::from_str(text).map_err(|_| "another version wrote the block")?;
    let [entry] = <[LockEntry; 1]>::try_from(blocks.tool).map_err(|_| "the block holds more than one tool")?;
    Ok((entry, block))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Blocks {
    tool: Vec<LockEntry>,
}

// The text before the first well-formed seal line, the seal, and where the line ends.
fn split_at_seal(bytes: &[u8]) -> Option<(&[u8], [u8; 32], usize)> {
    let bytes = bytes.get(..BLOCK_BYTES_MAX).unwrap_or(bytes);
    let mut from = 0;
    loop {
        let newline = from + find(bytes.get(from..)?, SEAL_START)?;
        let digits_at = newline + SEAL_START.len();
        let (digits, tail) = bytes.get(digits_at..)?.split_at_checked(SEAL_DIGITS)?;
        let plain = digits.iter().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b));
        let mut seal = [0; 32];
        if plain && tail.starts_with(SEAL_END) && hex::decode_to_slice(digits, &mut seal).is_ok() {
            return Some((bytes.get(..=newline)?, seal, digits_at + SEAL_DIGITS + SEAL_END.len()));
        }
        from = newline + 1;
    }
}

fn mac(key: &[u8; 32], body: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(SEAL_DOMAIN);
    mac.update(body);
    mac
}

fn guess_name(bytes: &[u8]) -> Option<ToolName> {
    const LINE: &[u8] = b"\nname = \"";
    let name = bytes.get(find(bytes, LINE)? + LINE.len()..)?;
    let name = name.get(..name.iter().position(|b| *b == b'"')?)?;
    ToolName::parse(std::str::from_utf8(name).ok()?).ok()
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = wanted.first()?;
    let mut from = 0;
    loop {
        let rest = bytes.get(from..)?;
        let at = rest.iter().position(|b| b == first)?;
        if rest.get(at..)?.starts_with(wanted) {
            return Some(from + at);
        }
        from += at + 1;
    }
}

fn listed(texts: &[String]) -> String {
    texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ")
}

// A TOML basic string. A header inside of a text is written with an escape, so that it is never taken for one.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out.replace("[[tool]]", "\\u005b[tool]]")
}

/// Bytes of the whole file: what is read into memory at most.
pub const LOCK_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of one block. Bounds the search for a seal, and with it the time that a file full of headers costs.
const BLOCK_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Blocks, good and damaged: a file of nothing but headers would otherwise be searched once for each.
const BLOCKS_MAX: usize = 4096;
/// Begins every block, and occurs nowhere else in a file that this version wrote.
const HEADER: &[u8] = b"[[tool]]";
const SEAL_START: &[u8] = b"\nseal = \"";
const SEAL_DIGITS: usize = 64;
const SEAL_END: &[u8] = b"\"\n";
/// Keeps a seal from being used where the same key authenticates something else.
const SEAL_DOMAIN: &[u8] = b"chitin tools.lock v1\0";

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
