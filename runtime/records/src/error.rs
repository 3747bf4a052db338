//! What can be wrong with the records? One variant for each thing that a caller does differently.

use std::{io, path::PathBuf};

use chitin_ports::PortError;
use chitin_types::{NameError, SessionId};

/// The records cannot be used. Each text fits after "failed to ".
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// The file cannot be made, read or protected.
    #[error("use the file {}: {cause}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The file is something else.
    #[error("open {}: it is not a chitin database; move it away or choose another home", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer chitin wrote it. Going on would lose what this version does not know.
    #[error(
        "open {}: its schema is version {found} and this chitin knows {known}; use the newer chitin, or put back a \
         backup that lies beside it",
        .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: i32,
        /// The newest version that this program knows.
        known: i32,
    },
    /// The file system cannot keep a write-ahead log.
    #[error("open {}: this file system does not support the write-ahead log; use a local disk", .path.display())]
    NoLog {
        /// The file.
        path: PathBuf,
    },
    /// The last run ended without closing, and the check after it found damage.
    #[error("open {}: the database is damaged ({what}); put back a backup", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first finding of the check.
        what: String,
    },
    /// The schema could not be brought up to date; nothing was changed.
    #[error("bring the database up to date: {0}")]
    Migration(rusqlite_migration::Error),
    /// SQLite failed.
    #[error("use the database: {0}")]
    Database(rusqlite::Error),
    /// A row holds what this program never writes.
    #[error("read the records: {0}")]
    Unreadable(String),
    /// There is no such dialogue.
    #[error("find the session {0}")]
    NoSession(SessionId),
    /// The system gives no randomness.
    #[error("get random bytes: {0}")]
    Random(String),
    /// A secret cannot be decrypted.
    #[error("decrypt the secret {name}: its row was altered, or it was set with another home key; set it again")]
    Locked {
        /// The name of the secret.
        name: String,
    },
    /// What is not taken as a secret; the text never holds a part of it.
    #[error("use a secret: {0}")]
    NoSecret(String),
    /// The records are closed, or their writer broke.
    #[error("use the records: the writer has stopped")]
    Stopped,
}

impl From<rusqlite::Error> for RecordsError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<rusqlite_migration::Error> for RecordsError {
    fn from(error: rusqlite_migration::Error) -> Self {
        Self::Migration(error)
    }
}

impl From<NameError> for RecordsError {
    fn from(error: NameError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

impl From<serde_json::Error> for RecordsError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

impl From<RecordsError> for PortError {
    fn from(error: RecordsError) -> Self {
        Self(error.to_string())
    }
}
