//! How is the database opened? A path goes in; a connection with our settings, a checked owner and the newest schema
//! comes out.
//!
//! ```text
//!   private file → settings → ours? → write-ahead log → backup, then migrate → clean? ─ no → quick_check
//! ```

use std::{
    cmp::Ordering,
    fs::{self, OpenOptions, Permissions},
    io,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};
use rusqlite_migration::Migrations;

use crate::{RecordsError, schema};

/// The write connection, and what its last closing says.
pub(crate) struct Opened {
    /// The connection.
    pub(crate) connection: Connection,
    /// Whether the last run ended without closing; the flag is mended at the next closing.
    pub(crate) unclean: bool,
}

/// Opens the database for writing, and makes it where there is none.
pub(crate) fn open_writer(path: &Path) -> Result<Opened, RecordsError> {
    make_private(path)?;
    let mut connection = connect(path)?;
    check_owner(&connection, path, schema::APPLICATION_ID)?;
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(RecordsError::NoLog { path: path.to_owned() });
    }
    migrate(&mut connection, path, &schema::migrations())?;
    let clean: i64 = connection.query_row("SELECT clean FROM state WHERE id = 1", [], |row| row.get(0))?;
    if clean == 0 {
        check_quickly(&connection, path)?;
    }
    Ok(Opened { connection, unclean: clean == 0 })
}

/// Opens an existing database for reading. The file is opened for writing all the same, because a reader of a
/// write-ahead log must be able to mend its index; `query_only` is what forbids changes.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, RecordsError> {
    let connection = connect(path)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Opens the file of the secrets, and makes it where there is none. It keeps no write-ahead log: a secret is set
/// seldom, by whichever process is asked, and one file is all that there is to protect.
pub(crate) fn open_secrets(path: &Path) -> Result<Connection, RecordsError> {
    make_private(path)?;
    let mut connection = connect(path)?;
    check_owner(&connection, path, schema::SECRETS_APPLICATION_ID)?;
    migrate(&mut connection, path, &schema::secret_migrations())?;
    Ok(connection)
}

// By name and without a descriptor on an existing file: closing any descriptor of it would drop the locks that another
// connection of this process holds (SQLite, "How To Corrupt", 2.2).
fn make_private(path: &Path) -> Result<(), RecordsError> {
    let wrong = |cause: io::Error| RecordsError::File { path: path.to_owned(), cause };
    match fs::metadata(path) {
        Ok(metadata) if metadata.permissions().mode() & OTHERS == 0 => Ok(()),
        Ok(_) => fs::set_permissions(path, Permissions::from_mode(OWNER_ONLY)).map_err(wrong),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // The log and its index take the mode of the database from SQLite.
            OpenOptions::new().write(true).create_new(true).mode(OWNER_ONLY).open(path).map(drop).map_err(wrong)
        }
        Err(error) => Err(wrong(error)),
    }
}

fn connect(path: &Path) -> Result<Connection, RecordsError> {
    // Without CREATE, the mode of the file is always ours; without URI, no name of a home has a second meaning.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // What is forgotten or removed is overwritten, not only taken off the books.
    let settings = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;
                    PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;";
    // The first of them reads the file, so this is where a file that is no database shows.
    connection.execute_batch(settings).map_err(|error| {
        if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
            RecordsError::Foreign { path: path.to_owned() }
        } else {
            error.into()
        }
    })?;
    Ok(connection)
}

fn check_owner(connection: &Connection, path: &Path, ours: i32) -> Result<(), RecordsError> {
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if id == ours {
        return Ok(());
    }
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if id == 0 && tables == 0 { Ok(()) } else { Err(RecordsError::Foreign { path: path.to_owned() }) }
}

fn migrate(connection: &mut Connection, path: &Path, migrations: &Migrations<'_>) -> Result<(), RecordsError> {
    let pending = migrations.pending_migrations(connection)?;
    let found: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match pending.cmp(&0) {
        Ordering::Equal => Ok(()),
        Ordering::Less => Err(RecordsError::Newer { path: path.to_owned(), found, known: found + pending }),
        Ordering::Greater => {
            if found > 0 {
                back_up(connection, &backup_path(path, found))?;
            }
            Ok(migrations.to_latest(connection)?)
        }
    }
}

fn back_up(connection: &Connection, copy: &Path) -> Result<(), RecordsError> {
    let wrong = |cause: io::Error| RecordsError::File { path: copy.to_owned(), cause };
    // One that is there is from a migration of this version that failed, and the database is still the same.
    match fs::remove_file(copy) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(wrong(error)),
    }
    make_private(copy)?;
    connection.backup(MAIN_DB, copy, None)?;
    tracing::info!(backup = %copy.display(), "copied the database before its migration");
    Ok(())
}

fn backup_path(path: &Path, version: i32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".backup-v{version}"));
    PathBuf::from(name)
}

// SQLite repairs itself from its log after a crash; this finds what a failing disk or a foreign program left behind.
fn check_quickly(connection: &Connection, path: &Path) -> Result<(), RecordsError> {
    let what: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if what == "ok" { Ok(()) } else { Err(RecordsError::Damaged { path: path.to_owned(), what }) }
}

/// How long one process waits for another's transaction. Longer than any of ours; a writer that hangs is an error.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const OWNER_ONLY: u32 = 0o600;
const OTHERS: u32 = 0o077;

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
