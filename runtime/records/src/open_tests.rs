//! Is only our own database opened, privately, and never one that is newer?

use rusqlite_migration::M;

use super::*;

fn place(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    (folder, path)
}

#[test]
fn a_fresh_database_has_our_settings_and_opens_again() {
    let (_folder, path) = place("state.db");
    for _ in 0..2 {
        let Opened { connection, unclean } = open_writer(&path).expect("opens");
        let number =
            |name: &str| -> i64 { connection.pragma_query_value(None, name, |row| row.get(0)).expect("a number") };
        let settings = [
            "synchronous",
            "foreign_keys",
            "secure_delete",
            "trusted_schema",
            "cell_size_check",
            "application_id",
            "user_version",
        ];
        assert_eq!(settings.map(number), [2, 1, 1, 0, 1, i64::from(schema::APPLICATION_ID), 2]);
        assert!(!unclean);
    }
    assert_eq!(fs::metadata(&path).expect("is there").permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_readable_file_is_made_private() {
    let (_folder, path) = place("state.db");
    drop(open_writer(&path).expect("opens"));
    fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("changes");
    drop(open_writer(&path).expect("opens"));
    assert_eq!(fs::metadata(&path).expect("is there").permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_is_not_ours_is_refused_and_left_alone() {
    let (_folder, path) = place("state.db");
    let other = Connection::open(&path).expect("opens");
    other.execute_batch("CREATE TABLE theirs (x);").expect("makes a table");
    drop(other);
    let before = fs::read(&path).expect("reads");
    assert!(matches!(open_writer(&path), Err(RecordsError::Foreign { .. })));
    assert_eq!(fs::read(&path).expect("reads"), before);
    let text = path.with_file_name("text.db");
    fs::write(&text, "this is no database at all, only some text that is long enough".repeat(20)).expect("writes");
    assert!(matches!(open_writer(&text), Err(RecordsError::Foreign { .. })));
}

#[test]
fn a_newer_schema_is_refused() {
    let (_folder, path) = place("state.db");
    let opened = open_writer(&path).expect("opens");
    opened.connection.pragma_update(None, "user_version", 7).expect("sets");
    drop(opened);
    match open_writer(&path) {
        Err(RecordsError::Newer { found, known, .. }) => assert_eq!((found, known), (7, 2)),
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("opened"),
    }
}

#[test]
fn a_migration_leaves_a_backup_of_what_was() {
    let (_folder, path) = place("state.db");
    make_private(&path).expect("makes it");
    let mut connection = connect(&path).expect("opens");
    let steps = [M::up("CREATE TABLE a (x); INSERT INTO a VALUES (1);"), M::up("DROP TABLE a; CREATE TABLE b (x);")];
    migrate(&mut connection, &path, &Migrations::from_slice(&steps[..1])).expect("migrates");
    assert!(!backup_path(&path, 0).exists());
    migrate(&mut connection, &path, &Migrations::from_slice(&steps)).expect("migrates");
    let copy = backup_path(&path, 1);
    assert_eq!(copy.file_name().and_then(|name| name.to_str()), Some("state.db.backup-v1"));
    assert_eq!(fs::metadata(&copy).expect("is there").permissions().mode() & 0o777, 0o600);
    let backup = Connection::open(&copy).expect("opens");
    let rows: i64 = backup.query_row("SELECT count(*) FROM a", [], |row| row.get(0)).expect("counts");
    assert_eq!(rows, 1);
}

#[test]
fn an_unclean_end_is_checked_at_the_next_opening() {
    let (_folder, path) = place("state.db");
    let opened = open_writer(&path).expect("opens");
    opened.connection.execute("UPDATE state SET clean = 0", []).expect("updates");
    drop(opened);
    assert!(open_writer(&path).expect("opens").unclean);
}
