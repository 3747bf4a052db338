//! The key-value port: what components keep between their calls, each in its own rows and within its own quota.
//!
//! A change asks for the quota in the transaction that it writes in, so two changes at once cannot pass it together.

use async_trait::async_trait;
use chitin_ports::{Cas, KeyValue, KvError, PortError};
use rusqlite::{Connection, OptionalExtension};

use crate::{Records, schema};

/// What a change came to; the inner error is about it alone, and it changed nothing then.
type Changed<T> = Result<Result<T, KvError>, rusqlite::Error>;

#[async_trait]
impl KeyValue for Records {
    async fn get(&self, owner: &str, bucket: &str, key: &str) -> Result<Option<Vec<u8>>, KvError> {
        let slot = Slot::parse(owner, bucket, key)?;
        let value = self.read(move |connection| Ok(slot.value(connection)?)).await;
        Ok(value.map_err(PortError::from)?)
    }

    async fn set(&self, owner: &str, bucket: &str, key: &str, value: &[u8], quota_bytes: u64) -> Result<(), KvError> {
        let slot = Slot::parse(owner, bucket, key)?;
        let value = checked(value)?;
        self.change(move |connection| {
            let old = slot.value(connection)?;
            slot.put(connection, old.as_deref(), &value, quota_bytes)
        })
        .await
    }

    async fn delete(&self, owner: &str, bucket: &str, key: &str) -> Result<(), KvError> {
        let slot = Slot::parse(owner, bucket, key)?;
        self.change(move |connection| {
            connection.prepare_cached("DELETE FROM kv WHERE owner = ?1 AND bucket = ?2 AND key = ?3")?.execute((
                &slot.owner,
                &slot.bucket,
                &slot.key,
            ))?;
            Ok(Ok(()))
        })
        .await
    }

    async fn keys(&self, owner: &str, bucket: &str, after: Option<&str>, max: usize) -> Result<Vec<String>, KvError> {
        let (owner, bucket) = (owner.to_owned(), bucket.to_owned());
        // No key is empty, so all of them come after the empty text.
        let after = after.unwrap_or_default().to_owned();
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let keys = self.read(move |connection| {
            let mut select = connection.prepare_cached(
                "SELECT key FROM kv WHERE owner = ?1 AND bucket = ?2 AND key > ?3 ORDER BY key LIMIT ?4",
            )?;
            let keys = select.query_map((owner, bucket, after, max), |row| row.get(0))?;
            Ok(keys.collect::<Result<Vec<String>, _>>()?)
        });
        Ok(keys.await.map_err(PortError::from)?)
    }

    async fn increment(&self, owner: &str, bucket: &str, key: &str, by: i64, quota_bytes: u64) -> Result<i64, KvError> {
        let slot = Slot::parse(owner, bucket, key)?;
        self.change(move |connection| {
            let old = slot.value(connection)?;
            let sum = match summed(old.as_deref(), by) {
                Ok(sum) => sum,
                Err(error) => return Ok(Err(error)),
            };
            let put = slot.put(connection, old.as_deref(), sum.to_string().as_bytes(), quota_bytes)?;
            Ok(put.map(|()| sum))
        })
        .await
    }

    async fn swap(
        &self,
        owner: &str,
        bucket: &str,
        key: &str,
        expected: Option<&[u8]>,
        new: &[u8],
        quota_bytes: u64,
    ) -> Result<Cas, KvError> {
        let slot = Slot::parse(owner, bucket, key)?;
        let (expected, new) = (expected.map(<[u8]>::to_vec), checked(new)?);
        self.change(move |connection| {
            let old = slot.value(connection)?;
            if old != expected {
                return Ok(Ok(Cas::Differs(old)));
            }
            let put = slot.put(connection, old.as_deref(), &new, quota_bytes)?;
            Ok(put.map(|()| Cas::Swapped))
        })
        .await
    }
}

