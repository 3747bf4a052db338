//! What answers where nothing can be granted yet? Every function here says `denied` and names its rule.
//!
//! A grant cannot name these capabilities (the key does not parse), so each call is refused, audited and counted. The
//! functions exist so that a component built against the whole world links and can tell its user why.

use wasmtime::component::Resource;

use crate::{
    state::CallState,
    wit::{
        chitin::host::{blobs, recall, schedule, secrets, tools},
        wire::{self, Failure, FailureKind},
    },
};

/// A file of the host. None is ever made while `blobs` is denied.
pub struct Blob;
/// A file being written. None is ever made while `blobs` is denied.
pub struct BlobWriter;

impl CallState {
    fn refuse(&mut self, capability: &str) -> wasmtime::Result<Failure> {
        self.call.charge()?;
        let rule = format!("grant:{capability}");
        let message = format!("{} is not granted to {}", capability, self.call.grants.tool());
        self.call.deny(chitin_types::Denial { rule: rule.clone(), reason: message.clone(), help: None });
        let code = Some(rule.replace(':', "-"));
        Ok(Failure { kind: FailureKind::Denied, code, message, retry_after_ms: None })
    }
}

impl wire::Host for CallState {}

impl wire::HostBlob for CallState {
    async fn size(&mut self, _blob: Resource<Blob>) -> wasmtime::Result<Option<u64>> {
        Ok(None)
    }
    async fn media_type(&mut self, _blob: Resource<Blob>) -> wasmtime::Result<Option<String>> {
        Ok(None)
    }
    async fn name(&mut self, _blob: Resource<Blob>) -> wasmtime::Result<Option<String>> {
        Ok(None)
    }
    async fn read(&mut self, _: Resource<Blob>, _: u64, _: u32) -> wasmtime::Result<Result<Vec<u8>, Failure>> {
        Ok(Err(self.refuse("blobs")?))
    }
    async fn drop(&mut self, blob: Resource<Blob>) -> wasmtime::Result<()> {
        self.table.delete(blob)?;
        Ok(())
    }
}

impl blobs::Host for CallState {
    async fn create(
        &mut self,
        _name: Option<String>,
        _media_type: Option<String>,
    ) -> wasmtime::Result<Result<Resource<BlobWriter>, Failure>> {
        Ok(Err(self.refuse("blobs")?))
    }
}

impl blobs::HostBlobWriter for CallState {
    async fn write(&mut self, _: Resource<BlobWriter>, _: Vec<u8>) -> wasmtime::Result<Result<(), Failure>> {
        Ok(Err(self.refuse("blobs")?))
    }
    async fn finish(&mut self, writer: Resource<BlobWriter>) -> wasmtime::Result<Result<Resource<Blob>, Failure>> {
        self.table.delete(writer)?;
        Ok(Err(self.refuse("blobs")?))
    }
    async fn drop(&mut self, writer: Resource<BlobWriter>) -> wasmtime::Result<()> {
        self.table.delete(writer)?;
        Ok(())
    }
}

impl secrets::Host for CallState {
    async fn available(&mut self, _name: String) -> wasmtime::Result<bool> {
        self.refuse("secrets")?;
        Ok(false)
    }
    async fn token(&mut self, _name: String) -> wasmtime::Result<Result<String, Failure>> {
        Ok(Err(self.refuse("secrets")?))
    }
    async fn hmac_sha256(&mut self, _: String, _: Vec<u8>) -> wasmtime::Result<Result<Vec<u8>, Failure>> {
        Ok(Err(self.refuse("secrets")?))
    }
    async fn sign_jwt(&mut self, _: String, _: String) -> wasmtime::Result<Result<String, Failure>> {
        Ok(Err(self.refuse("secrets")?))
    }
}

impl tools::Host for CallState {
    async fn call(
        &mut self,
        _alias: String,
        _args: String,
        _files: Vec<(String, Resource<Blob>)>,
    ) -> wasmtime::Result<Result<Vec<wire::Part>, Failure>> {
        Ok(Err(self.refuse("tools")?))
    }
}

impl recall::Host for CallState {
    async fn query(
        &mut self,
        _text: String,
        _scope: Option<String>,
        _limit: u32,
    ) -> wasmtime::Result<Result<Vec<recall::Memory>, Failure>> {
        Ok(Err(self.refuse("recall")?))
    }
    async fn remember(&mut self, _: String, _: String) -> wasmtime::Result<Result<String, Failure>> {
        Ok(Err(self.refuse("recall")?))
    }
    async fn forget(&mut self, _id: String) -> wasmtime::Result<Result<(), Failure>> {
        Ok(Err(self.refuse("recall")?))
    }
}

impl schedule::Host for CallState {
    async fn add(&mut self, _: schedule::When, _: String, _: String) -> wasmtime::Result<Result<String, Failure>> {
        Ok(Err(self.refuse("schedule")?))
    }
    async fn entries(&mut self) -> wasmtime::Result<Result<Vec<schedule::Entry>, Failure>> {
        Ok(Err(self.refuse("schedule")?))
    }
    async fn remove(&mut self, _id: String) -> wasmtime::Result<Result<(), Failure>> {
        Ok(Err(self.refuse("schedule")?))
    }
}
