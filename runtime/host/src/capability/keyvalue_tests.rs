//! Does a store keep, count and refuse as its port and its grant say? Each version through its own host functions.

use std::sync::Arc;

use futures::executor::block_on;
use wasmtime::component::Resource;

use super::*;
use crate::capability::{
    keyvalue_draft::wit::wasi::keyvalue::{atomics as atomics1, batch as batch1, store as store1},
    keyvalue_draft2::wit::wasi::keyvalue::{atomics as atomics2, batch as batch2, store as store2},
    scene::{Scene, Shelf, kv},
};

/// A call with a store of 4 KiB and its open bucket.
fn granted() -> (Scene, Resource<Bucket>) {
    let mut scene = Scene::new(kv(4));
    let bucket = open(&mut scene, "");
    (scene, bucket)
}

fn open(scene: &mut Scene, name: &str) -> Resource<Bucket> {
    block_on(store2::Host::open(&mut scene.state, name.to_owned())).unwrap().unwrap()
}

/// The handle a guest lends to a call; the guest keeps its own.
fn lent<T: 'static>(handle: &Resource<T>) -> Resource<T> {
    Resource::new_borrow(handle.rep())
}

fn set(scene: &mut Scene, bucket: &Resource<Bucket>, key: &str, value: &[u8]) -> Result<(), store2::Error> {
    block_on(store2::HostBucket::set(&mut scene.state, lent(bucket), key.to_owned(), value.to_vec())).unwrap()
}

fn get(scene: &mut Scene, bucket: &Resource<Bucket>, key: &str) -> Option<Vec<u8>> {
    block_on(store1::HostBucket::get(&mut scene.state, lent(bucket), key.to_owned())).unwrap().unwrap()
}

#[test]
fn without_a_grant_no_bucket_opens_and_the_rule_is_remembered() {
    let mut scene = Scene::new(|_| ());
    let one = block_on(store1::Host::open(&mut scene.state, String::new())).unwrap();
    let two = block_on(store2::Host::open(&mut scene.state, String::new())).unwrap();
    assert!(matches!(one, Err(store1::Error::AccessDenied)), "{one:?}");
    assert!(matches!(two, Err(store2::Error::AccessDenied)), "{two:?}");
    assert_eq!(scene.state.call.last_denial().unwrap().rule, "grant:kv");
    let deny = ("deny".to_owned(), "grant:kv".to_owned());
    assert_eq!(scene.audit.rules(), vec![deny.clone(), deny]);
    let mut twin = Scene::new(kv(4));
    block_on(store1::Host::open(&mut twin.state, String::new())).unwrap().unwrap();
    assert!(twin.audit.rules().is_empty());
}

#[test]
fn what_one_draft_keeps_the_other_finds() {
    let (mut scene, bucket) = granted();
    set(&mut scene, &bucket, "a", b"1").unwrap();
    assert_eq!(get(&mut scene, &bucket, "a"), Some(b"1".to_vec()));
    let state = &mut scene.state;
    assert!(block_on(store1::HostBucket::exists(state, lent(&bucket), "a".to_owned())).unwrap().unwrap());
    block_on(store1::HostBucket::delete(state, lent(&bucket), "a".to_owned())).unwrap().unwrap();
    block_on(store2::HostBucket::delete(state, lent(&bucket), "a".to_owned())).unwrap().unwrap();
    assert!(!block_on(store2::HostBucket::exists(state, lent(&bucket), "a".to_owned())).unwrap().unwrap());
}

#[test]
fn a_bucket_name_is_data_and_an_empty_one_is_the_default() {
    let (mut scene, default) = granted();
    set(&mut scene, &default, "k", b"v").unwrap();
    let mut check = |name: &str, expected: Option<&[u8]>| {
        let bucket = open(&mut scene, name);
        assert_eq!(get(&mut scene, &bucket, "k").as_deref(), expected, "{name:?}");
    };
    check("default", Some(b"v"));
    check("other", None);
    check("acme/github", None);
    check("../default", None);
    for name in ["x".repeat(BUCKET_BYTES_MAX + 1), "a\nb".to_owned()] {
        let refused = block_on(store2::Host::open(&mut scene.state, name)).unwrap();
        assert!(matches!(refused, Err(store2::Error::NoSuchStore)), "{refused:?}");
    }
}

