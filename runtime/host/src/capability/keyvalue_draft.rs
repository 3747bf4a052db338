//! How does a component speak `wasi:keyvalue` 0.2.0-draft? Cursors are numbers, increments are unsigned.
//!
//! Grant, state and limits are those of `keyvalue`; here is only the translation.

use wasmtime::component::{HasSelf, Linker, Resource};

use self::wit::wasi::keyvalue::{atomics, batch, store};
use super::keyvalue::{Bucket, Refusal, Stop, answer};
use crate::state::CallState;

/// What the WIT says, in Rust.
#[expect(missing_docs, reason = "the WIT files document what is generated from them")]
pub mod wit {
    wasmtime::component::bindgen!({
        inline: "
            package chitin:capability;
            world keyvalue-draft {
                import wasi:keyvalue/store@0.2.0-draft;
                import wasi:keyvalue/atomics@0.2.0-draft;
                import wasi:keyvalue/batch@0.2.0-draft;
            }
        ",
        path: "../../wit/deps/keyvalue-0.2.0-draft.wit",
        world: "chitin:capability/keyvalue-draft",
        imports: { default: async | trappable },
        with: { "wasi:keyvalue/store.bucket": crate::capability::keyvalue::Bucket },
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

    async fn list_keys(&mut self, bucket: Resource<Bucket>, cursor: Option<u64>) -> Answer<store::KeyResponse> {
        let page = self.kv_page(&bucket, cursor).await;
        answer(page.map(|(keys, cursor)| store::KeyResponse { keys, cursor }))
    }

    async fn drop(&mut self, bucket: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl atomics::Host for CallState {
    async fn increment(&mut self, bucket: Resource<Bucket>, key: String, delta: u64) -> Answer<u64> {
        let Ok(by) = i64::try_from(delta) else {
            return answer(Err(Refusal::Other(format!("{delta} is more than can be added at once")).into()));
        };
        answer(self.kv_increment(&bucket, &key, by).await.and_then(unsigned))
    }
}

/// The other draft can count below zero, which this one cannot say.
fn unsigned(value: i64) -> Result<u64, Stop> {
    u64::try_from(value).map_err(|_| Refusal::Other(format!("the value is now {value}, below zero")).into())
}

impl batch::Host for CallState {
    async fn get_many(
        &mut self,
        bucket: Resource<Bucket>,
        keys: Vec<String>,
    ) -> Answer<Vec<Option<(String, Vec<u8>)>>> {
        let found = self.kv_get_many(&bucket, keys).await;
        answer(found.map(|pairs| pairs.into_iter().map(|(key, value)| value.map(|value| (key, value))).collect()))
    }

    async fn set_many(&mut self, bucket: Resource<Bucket>, pairs: Vec<(String, Vec<u8>)>) -> Answer<()> {
        answer(self.kv_set_many(&bucket, &pairs).await)
    }

    async fn delete_many(&mut self, bucket: Resource<Bucket>, keys: Vec<String>) -> Answer<()> {
        answer(self.kv_delete_many(&bucket, &keys).await)
    }
}
