//! Values by key, in both drafts: what one keeps, the other finds. Each function names its draft in `version`.

use chitin_sdk::{Call, Failure, Part};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report;
use crate::wasi::keyvalue_draft::wasi::keyvalue::{atomics as atomics1, batch as batch1, store as store1};
use crate::wasi::keyvalue_draft2::wasi::keyvalue::{atomics as atomics2, batch as batch2, store as store2};

/// The arguments of all functions; each reads those that it describes.
#[derive(Deserialize)]
#[serde(default)]
struct Args {
    version: Version,
    bucket: String,
    key: String,
    keys: Vec<String>,
    value: String,
    kib: usize,
    n: u64,
    by: i64,
    meanwhile: Option<String>,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            version: Version::Draft2,
            bucket: String::new(),
            key: "key".to_owned(),
            keys: Vec::new(),
            value: "value".to_owned(),
            kib: 1,
            n: 1,
            by: 1,
            meanwhile: None,
        }
    }
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Version {
    Draft,
    Draft2,
}

/// An open bucket of either draft. An error is what the host said, as data.
enum Bucket {
    One(store1::Bucket),
    Two(store2::Bucket),
}

pub(crate) fn get(call: &Call) -> Result<Vec<Part>, Failure> {
    tried(call, |bucket, args| Ok(json!({ "value": bucket.get(&args.key)?.map(shown) })))
}

pub(crate) fn set(call: &Call) -> Result<Vec<Part>, Failure> {
    tried(call, |bucket, args| {
        bucket.set(&args.key, args.value.as_bytes())?;
        Ok(json!({ "bytes": args.value.len() }))
    })
}

/// One value of many bytes, to meet the quota.
pub(crate) fn fill(call: &Call) -> Result<Vec<Part>, Failure> {
    tried(call, |bucket, args| {
        bucket.set(&args.key, &vec![b'x'; args.kib * KIB])?;
        Ok(json!({ "bytes": args.kib * KIB }))
    })
}

/// Many small values, to meet the quota or the limit of host calls.
pub(crate) fn flood(call: &Call) -> Result<Vec<Part>, Failure> {
    tried(call, |bucket, args| {
        for n in 0..args.n {
            bucket.set(&format!("flood-{n:06}"), args.value.as_bytes())?;
        }
        Ok(json!({ "keys": args.n }))
    })
}

pub(crate) fn delete(call: &Call) -> Result<Vec<Part>, Failure> {
    tried(call, |bucket, args| {
        let before = bucket.exists(&args.key)?;
        bucket.delete(&args.key)?;
        Ok(json!({ "before": before, "after": bucket.exists(&args.key)? }))
    })
}

pub(crate) fn list(call: &Call) -> Result<Vec<Part>, Failure> {
    tried(call, |bucket, _| {
        let (keys, pages) = bucket.keys()?;
        Ok(json!({ "keys": keys, "pages": pages }))
    })
}

pub(crate) fn increment(call: &Call) -> Result<Vec<Part>, Failure> {
    tried(call, |bucket, args| Ok(json!({ "value": bucket.increment(&args.key, args.by)? })))
}

/// Sets every key to the value, gets them all in reverse and one that is not there, and deletes them.
pub(crate) fn batch(call: &Call) -> Result<Vec<Part>, Failure> {
    tried(call, |bucket, args| {
        bucket.set_many(
            &args.keys.iter().map(|key| (key.clone(), args.value.clone().into_bytes())).collect::<Vec<_>>(),
        )?;
        let mut wanted: Vec<String> = args.keys.iter().rev().cloned().collect();
        wanted.push("not there".to_owned());
        let found = bucket.get_many(&wanted)?;
        bucket.delete_many(&args.keys)?;
        let left: usize = bucket.get_many(&args.keys)?.iter().flatten().count();
        Ok(json!({ "found": found, "left": left }))
    })
}

/// Looks at the value, may let somebody else write `meanwhile`, and swaps: `{before, swapped, retried, now}`.
pub(crate) fn cas(call: &Call) -> Result<Vec<Part>, Failure> {
    tried(call, |bucket, args| {
        let Bucket::Two(two) = bucket else { return Err(json!({ "kind": "no-cas-in-draft" })) };
        let watched = atomics2::Cas::new(two, &args.key).map_err(|error| said2(&error))?;
        let before = watched.current().map_err(|error| said2(&error))?.map(shown);
        if let Some(meanwhile) = &args.meanwhile {
            bucket.set(&args.key, meanwhile.as_bytes())?;
        }
        let (swapped, retried) = match atomics2::swap(watched, args.value.as_bytes()) {
            Ok(()) => (true, false),
            Err(atomics2::CasError::StoreError(error)) => return Err(said2(&error)),
            Err(atomics2::CasError::CasFailed(newer)) => (false, atomics2::swap(newer, args.value.as_bytes()).is_ok()),
        };
        let now = bucket.get(&args.key)?.map(shown);
        Ok(json!({ "before": before, "swapped": swapped, "retried": retried, "now": now }))
    })
}