#[test]
fn two_tools_never_share_a_key() {
    let shelf = Arc::new(Shelf::default());
    let keep = |tool: &str, bucket: &str, key: &str| {
        let mut scene = Scene::of(tool, &shelf, kv(4));
        let bucket = open(&mut scene, bucket);
        let before = get(&mut scene, &bucket, key);
        set(&mut scene, &bucket, key, tool.as_bytes()).unwrap();
        before
    };
    assert_eq!(keep("acme/one", "b", "k"), None);
    assert_eq!(keep("acme/two", "b", "k"), None);
    assert_eq!(keep("acme/one", "b", "k"), Some(b"acme/one".to_vec()));
    assert_eq!(keep("acme/one", "bk", ""), None, "bucket and key are not joined");
}

#[test]
fn the_quota_of_the_grant_ends_what_is_kept_and_changes_nothing() {
    let (mut scene, bucket) = granted();
    set(&mut scene, &bucket, "a", &[0; 4_000]).unwrap();
    let refused = set(&mut scene, &bucket, "b", &[0; 200]);
    let Err(store2::Error::Other(words)) = refused else { panic!("{refused:?}") };
    assert_eq!(words, "the store holds 4001 bytes and may hold 4096");
    assert_eq!(get(&mut scene, &bucket, "b"), None);
    let mut twin = Scene::new(kv(5));
    let bucket = open(&mut twin, "");
    set(&mut twin, &bucket, "a", &[0; 4_000]).unwrap();
    set(&mut twin, &bucket, "b", &[0; 200]).unwrap();
}

#[test]
fn numbers_are_counted_up_in_one_step() {
    let (mut scene, bucket) = granted();
    let state = &mut scene.state;
    let key = || "n".to_owned();
    assert_eq!(block_on(atomics1::Host::increment(state, lent(&bucket), key(), 5)).unwrap().unwrap(), 5);
    assert_eq!(block_on(atomics2::Host::increment(state, lent(&bucket), key(), -2)).unwrap().unwrap(), 3);
    let refused = block_on(atomics1::Host::increment(state, lent(&bucket), key(), u64::MAX)).unwrap();
    assert!(matches!(refused, Err(store1::Error::Other(_))), "{refused:?}");
    assert_eq!(block_on(atomics2::Host::increment(state, lent(&bucket), key(), -10)).unwrap().unwrap(), -7);
    let below = block_on(atomics1::Host::increment(state, lent(&bucket), key(), 1)).unwrap();
    assert!(matches!(below, Err(store1::Error::Other(_))), "{below:?}");
    set(&mut scene, &bucket, "n", b"many").unwrap();
    let text = block_on(atomics2::Host::increment(&mut scene.state, lent(&bucket), key(), 1)).unwrap();
    assert!(matches!(text, Err(store2::Error::Other(_))), "{text:?}");
}

#[test]
fn a_swap_works_once_and_only_on_the_value_that_was_seen() {
    let (mut scene, bucket) = granted();
    let watch = |scene: &mut Scene| {
        block_on(atomics2::HostCas::new(&mut scene.state, lent(&bucket), "k".to_owned())).unwrap().unwrap()
    };
    let swap = |scene: &mut Scene, cas, value: &[u8]| {
        block_on(atomics2::Host::swap(&mut scene.state, cas, value.to_vec())).unwrap()
    };
    let (first, late) = (watch(&mut scene), watch(&mut scene));
    swap(&mut scene, first, b"one").unwrap();
    let refused = swap(&mut scene, late, b"lost");
    let Err(atomics2::CasError::CasFailed(newer)) = refused else { panic!("{refused:?}") };
    assert_eq!(get(&mut scene, &bucket, "k"), Some(b"one".to_vec()));
    swap(&mut scene, newer, b"two").unwrap();
    assert_eq!(get(&mut scene, &bucket, "k"), Some(b"two".to_vec()));
    let third = watch(&mut scene);
    set(&mut scene, &bucket, "k", b"meanwhile").unwrap();
    let current = block_on(atomics2::HostCas::current(&mut scene.state, lent(&third))).unwrap().unwrap();
    assert_eq!(current, Some(b"meanwhile".to_vec()));
    swap(&mut scene, third, b"three").unwrap();
    assert_eq!(get(&mut scene, &bucket, "k"), Some(b"three".to_vec()));
}

