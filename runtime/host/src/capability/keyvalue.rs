//! What may a component keep between its calls? Values by key, in buckets of its own, up to its quota.
//!
//! Grant: `[kv] quota_kib`. Linked: `wasi:keyvalue` in two drafts, `keyvalue_draft` and `keyvalue_draft2`, which only
//! translate to what is here. For one call: buckets, and values that compare-and-swap watches.
//!
//! The owner of every key is the tool, stamped here; the name of a bucket is data and reaches nobody else's. What a tool
//! keeps for itself is no effect outside of it, so refusals are audited and values are not.

use std::sync::Arc;

use chitin_ports::{Cas as Swapped, KvError};
use chitin_types::Digest;
use wasmtime::component::{Resource, ResourceTableError};

use crate::state::{CallContext, CallState};

/// A bucket that a guest opened.
pub struct Bucket {
    name: Arc<str>,
    /// The last key of each page that was given out, for the draft whose cursors are numbers.
    passed: Vec<String>,
}

/// A value as a guest saw it last. Its digest is kept and not the value: handles are many, and values are large.
pub struct Cas {
    bucket: Arc<str>,
    key: String,
    seen: Option<Digest>,
}

/// Why a guest gets no answer of the store.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The call ends here: a limit was reached, or a handle is none.
    Trap(wasmtime::Error),
    /// The guest hears of it and goes on.
    No(Refusal),
}

/// What both drafts can say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A name that no bucket can have.
    NoSuchStore,
    /// Not granted; the call remembers the rule.
    Denied,
    /// Anything else, in words.
    Other(String),
}

/// Keys in their order.
pub(crate) struct Page {
    pub(crate) keys: Vec<String>,
    /// The key after which the next page begins, where there is one.
    pub(crate) next: Option<String>,
}

/// One bucket for one operation, which was granted and counted.
struct Held {
    call: Arc<CallContext>,
    owner: String,
    bucket: Arc<str>,
    quota_bytes: u64,
}

/// What a draft answers: the value, its own error, or the end of the call.
pub(crate) fn answer<T, E: From<Refusal>>(done: Result<T, Stop>) -> wasmtime::Result<Result<T, E>> {
    match done {
        Ok(value) => Ok(Ok(value)),
        Err(Stop::No(refusal)) => Ok(Err(refusal.into())),
        Err(Stop::Trap(error)) => Err(error),
    }
}

impl CallState {
    pub(crate) fn kv_open(&mut self, name: &str) -> Result<Resource<Bucket>, Stop> {
        let name = if name.is_empty() { BUCKET_DEFAULT } else { name };
        let held = Held::new(&self.call, name.into())?;
        if name.len() > BUCKET_BYTES_MAX || name.chars().any(char::is_control) {
            return Err(Refusal::NoSuchStore.into());
        }
        Ok(self.table.push(Bucket { name: held.bucket, passed: Vec::new() })?)
    }

    pub(crate) async fn kv_get(&mut self, bucket: &Resource<Bucket>, key: &str) -> Result<Option<Vec<u8>>, Stop> {
        self.kv(bucket)?.get(key).await
    }

    pub(crate) async fn kv_set(&mut self, bucket: &Resource<Bucket>, key: &str, value: &[u8]) -> Result<(), Stop> {
        self.kv(bucket)?.set(key, value).await
    }

    pub(crate) async fn kv_delete(&mut self, bucket: &Resource<Bucket>, key: &str) -> Result<(), Stop> {
        self.kv(bucket)?.delete(key).await
    }

    pub(crate) async fn kv_increment(&mut self, bucket: &Resource<Bucket>, key: &str, by: i64) -> Result<i64, Stop> {
        self.kv(bucket)?.increment(key, by).await
    }

    /// A page of keys for the draft whose cursors are keys.
    pub(crate) async fn kv_keys(&mut self, bucket: &Resource<Bucket>, after: Option<&str>) -> Result<Page, Stop> {
        self.kv(bucket)?.keys(after).await
    }

