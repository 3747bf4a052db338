//! How does a component keep something between its calls? By key, in buckets of its own, within its quota.

use async_trait::async_trait;

use crate::PortError;

/// Why nothing was kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KvError {
    /// It would pass the quota; nothing was changed.
    #[error("the store holds {used_bytes} bytes and may hold {quota_bytes}")]
    Quota {
        /// Keys and values of the owner before the change.
        used_bytes: u64,
        /// The most that they may be together.
        quota_bytes: u64,
    },
    /// The value is not a number that can be counted up.
    #[error("the value is no integer")]
    NotANumber,
    /// The store failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// What compare-and-swap did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cas {
    /// The value was the expected one and is now the new one.
    Swapped,
    /// It was another one, which this is.
    Differs(Option<Vec<u8>>),
}

/// Keys and values. `owner` is the tool (`publisher/name`), stamped by the host: no guest can name another's. Owner,
/// bucket and key are separate columns, so that no joined text is ambiguous.
#[async_trait]
#[expect(clippy::too_many_arguments, reason = "owner, bucket and key stay apart, so that no joined text is ambiguous")]
pub trait KeyValue: Send + Sync {
    /// The value, or nothing.
    async fn get(&self, owner: &str, bucket: &str, key: &str) -> Result<Option<Vec<u8>>, KvError>;
    /// Keeps a value. `quota_bytes` bounds keys and values of the owner over all buckets.
    async fn set(&self, owner: &str, bucket: &str, key: &str, value: &[u8], quota_bytes: u64) -> Result<(), KvError>;
    /// Removes a value; succeeds also when there is none.
    async fn delete(&self, owner: &str, bucket: &str, key: &str) -> Result<(), KvError>;
    /// Keys in their order, after `after`, at most `max`.
    async fn keys(&self, owner: &str, bucket: &str, after: Option<&str>, max: usize) -> Result<Vec<String>, KvError>;
    /// Adds to a value that is a decimal number, 0 when there is none, in one step; the new value.
    async fn increment(&self, owner: &str, bucket: &str, key: &str, by: i64, quota_bytes: u64) -> Result<i64, KvError>;
    /// Keeps `new` if the value is `expected`, in one step.
    async fn swap(
        &self,
        owner: &str,
        bucket: &str,
        key: &str,
        expected: Option<&[u8]>,
        new: &[u8],
        quota_bytes: u64,
    ) -> Result<Cas, KvError>;
}
