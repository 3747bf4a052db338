//! How does a component speak `wasi:keyvalue` 0.2.0-draft2? Cursors are keys, increments are signed, and a value can be
//! replaced only while it is the one that was seen.
//!
//! Grant, state and limits are those of `keyvalue`; here is only the translation.

use wasmtime::component::{HasSelf, Linker, Resource};

use self::wit::wasi::keyvalue::{atomics, batch, store};
use super::keyvalue::{Bucket, Cas, Page, Refusal, answer};
use crate::state::CallState;

/// What the WIT says, in Rust.
#[expect(missing_docs, reason = "the WIT files document what is generated from them")]
pub mod wit {
    wasmtime::component::bindgen!({
        inline: "
            package chitin:capability;
            world keyvalue-draft2 {
                import wasi:keyvalue/store@0.2.0-draft2;
                import wasi:keyvalue/atomics@0.2.0-draft2;
                import wasi:keyvalue/batch@0.2.0-draft2;
            }
        ",
        path: "../../wit/deps/keyvalue-0.2.0-draft2.wit",
        world: "chitin:capability/keyvalue-draft2",
        imports: { default: async | trappable },
        with: {
            "wasi:keyvalue/store.bucket": crate::capability::keyvalue::Bucket,
            "wasi:keyvalue/atomics.cas": crate::capability::keyvalue::Cas,
        },
    });
}

pub(crate) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    store::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    atomics::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    batch::add_to_linker::<_, HasSelf<_>>(linker, |state| state)
}

impl From<Refusal> for store::Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoSuchStore => Self::NoSuchStore,
            Refusal::Denied => Self::AccessDenied,
            Refusal::Other(words) => Self::Other(words),
        }
    }
}

impl From<Refusal> for atomics::CasError {
    fn from(refusal: Refusal) -> Self {
        Self::StoreError(refusal.into())
    }
}

type Answer<T> = wasmtime::Result<Result<T, store::Error>>;

impl store::Host for CallState {
    async fn open(&mut self, identifier: String) -> Answer<Resource<Bucket>> {
        answer(self.kv_open(&identifier))
    }
}

impl store::HostBucket for CallState {
    async fn get(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<Option<Vec<u8>>> {
        answer(self.kv_get(&bucket, &key).await)
    }

    async fn set(&mut self, bucket: Resource<Bucket>, key: String, value: Vec<u8>) -> Answer<()> {
        answer(self.kv_set(&bucket, &key, &value).await)
    }

    async fn delete(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<()> {
        answer(self.kv_delete(&bucket, &key).await)
    }

    async fn exists(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<bool> {
        let value = self.kv_get(&bucket, &key).await;
        answer(value.map(|value| value.is_some()))
    }

    async fn list_keys(&mut self, bucket: Resource<Bucket>, cursor: Option<String>) -> Answer<store::KeyResponse> {
        let page = self.kv_keys(&bucket, cursor.as_deref()).await;
        answer(page.map(|Page { keys, next }| store::KeyResponse { keys, cursor: next }))
    }

    async fn drop(&mut self, bucket: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl atomics::Host for CallState {
    async fn increment(&mut self, bucket: Resource<Bucket>, key: String, delta: i64) -> Answer<i64> {
        answer(self.kv_increment(&bucket, &key, delta).await)
    }

    async fn swap(&mut self, cas: Resource<Cas>, value: Vec<u8>) -> wasmtime::Result<Result<(), atomics::CasError>> {
        let swapped: Result<_, atomics::CasError> = answer(self.kv_swap(cas, &value).await)?;
        Ok(match swapped {
            Ok(None) => Ok(()),
            Ok(Some(newer)) => Err(atomics::CasError::CasFailed(newer)),
            Err(error) => Err(error),
        })
    }
}

impl atomics::HostCas for CallState {
    async fn new(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<Resource<Cas>> {
        answer(self.kv_watch(&bucket, key).await)
    }

    async fn current(&mut self, cas: Resource<Cas>) -> Answer<Option<Vec<u8>>> {
        answer(self.kv_current(&cas).await)
    }

    async fn drop(&mut self, cas: Resource<Cas>) -> wasmtime::Result<()> {
        self.table.delete(cas)?;
        Ok(())
    }
}

impl batch::Host for CallState {
    async fn get_many(
        &mut self,
        bucket: Resource<Bucket>,
        keys: Vec<String>,
    ) -> Answer<Vec<(String, Option<Vec<u8>>)>> {
        answer(self.kv_get_many(&bucket, keys).await)
    }

    async fn set_many(&mut self, bucket: Resource<Bucket>, pairs: Vec<(String, Vec<u8>)>) -> Answer<()> {
        answer(self.kv_set_many(&bucket, &pairs).await)
    }

    async fn delete_many(&mut self, bucket: Resource<Bucket>, keys: Vec<String>) -> Answer<()> {
        answer(self.kv_delete_many(&bucket, &keys).await)
    }
}