/// Opens the bucket and reports what `work` finds in it, or what the host said instead.
fn tried(call: &Call, work: impl FnOnce(&Bucket, &Args) -> Result<Value, Value>) -> Result<Vec<Part>, Failure> {
    let args = call.args::<Args>()?;
    report::said(Bucket::open(&args).and_then(|bucket| work(&bucket, &args)))
}

impl Bucket {
    fn open(args: &Args) -> Result<Self, Value> {
        match args.version {
            Version::Draft => store1::open(&args.bucket).map(Self::One).map_err(|error| said1(&error)),
            Version::Draft2 => store2::open(&args.bucket).map(Self::Two).map_err(|error| said2(&error)),
        }
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Value> {
        match self {
            Self::One(bucket) => bucket.get(key).map_err(|error| said1(&error)),
            Self::Two(bucket) => bucket.get(key).map_err(|error| said2(&error)),
        }
    }

    fn set(&self, key: &str, value: &[u8]) -> Result<(), Value> {
        match self {
            Self::One(bucket) => bucket.set(key, value).map_err(|error| said1(&error)),
            Self::Two(bucket) => bucket.set(key, value).map_err(|error| said2(&error)),
        }
    }

    fn delete(&self, key: &str) -> Result<(), Value> {
        match self {
            Self::One(bucket) => bucket.delete(key).map_err(|error| said1(&error)),
            Self::Two(bucket) => bucket.delete(key).map_err(|error| said2(&error)),
        }
    }

    fn exists(&self, key: &str) -> Result<bool, Value> {
        match self {
            Self::One(bucket) => bucket.exists(key).map_err(|error| said1(&error)),
            Self::Two(bucket) => bucket.exists(key).map_err(|error| said2(&error)),
        }
    }

    /// Every key, and over how many pages they came.
    fn keys(&self) -> Result<(Vec<String>, usize), Value> {
        let (mut keys, mut pages) = (Vec::new(), 0);
        match self {
            Self::One(bucket) => {
                let mut cursor = None;
                loop {
                    let page = bucket.list_keys(cursor).map_err(|error| said1(&error))?;
                    keys.extend(page.keys);
                    pages += 1;
                    cursor = page.cursor;
                    if cursor.is_none() {
                        return Ok((keys, pages));
                    }
                }
            }
            Self::Two(bucket) => {
                let mut cursor: Option<String> = None;
                loop {
                    let page = bucket.list_keys(cursor.as_deref()).map_err(|error| said2(&error))?;
                    keys.extend(page.keys);
                    pages += 1;
                    cursor = page.cursor;
                    if cursor.is_none() {
                        return Ok((keys, pages));
                    }
                }
            }
        }
    }

    fn increment(&self, key: &str, by: i64) -> Result<Value, Value> {
        match self {
            Self::One(bucket) => {
                let sum = atomics1::increment(bucket, key, by.unsigned_abs()).map_err(|error| said1(&error))?;
                Ok(json!(sum))
            }
            Self::Two(bucket) => {
                atomics2::increment(bucket, key, by).map(|sum| json!(sum)).map_err(|error| said2(&error))
            }
        }
    }

    fn set_many(&self, pairs: &[(String, Vec<u8>)]) -> Result<(), Value> {
        match self {
            Self::One(bucket) => batch1::set_many(bucket, pairs).map_err(|error| said1(&error)),
            Self::Two(bucket) => batch2::set_many(bucket, pairs).map_err(|error| said2(&error)),
        }
    }

    /// The values in the order of the keys, as text.
    fn get_many(&self, keys: &[String]) -> Result<Vec<Option<String>>, Value> {
        match self {
            Self::One(bucket) => {
                let found = batch1::get_many(bucket, keys).map_err(|error| said1(&error))?;
                Ok(found.into_iter().map(|pair| pair.map(|(_, value)| shown(value))).collect())
            }
            Self::Two(bucket) => {
                let found = batch2::get_many(bucket, keys).map_err(|error| said2(&error))?;
                Ok(found.into_iter().map(|(_, value)| value.map(shown)).collect())
            }
        }
    }

    fn delete_many(&self, keys: &[String]) -> Result<(), Value> {
        match self {
            Self::One(bucket) => batch1::delete_many(bucket, keys).map_err(|error| said1(&error)),
            Self::Two(bucket) => batch2::delete_many(bucket, keys).map_err(|error| said2(&error)),
        }
    }
}

fn said1(error: &store1::Error) -> Value {
    match error {
        store1::Error::NoSuchStore => json!({ "kind": "no-such-store" }),
        store1::Error::AccessDenied => json!({ "kind": "access-denied" }),
        store1::Error::Other(words) => json!({ "kind": "other", "message": words }),
    }
}

fn said2(error: &store2::Error) -> Value {
    match error {
        store2::Error::NoSuchStore => json!({ "kind": "no-such-store" }),
        store2::Error::AccessDenied => json!({ "kind": "access-denied" }),
        store2::Error::Other(words) => json!({ "kind": "other", "message": words }),
    }
}

fn shown(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| format!("{} bytes that are no text", error.as_bytes().len()))
}

const KIB: usize = 1024;
