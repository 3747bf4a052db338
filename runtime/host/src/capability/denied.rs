//! What answers where nothing can be granted yet? Every function here says `denied` and names its rule.
//!
//! A grant cannot name these capabilities (the key does not parse), so each call is refused, audited and counted. The
//! functions exist so that a component built against the whole world links and can tell its user why.

use wasmtime::component::Resource;

use super::{blobs::Blob, failure};
use crate::{
    state::CallState,
    wit::{
        chitin::host::{schedule, secrets, tools},
        wire::{self, Failure},
    },
};

impl CallState {
    fn refuse(&mut self, capability: &str) -> wasmtime::Result<Failure> {
        self.call.charge()?;
        let reason = format!("{} is not granted to {}", capability, self.call.grants.tool());
        let denial = chitin_types::Denial { rule: format!("grant:{capability}"), reason, help: None };
        Ok(failure::denied(&self.call, denial))
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