    /// A page of keys for the draft whose cursors are numbers: each stands for a page that this handle has given out.
    pub(crate) async fn kv_page(
        &mut self,
        bucket: &Resource<Bucket>,
        cursor: Option<u64>,
    ) -> Result<(Vec<String>, Option<u64>), Stop> {
        let held = self.kv(bucket)?;
        let after = match cursor {
            None | Some(0) => None,
            Some(number) => Some(passed(&self.table.get(bucket)?.passed, number)?),
        };
        let Page { keys, next } = held.keys(after.as_deref()).await?;
        let Some(next) = next else { return Ok((keys, None)) };
        let open = self.table.get_mut(bucket)?;
        if open.passed.last() != Some(&next) {
            if open.passed.len() >= PAGES_MAX {
                return Err(Refusal::Other(format!("more than {PAGES_MAX} pages of one handle")).into());
            }
            open.passed.push(next);
        }
        Ok((keys, u64::try_from(open.passed.len()).ok()))
    }

    /// Looks at a value, to replace it later.
    pub(crate) async fn kv_watch(&mut self, bucket: &Resource<Bucket>, key: String) -> Result<Resource<Cas>, Stop> {
        let held = self.kv(bucket)?;
        let seen = held.get(&key).await?.as_deref().map(Digest::of);
        Ok(self.table.push(Cas { bucket: held.bucket, key, seen })?)
    }

    /// The value that is there now; a swap is from then on against this one.
    pub(crate) async fn kv_current(&mut self, cas: &Resource<Cas>) -> Result<Option<Vec<u8>>, Stop> {
        let Cas { bucket, key, .. } = self.table.get(cas)?;
        let (held, key) = (Held::new(&self.call, Arc::clone(bucket))?, key.clone());
        let value = held.get(&key).await?;
        self.table.get_mut(cas)?.seen = value.as_deref().map(Digest::of);
        Ok(value)
    }

    /// Replaces the value that was seen; when it is another one by now, a handle on that one comes back.
    pub(crate) async fn kv_swap(&mut self, cas: Resource<Cas>, new: &[u8]) -> Result<Option<Resource<Cas>>, Stop> {
        let Cas { bucket, key, seen } = self.table.delete(cas)?;
        let held = Held::new(&self.call, bucket)?;
        let now = held.get(&key).await?;
        let swapped = if now.as_deref().map(Digest::of) == seen {
            held.swap(&key, now.as_deref(), new).await?
        } else {
            Swapped::Differs(now)
        };
        match swapped {
            Swapped::Swapped => Ok(None),
            Swapped::Differs(other) => {
                let seen = other.as_deref().map(Digest::of);
                Ok(Some(self.table.push(Cas { bucket: held.bucket, key, seen })?))
            }
        }
    }

    /// The values of several keys, each counted as a call of its own.
    pub(crate) async fn kv_get_many(
        &mut self,
        bucket: &Resource<Bucket>,
        keys: Vec<String>,
    ) -> Result<Vec<(String, Option<Vec<u8>>)>, Stop> {
        let (mut found, mut bytes) = (Vec::new(), 0_usize);
        for key in keys {
            let value = self.kv(bucket)?.get(&key).await?;
            bytes = bytes.saturating_add(key.len()).saturating_add(value.as_ref().map_or(0, Vec::len));
            if bytes > ANSWER_BYTES_MAX {
                let message = format!("the values are more than {ANSWER_BYTES_MAX} bytes together");
                return Err(Refusal::Other(message).into());
            }
            found.push((key, value));
        }
        Ok(found)
    }

    pub(crate) async fn kv_set_many(
        &mut self,
        bucket: &Resource<Bucket>,
        pairs: &[(String, Vec<u8>)],
    ) -> Result<(), Stop> {
        for (key, value) in pairs {
            self.kv(bucket)?.set(key, value).await?;
        }
        Ok(())
    }

    pub(crate) async fn kv_delete_many(&mut self, bucket: &Resource<Bucket>, keys: &[String]) -> Result<(), Stop> {
        for key in keys {
            self.kv(bucket)?.delete(key).await?;
        }
        Ok(())
    }

    fn kv(&self, bucket: &Resource<Bucket>) -> Result<Held, Stop> {
        Held::new(&self.call, Arc::clone(&self.table.get(bucket)?.name))
    }
}