/// Where one value is kept.
struct Slot {
    owner: String,
    bucket: String,
    key: String,
}

impl Slot {
    fn parse(owner: &str, bucket: &str, key: &str) -> Result<Self, KvError> {
        let refused = |what: &str, allowed: &str| {
            Err(KvError::Port(PortError(format!("use the store: a {what} has {allowed} bytes"))))
        };
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return refused("key", &format!("1 to {KEY_BYTES_MAX}"));
        }
        if bucket.len() > BUCKET_BYTES_MAX {
            return refused("bucket", &format!("at most {BUCKET_BYTES_MAX}"));
        }
        Ok(Self { owner: owner.to_owned(), bucket: bucket.to_owned(), key: key.to_owned() })
    }

    fn value(&self, connection: &Connection) -> Result<Option<Vec<u8>>, rusqlite::Error> {
        connection
            .prepare_cached("SELECT value FROM kv WHERE owner = ?1 AND bucket = ?2 AND key = ?3")?
            .query_row((&self.owner, &self.bucket, &self.key), |row| row.get(0))
            .optional()
    }

    /// Keeps a value in the place of `old`, if the quota allows it.
    fn put(&self, connection: &Connection, old: Option<&[u8]>, new: &[u8], quota_bytes: u64) -> Changed<()> {
        let (used_bytes, entries) = connection
            .prepare_cached("SELECT bytes, entries FROM kv_used WHERE owner = ?1")?
            .query_row([&self.owner], |row| Ok((schema::from_sql(row.get(0)?), schema::from_sql(row.get(1)?))))
            .optional()?
            .unwrap_or_default();
        let size = |value: &[u8]| u64::try_from(self.key.len() + value.len()).unwrap_or(u64::MAX);
        let next_bytes = used_bytes.saturating_sub(old.map_or(0, size)).saturating_add(size(new));
        // A quota that was lowered later does not stop anyone from using less.
        if next_bytes > quota_bytes && next_bytes > used_bytes {
            return Ok(Err(KvError::Quota { used_bytes, quota_bytes }));
        }
        if old.is_none() && entries >= ENTRIES_MAX {
            let full = format!("keep the value: there are {entries} keys and {ENTRIES_MAX} are allowed");
            return Ok(Err(KvError::Port(PortError(full))));
        }
        connection
            .prepare_cached(
                "INSERT INTO kv (owner, bucket, key, value) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (owner, bucket, key) DO UPDATE SET value = excluded.value",
            )?
            .execute((&self.owner, &self.bucket, &self.key, new))?;
        Ok(Ok(()))
    }
}

fn summed(old: Option<&[u8]>, by: i64) -> Result<i64, KvError> {
    let old = match old {
        None => 0,
        Some(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|_| KvError::NotANumber)?;
            text.parse::<i64>().map_err(|_| KvError::NotANumber)?
        }
    };
    let too_large = || KvError::Port(PortError("count up the value: the sum does not fit 64 bits".to_owned()));
    old.checked_add(by).ok_or_else(too_large)
}

fn checked(value: &[u8]) -> Result<Vec<u8>, KvError> {
    if value.len() > VALUE_BYTES_MAX {
        let why = format!("it has {} bytes and {VALUE_BYTES_MAX} are allowed", value.len());
        return Err(KvError::Port(PortError(format!("keep the value: {why}"))));
    }
    Ok(value.to_vec())
}

/// One key: it stands in each page of the index, and many long ones would make every look-up slow.
const KEY_BYTES_MAX: usize = 256;
/// The name of one bucket, which every row repeats.
const BUCKET_BYTES_MAX: usize = 256;
/// One value, far above what is kept between calls; larger ones would hold up the writer for everyone.
const VALUE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Keys of one owner. A row costs more than the quota counts, so millions of tiny ones would fill the disk within it.
const ENTRIES_MAX: u64 = 65_536;

#[cfg(test)]
#[path = "kv_tests.rs"]
mod tests;
