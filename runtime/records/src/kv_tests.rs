//! Does each owner find what it kept, no other's, and never more than its quota?

use futures::future::join_all;

use super::*;
use crate::fixture::Home;

const QUOTA: u64 = 1_000;

async fn put(records: &Records, owner: &str, key: &str, value: &[u8]) {
    records.set(owner, "b", key, value, QUOTA).await.expect("keeps");
}

fn quota(used_bytes: u64, quota_bytes: u64) -> Result<(), KvError> {
    Err(KvError::Quota { used_bytes, quota_bytes })
}

#[tokio::test]
async fn values_come_back_after_reopening_and_go_when_deleted() {
    let home = Home::new();
    let records = home.open();
    put(&records, "core/a", "k", b"one").await;
    put(&records, "core/a", "k", b"\0two\xff").await;
    put(&records, "core/a", "empty", b"").await;
    drop(records);
    let records = home.open();
    assert_eq!(records.get("core/a", "b", "k").await, Ok(Some(b"\0two\xff".to_vec())));
    assert_eq!(records.get("core/a", "b", "empty").await, Ok(Some(Vec::new())));
    assert_eq!(records.get("core/a", "b", "none").await, Ok(None));
    assert_eq!(records.delete("core/a", "b", "k").await, Ok(()));
    assert_eq!(records.delete("core/a", "b", "k").await, Ok(()));
    assert_eq!(records.get("core/a", "b", "k").await, Ok(None));
}

#[tokio::test]
async fn owner_bucket_and_key_are_never_joined() {
    let home = Home::new();
    let records = home.open();
    let places = [("a/b", "c", "d"), ("a", "b/c", "d"), ("a/b", "", "cd"), ("a/b", "c", "d\0"), ("a/b", "c", "D")];
    for (n, (owner, bucket, key)) in places.iter().enumerate() {
        records.set(owner, bucket, key, n.to_string().as_bytes(), QUOTA).await.expect("keeps");
    }
    for (n, (owner, bucket, key)) in places.iter().enumerate() {
        assert_eq!(
            records.get(owner, bucket, key).await,
            Ok(Some(n.to_string().into_bytes())),
            "{owner} {bucket} {key}"
        );
    }
    assert_eq!(records.keys("a/b", "c", None, 9).await, Ok(vec!["D".to_owned(), "d".to_owned(), "d\0".to_owned()]));
}

#[tokio::test]
async fn keys_come_in_their_order_page_by_page() {
    let home = Home::new();
    let records = home.open();
    for key in ["é", "b", "a", "ab", "日本", "B"] {
        put(&records, "core/a", key, b"").await;
    }
    let page = async |after: Option<&str>, max: usize| records.keys("core/a", "b", after, max).await.expect("reads");
    assert_eq!(page(None, 99).await, ["B", "a", "ab", "b", "é", "日本"]);
    assert_eq!(page(None, 2).await, ["B", "a"]);
    assert_eq!(page(Some("a"), 2).await, ["ab", "b"]);
    assert_eq!(page(Some("aa"), 1).await, ["ab"]);
    assert_eq!(page(Some("日本"), 9).await, Vec::<String>::new());
    assert_eq!(page(None, 0).await, Vec::<String>::new());
    assert_eq!(records.keys("core/b", "b", None, 9).await, Ok(Vec::new()));
}

#[tokio::test]
async fn the_quota_bounds_keys_and_values_of_all_buckets() {
    let home = Home::new();
    let records = home.open();
    let set = async |owner: &str, bucket: &str, key: &str, bytes: usize, most: u64| {
        records.set(owner, bucket, key, &vec![b'x'; bytes], most).await
    };
    assert_eq!(set("core/a", "b", "k", 10, 10).await, quota(0, 10));
    assert_eq!(set("core/a", "b", "k", 9, 10).await, Ok(()));
    assert_eq!(set("core/a", "c", "é", 0, 10).await, quota(10, 10));
    assert_eq!(set("core/b", "c", "é", 0, 10).await, Ok(()));
    assert_eq!(set("core/a", "b", "k", 10, 10).await, quota(10, 10));
    assert_eq!(set("core/a", "b", "k", 7, 10).await, Ok(()));
    assert_eq!(set("core/a", "c", "é", 0, 10).await, Ok(()));
    assert_eq!(set("core/a", "c", "é", 1, 10).await, quota(10, 10));
    // The quota was lowered since: less is kept all the same, more is not.
    assert_eq!(set("core/a", "b", "k", 6, 5).await, Ok(()));
    assert_eq!(set("core/a", "b", "k", 7, 5).await, quota(9, 5));
    records.delete("core/a", "b", "k").await.expect("deletes");
    drop(records);
    let records = home.open();
    assert_eq!(records.set("core/a", "b", "k", b"1234567", 10).await, Ok(()));
    assert_eq!(records.get("core/a", "c", "é").await, Ok(Some(Vec::new())));
    let used = "SELECT bytes - (SELECT sum(octet_length(key) + octet_length(value)) FROM kv WHERE kv.owner = u.owner)
                     + entries - (SELECT count(*) FROM kv WHERE kv.owner = u.owner) FROM kv_used AS u";
    let raw = home.raw();
    let mut select = raw.prepare(used).expect("prepares");
    let off = select.query_map([], |row| row.get(0)).expect("queries").collect::<Result<Vec<i64>, _>>();
    assert_eq!(off.expect("reads"), [0, 0]);
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let home = Home::new();
    let records = home.open();
    let long = "x".repeat(KEY_BYTES_MAX + 1);
    let value = vec![0_u8; VALUE_BYTES_MAX + 1];
    let most = u64::MAX;
    assert!(records.set("core/a", "b", "", b"v", most).await.is_err());
    assert!(records.set("core/a", "b", &long, b"v", most).await.is_err());
    assert!(records.set("core/a", &long, "k", b"v", most).await.is_err());
    assert!(records.set("core/a", "b", "k", &value, most).await.is_err());
    assert!(records.swap("core/a", "b", "k", None, &value, most).await.is_err());
    assert!(records.get("core/a", "b", "").await.is_err());
    assert_eq!(records.keys("core/a", "b", None, 9).await, Ok(Vec::new()));
    assert_eq!(records.set("core/a", &long[1..], &long[1..], &value[1..], most).await, Ok(()));
}