#[test]
fn every_key_is_listed_once_over_the_pages_of_both_drafts() {
    let mut scene = Scene::new(|grant| {
        kv(1_024)(grant);
        grant.limits.host_calls = 100_000;
    });
    let bucket = open(&mut scene, "");
    let expected: Vec<String> = (0..2_500).map(|n| format!("key-{n:05}")).collect();
    for key in &expected {
        set(&mut scene, &bucket, key, b"x").unwrap();
    }
    let state = &mut scene.state;
    let (mut keys, mut cursor) = (Vec::new(), None);
    loop {
        let page = block_on(store1::HostBucket::list_keys(state, lent(&bucket), cursor)).unwrap().unwrap();
        keys.extend(page.keys);
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(keys, expected);
    let (mut keys, mut cursor) = (Vec::new(), None);
    loop {
        let page = block_on(store2::HostBucket::list_keys(state, lent(&bucket), cursor)).unwrap().unwrap();
        keys.extend(page.keys);
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(keys, expected);
    let unknown = block_on(store1::HostBucket::list_keys(state, lent(&bucket), Some(77))).unwrap();
    assert!(matches!(unknown, Err(store1::Error::Other(_))));
}

#[test]
fn batches_keep_the_order_of_the_keys_and_count_each_of_them() {
    let (mut scene, bucket) = granted();
    let pairs = vec![("a".to_owned(), b"1".to_vec()), ("c".to_owned(), b"3".to_vec())];
    let keys: Vec<String> = ["c", "b", "a"].map(str::to_owned).to_vec();
    let state = &mut scene.state;
    block_on(batch1::Host::set_many(state, lent(&bucket), pairs)).unwrap().unwrap();
    let one = block_on(batch1::Host::get_many(state, lent(&bucket), keys.clone())).unwrap().unwrap();
    let two = block_on(batch2::Host::get_many(state, lent(&bucket), keys.clone())).unwrap().unwrap();
    assert_eq!(one, [Some(("c".to_owned(), b"3".to_vec())), None, Some(("a".to_owned(), b"1".to_vec()))]);
    let values: Vec<Option<Vec<u8>>> = two.into_iter().map(|(_, value)| value).collect();
    assert_eq!(values, [Some(b"3".to_vec()), None, Some(b"1".to_vec())]);
    block_on(batch2::Host::delete_many(state, lent(&bucket), keys)).unwrap().unwrap();
    assert_eq!(get(&mut scene, &bucket, "a"), None);
    let mut few = Scene::new(|grant| {
        kv(4)(grant);
        grant.limits.host_calls = 10;
    });
    let bucket = open(&mut few, "");
    let many = vec!["a".to_owned(); 100];
    let ended = block_on(batch2::Host::get_many(&mut few.state, lent(&bucket), many));
    assert!(ended.is_err());
    assert_eq!(few.state.call.reached.get(), Some("host calls (10)"));
}

#[test]
fn a_large_value_cannot_be_multiplied_by_asking_for_it_often() {
    let mut scene = Scene::new(kv(4_096));
    let bucket = open(&mut scene, "");
    set(&mut scene, &bucket, "big", &vec![7; 1 << 20]).unwrap();
    let mut ask = |times: usize| {
        let keys = vec!["big".to_owned(); times];
        block_on(batch2::Host::get_many(&mut scene.state, lent(&bucket), keys)).unwrap().is_ok()
    };
    assert!(ask(4));
    assert!(!ask(100));
}

#[test]
fn a_key_has_a_longest_length() {
    let (mut scene, bucket) = granted();
    set(&mut scene, &bucket, &"k".repeat(KEY_BYTES_MAX), b"").unwrap();
    assert!(set(&mut scene, &bucket, &"k".repeat(KEY_BYTES_MAX + 1), b"").is_err());
}
