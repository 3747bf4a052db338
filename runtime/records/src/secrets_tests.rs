//! Does a secret come back only under its own name and key, and is its text nowhere else?

use std::{fs, os::unix::fs::PermissionsExt};

use super::*;
use crate::fixture::Home;

const TEXT: &str = "hunter2-correct-horse-battery";

fn open(home: &Home) -> SecretStore {
    SecretStore::open(&home.file("secrets.db"), [7; 32]).expect("opens")
}

fn raw(home: &Home, sql: &str) {
    let connection = Connection::open(home.file("secrets.db")).expect("opens");
    connection.execute_batch(sql).expect("runs");
}

async fn set(store: &SecretStore, name: &str, text: &str) {
    store.set(name, &Secret::new(text)).await.expect("sets");
}

async fn revealed(store: &SecretStore, name: &str) -> Result<Option<String>, String> {
    let secret = store.reveal(name).await.map_err(|error| error.to_string())?;
    Ok(secret.map(|secret| secret.expose().to_owned()))
}

#[tokio::test]
async fn a_secret_comes_back_after_reopening() {
    let home = Home::new();
    let store = open(&home);
    assert_eq!(revealed(&store, "github").await, Ok(None));
    set(&store, "github", "old").await;
    set(&store, "github", TEXT).await;
    set(&store, "empty", "").await;
    set(&store, "a-2", "é\0\n").await;
    drop(store);
    let store = open(&home);
    assert_eq!(revealed(&store, "github").await, Ok(Some(TEXT.to_owned())));
    assert_eq!(revealed(&store, "empty").await, Ok(Some(String::new())));
    assert_eq!(revealed(&store, "a-2").await, Ok(Some("é\0\n".to_owned())));
    let names = store.names().await.expect("lists");
    assert_eq!(names.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a-2", "empty", "github"]);
    assert!(names.iter().all(|(_, set_ms)| *set_ms > 1_600_000_000_000));
    assert_eq!(store.remove("github").await, Ok(true));
    assert_eq!(store.remove("github").await, Ok(false));
    assert_eq!(revealed(&store, "github").await, Ok(None));
}

#[tokio::test]
async fn its_text_is_in_no_file_and_in_no_message() {
    let home = Home::new();
    let store = open(&home);
    set(&store, "github", TEXT).await;
    set(&store, "github-again", TEXT).await;
    let debug = format!("{store:?}");
    assert!(!debug.contains("7, 7") && !debug.contains(TEXT), "{debug}");
    for trace in [TEXT, "hunter2", &hex::encode(TEXT), &TEXT.chars().rev().collect::<String>()] {
        assert_eq!(home.count(trace.as_bytes()), 0, "{trace}");
    }
    assert!(home.count(b"github-again") > 0, "nothing was swept");
    let sealed: i64 = Connection::open(home.file("secrets.db"))
        .expect("opens")
        .query_row("SELECT count(DISTINCT sealed) + count(DISTINCT nonce) FROM secrets", [], |row| row.get(0))
        .expect("counts");
    assert_eq!(sealed, 4);
    let mode = fs::metadata(home.file("secrets.db")).expect("is there").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

#[tokio::test]
async fn what_was_replaced_or_removed_leaves_no_ciphertext() {
    let home = Home::new();
    let store = open(&home);
    let sealed = || -> Vec<u8> {
        Connection::open(home.file("secrets.db"))
            .expect("opens")
            .query_row("SELECT sealed FROM secrets WHERE name = 'github'", [], |row| row.get(0))
            .expect("reads")
    };
    set(&store, "github", TEXT).await;
    let first = sealed();
    assert!(home.count(&first) > 0, "nothing was swept");
    set(&store, "github", TEXT).await;
    let second = sealed();
    store.remove("github").await.expect("removes");
    assert_eq!((home.count(&first), home.count(&second)), (0, 0));
}

#[tokio::test]
async fn another_home_key_reveals_nothing() {
    let home = Home::new();
    set(&open(&home), "github", TEXT).await;
    let other = SecretStore::open(&home.file("secrets.db"), [8; 32]).expect("opens");
    let error = revealed(&other, "github").await.expect_err("locked");
    assert!(error.starts_with("decrypt the secret github: "), "{error}");
    assert_eq!(revealed(&other, "none").await, Ok(None));
    assert_eq!(revealed(&open(&home), "github").await, Ok(Some(TEXT.to_owned())));
}

#[tokio::test]
async fn an_altered_row_reveals_nothing() {
    let changes = [
        "UPDATE secrets SET name = 'b' WHERE name = 'gone'; UPDATE secrets SET name = 'a' WHERE name = 'other'",
        "UPDATE secrets SET sealed = zeroblob(length(sealed)) WHERE name = 'a'",
        "UPDATE secrets SET sealed = substr(sealed, 1, length(sealed) - 1) WHERE name = 'a'",
        "UPDATE secrets SET sealed = x'' WHERE name = 'a'",
        "UPDATE secrets SET nonce = zeroblob(24) WHERE name = 'a'",
        "UPDATE secrets SET nonce = x'00' WHERE name = 'a'",
    ];
    for change in changes {
        let home = Home::new();
        let store = open(&home);
        set(&store, "other", TEXT).await;
        if !change.contains("'other'") {
            set(&store, "a", TEXT).await;
        }
        raw(&home, change);
        let error = revealed(&store, "a").await.expect_err("locked");
        assert!(error.starts_with("decrypt the secret a: ") && !error.contains("hunter2"), "{change}: {error}");
        set(&store, "a", TEXT).await;
        assert_eq!(revealed(&store, "a").await, Ok(Some(TEXT.to_owned())), "{change}");
    }
}

#[tokio::test]
async fn what_is_no_secret_is_refused_without_being_told() {
    let home = Home::new();
    let store = open(&home);
    let long = "n".repeat(NAME_BYTES_MAX + 1);
    for name in ["", "Hunter2", "a b", "a_b", "é", "a\0", &long] {
        for error in [
            store.set(name, &Secret::new("x")).await.expect_err("refused"),
            store.reveal(name).await.expect_err("refused"),
            store.remove(name).await.expect_err("refused"),
        ] {
            assert_eq!(error.to_string(), "use a secret: its name has 1 to 48 of a-z, 0-9 and hyphen");
        }
    }
    let large = "x".repeat(SECRET_BYTES_MAX + 1);
    let error = store.set("a", &Secret::new(large.as_str())).await.expect_err("refused").to_string();
    assert_eq!(error, "use a secret: a has 65537 bytes and 65536 are allowed");
    set(&store, &long[1..], &large[1..]).await;
    assert_eq!(store.names().await.expect("lists").len(), 1);
}

#[tokio::test]
async fn two_processes_share_one_file() {
    let home = Home::new();
    let (daemon, command) = (open(&home), open(&home));
    set(&command, "github", TEXT).await;
    assert_eq!(revealed(&daemon, "github").await, Ok(Some(TEXT.to_owned())));
    set(&daemon, "github", "new").await;
    assert_eq!(revealed(&command, "github").await, Ok(Some("new".to_owned())));
}

#[tokio::test]
async fn the_database_is_no_file_of_secrets() {
    let home = Home::new();
    drop(home.open());
    let opened = SecretStore::open(&home.file("state.db"), [7; 32]);
    assert!(matches!(opened, Err(RecordsError::Foreign { .. })));
}