#[tokio::test]
async fn there_is_an_end_to_tiny_values() {
    let home = Home::new();
    let records = home.open();
    let fill = "WITH RECURSIVE c (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM c WHERE i < 65536)
                INSERT INTO kv (owner, bucket, key, value) SELECT 'core/a', 'b', printf('k%d', i), x'' FROM c";
    home.raw().execute(fill, []).expect("fills");
    assert_eq!(records.set("core/a", "b", "last", b"", u64::MAX).await, Ok(()));
    let error = records.set("core/a", "b", "more", b"", u64::MAX).await.expect_err("refused");
    assert!(error.to_string().contains("65536 are allowed"), "{error}");
    assert_eq!(records.set("core/a", "b", "last", b"again", u64::MAX).await, Ok(()));
    assert_eq!(records.set("core/b", "b", "more", b"", u64::MAX).await, Ok(()));
}

#[tokio::test]
async fn numbers_are_counted_up_in_one_step() {
    let home = Home::new();
    let records = home.open();
    let add = async |key: &str, by: i64| records.increment("core/a", "b", key, by, QUOTA).await;
    for result in join_all((0..100).map(|_| add("n", 1))).await {
        assert!(result.is_ok());
    }
    assert_eq!(add("n", -200).await, Ok(-100));
    assert_eq!(records.get("core/a", "b", "n").await, Ok(Some(b"-100".to_vec())));
    put(&records, "core/a", "text", b"12x").await;
    assert_eq!(add("text", 1).await, Err(KvError::NotANumber));
    put(&records, "core/a", "bytes", b"\xff").await;
    assert_eq!(add("bytes", 1).await, Err(KvError::NotANumber));
    put(&records, "core/a", "max", i64::MAX.to_string().as_bytes()).await;
    assert!(add("max", 1).await.expect_err("too large").to_string().contains("64 bits"));
    assert_eq!(add("max", -1).await, Ok(i64::MAX - 1));
    let refused = records.increment("core/b", "b", "n", 10, 2).await;
    assert_eq!(refused, Err(KvError::Quota { used_bytes: 0, quota_bytes: 2 }));
    assert_eq!(records.increment("core/b", "b", "n", 9, 2).await, Ok(9));
}

#[tokio::test]
async fn a_swap_needs_the_expected_value() {
    let home = Home::new();
    let records = home.open();
    let swap = async |expected: Option<&[u8]>, new: &[u8]| records.swap("core/a", "b", "k", expected, new, 10).await;
    assert_eq!(swap(Some(b""), b"x").await, Ok(Cas::Differs(None)));
    assert_eq!(swap(None, b"x").await, Ok(Cas::Swapped));
    assert_eq!(swap(None, b"y").await, Ok(Cas::Differs(Some(b"x".to_vec()))));
    assert_eq!(swap(Some(b"y"), b"z").await, Ok(Cas::Differs(Some(b"x".to_vec()))));
    assert_eq!(swap(Some(b"x"), b"0123456789").await, Err(KvError::Quota { used_bytes: 2, quota_bytes: 10 }));
    assert_eq!(swap(Some(b"x"), b"012345678").await, Ok(Cas::Swapped));
    assert_eq!(records.get("core/a", "b", "k").await, Ok(Some(b"012345678".to_vec())));
}

#[tokio::test]
async fn of_many_swaps_at_once_one_wins() {
    let home = Home::new();
    let records = home.open();
    let values: Vec<Vec<u8>> = (0..20_u8).map(|n| vec![n]).collect();
    let swaps = values.iter().map(|value| records.swap("core/a", "b", "k", None, value, QUOTA));
    let won: Vec<bool> = join_all(swaps).await.into_iter().map(|result| result == Ok(Cas::Swapped)).collect();
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
}
