//! Was the database put back to an older state? After each commit that holds audit records, the end of the chain also
//! goes into a file of its own; a chain that is shorter than its anchor has lost records.
//!
//! The anchor may lag behind the chain but never leads it: it is written after the commit, and the commit is on disk by
//! then. So it needs no flush of its own. A crash leaves the one before, which still stands in the chain, and whoever
//! verifies accepts a chain that goes on past its anchor. It starts at zero before the first record is committed, so
//! that a missing anchor is never an accident. Putting back database *and* anchor together is what only a copy of the
//! anchor on another machine could show.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use crate::{
    chain::{Keys, Mark, Seal, bytes_of},
    schema,
};

/// The file beside the database.
#[derive(Debug, Clone)]
pub(crate) struct Anchor {
    path: PathBuf,
    fresh: PathBuf,
}

/// What the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchored {
    /// There is none.
    Absent,
    /// It cannot be read, or its seal is not ours.
    Broken,
    /// At this place, by our own seal.
    At(Mark),
}

/// The file as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    seq: u64,
    hash: String,
    mac: String,
}

impl Anchor {
    /// The anchor that belongs to this database.
    pub(crate) fn beside(database: &Path) -> Self {
        // Two processes never write the same fresh file; which of them renames last does not matter, since both places
        // are in the chain.
        let fresh = database.with_file_name(format!("{NAME}.{}.new", std::process::id()));
        Self { path: database.with_file_name(NAME), fresh }
    }

    /// What the file says. Read it before the chain that it is compared with: a chain only grows.
    pub(crate) fn read(&self, keys: &Keys) -> Anchored {
        let mut bytes = Vec::new();
        match File::open(&self.path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)) {
            Ok(_) => parse(&bytes, keys).map_or(Anchored::Broken, Anchored::At),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Anchored::Absent,
            Err(_) => Anchored::Broken,
        }
    }

    /// Puts the anchor at this place, in one step.
    ///
    /// # Errors
    /// The file cannot be written; the old one stays.
    pub(crate) fn write(&self, keys: &Keys, mark: &Mark) -> io::Result<()> {
        let text =
            Text { seq: mark.seq, hash: hex::encode(mark.hash), mac: hex::encode(keys.seal(Seal::Anchor, mark)) };
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&self.fresh)?;
        file.write_all(serde_json::to_string(&text)?.as_bytes())?;
        drop(file);
        fs::rename(&self.fresh, &self.path)
    }

    /// Whether the anchor may be moved along this chain: it stands in it. An anchor that does not is evidence, and is
    /// left as it is.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) fn stands_in(&self, connection: &Connection, keys: &Keys, last: &Mark) -> Result<bool, rusqlite::Error> {
        Ok(match self.read(keys) {
            Anchored::Absent => {
                let begins = *last == Mark::GENESIS;
                if begins && let Err(error) = self.write(keys, last) {
                    tracing::warn!(%error, "the anchor of the audit log cannot be written");
                }
                begins
            }
            Anchored::Broken => false,
            Anchored::At(Mark { seq: 0, .. }) => true,
            Anchored::At(mark) => hash_at(connection, mark.seq)? == Some(mark.hash),
        })
    }
}

fn parse(bytes: &[u8], keys: &Keys) -> Option<Mark> {
    let text: Text = serde_json::from_slice(bytes).ok()?;
    let mut hash = [0; 32];
    hex::decode_to_slice(&text.hash, &mut hash).ok()?;
    let mark = Mark { seq: text.seq, hash };
    let mac = hex::decode(&text.mac).ok()?;
    keys.seals(Seal::Anchor, &mark, &mac).then_some(mark)
}

fn hash_at(connection: &Connection, seq: u64) -> Result<Option<[u8; 32]>, rusqlite::Error> {
    let sql = "SELECT hash FROM audit WHERE seq = ?1";
    connection.query_row(sql, [schema::to_sql(seq)], |row| bytes_of(row, 0)).optional()
}

const NAME: &str = "audit.anchor";
/// Ours has some 170 bytes; a planted one must not fill the memory.
const FILE_BYTES_MAX: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_is_read_back_only_as_it_was_written_with_our_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let anchor = Anchor::beside(&folder.path().join("state.db"));
        let keys = Keys::derive(&[1; 32]);
        assert_eq!(anchor.read(&keys), Anchored::Absent);
        let mark = Mark { seq: 7, hash: [9; 32] };
        anchor.write(&keys, &mark).expect("writes");
        assert_eq!(anchor.read(&keys), Anchored::At(mark));
        assert_eq!(anchor.read(&Keys::derive(&[2; 32])), Anchored::Broken);
        let path = folder.path().join("audit.anchor");
        let text = fs::read_to_string(&path).expect("reads");
        fs::write(&path, text.replace(":7,", ":6,")).expect("writes");
        assert_eq!(anchor.read(&keys), Anchored::Broken);
        fs::write(&path, "").expect("writes");
        assert_eq!(anchor.read(&keys), Anchored::Broken);
        assert_eq!(fs::read_dir(folder.path()).expect("lists").count(), 1);
    }
}