impl Held {
    fn new(call: &Arc<CallContext>, bucket: Arc<str>) -> Result<Self, Stop> {
        call.charge()?;
        let quota_kib = call.grants.kv_quota_kib().map_err(|denial| {
            call.deny(denial);
            Refusal::Denied
        })?;
        let owner = call.grants.tool().to_string();
        Ok(Self { call: Arc::clone(call), owner, bucket, quota_bytes: quota_kib.saturating_mul(1024) })
    }

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Stop> {
        check_key(key)?;
        let done = self.call.stores.kv.get(&self.owner, &self.bucket, key).await;
        done.map_err(|error| self.no(error))
    }

    async fn set(&self, key: &str, value: &[u8]) -> Result<(), Stop> {
        check_key(key)?;
        let done = self.call.stores.kv.set(&self.owner, &self.bucket, key, value, self.quota_bytes).await;
        done.map_err(|error| self.no(error))
    }

    async fn delete(&self, key: &str) -> Result<(), Stop> {
        check_key(key)?;
        let done = self.call.stores.kv.delete(&self.owner, &self.bucket, key).await;
        done.map_err(|error| self.no(error))
    }

    async fn increment(&self, key: &str, by: i64) -> Result<i64, Stop> {
        check_key(key)?;
        let done = self.call.stores.kv.increment(&self.owner, &self.bucket, key, by, self.quota_bytes).await;
        done.map_err(|error| self.no(error))
    }

    async fn keys(&self, after: Option<&str>) -> Result<Page, Stop> {
        // One key more than is given out tells whether there is another page.
        let done = self.call.stores.kv.keys(&self.owner, &self.bucket, after, PAGE_KEYS_MAX + 1).await;
        let mut keys = done.map_err(|error| self.no(error))?;
        let more = keys.len() > PAGE_KEYS_MAX;
        keys.truncate(PAGE_KEYS_MAX);
        let next = keys.last().filter(|_| more).cloned();
        Ok(Page { keys, next })
    }

    async fn swap(&self, key: &str, expected: Option<&[u8]>, new: &[u8]) -> Result<Swapped, Stop> {
        let kv = &self.call.stores.kv;
        let done = kv.swap(&self.owner, &self.bucket, key, expected, new, self.quota_bytes).await;
        done.map_err(|error| self.no(error))
    }

    fn no(&self, error: KvError) -> Stop {
        let words = match error {
            KvError::Quota { .. } | KvError::NotANumber => error.to_string(),
            KvError::Port(error) => {
                tracing::warn!(call = %self.call.id, tool = self.owner, %error, "the key-value store failed");
                "the store failed; the log of the host says why".to_owned()
            }
        };
        Refusal::Other(words).into()
    }
}

fn check_key(key: &str) -> Result<(), Refusal> {
    if key.len() > KEY_BYTES_MAX {
        return Err(Refusal::Other(format!("a key has at most {KEY_BYTES_MAX} bytes")));
    }
    Ok(())
}

fn passed(pages: &[String], number: u64) -> Result<String, Refusal> {
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    let last = index.and_then(|index| pages.get(index));
    last.cloned().ok_or_else(|| Refusal::Other(format!("cursor {number} was not given out by this handle")))
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::No(refusal)
    }
}

impl From<wasmtime::Error> for Stop {
    fn from(error: wasmtime::Error) -> Self {
        Self::Trap(error)
    }
}

impl From<ResourceTableError> for Stop {
    fn from(error: ResourceTableError) -> Self {
        Self::Trap(error.into())
    }
}

/// What an empty name opens.
const BUCKET_DEFAULT: &str = "default";
/// Longest name of a bucket in bytes, since it stands beside every key.
const BUCKET_BYTES_MAX: usize = 128;
/// Longest key in bytes; keys are indexed and listed, values are not.
const KEY_BYTES_MAX: usize = 1_024;
/// Keys of one page, so that a list is at most a megabyte in memory, whatever the quota.
const PAGE_KEYS_MAX: usize = 1_000;
/// Pages that one handle remembers, against a guest that turns pages for ever.
const PAGES_MAX: usize = 4_096;
/// Values of one batch in bytes, against one large value that is asked for a thousand times.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

#[cfg(test)]
#[path = "keyvalue_tests.rs"]
mod tests;
