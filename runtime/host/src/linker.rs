//! What can a component import? One linker with all of WASI and all of ours, made once.
//!
//! Nothing is left out by grant: what is not granted is linked to the real implementation, which answers `denied`. So an
//! import never says more than "could ask", and a component is not refused for what it does not use.

use wasmtime::{Engine, component::Linker};
use wasmtime_wasi::p2::bindings::filesystem;

use crate::{
    HostError,
    capability::fs::{FilesData, files},
    state::CallState,
    wit,
};

/// The linker of the tool world.
///
/// # Errors
/// Two interfaces clash, which is a mistake in this file.
pub fn tool_linker(engine: &Engine) -> Result<Linker<CallState>, HostError> {
    link(engine).map_err(|e| HostError::Engine(format!("{e:#}")))
}

fn link(engine: &Engine) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    // Files go through our own implementation, which decides and audits before the real one acts.
    linker.allow_shadowing(true);
    filesystem::types::add_to_linker::<_, FilesData>(&mut linker, files)?;
    filesystem::preopens::add_to_linker::<_, FilesData>(&mut linker, files)?;
    linker.allow_shadowing(false);
    wit::chitin::types::types::add_to_linker::<_, wasmtime::component::HasSelf<_>>(&mut linker, |s| s)?;
    wit::chitin::host::run::add_to_linker::<_, wasmtime::component::HasSelf<_>>(&mut linker, |s| s)?;
    wit::chitin::host::blobs::add_to_linker::<_, wasmtime::component::HasSelf<_>>(&mut linker, |s| s)?;
    wit::chitin::host::secrets::add_to_linker::<_, wasmtime::component::HasSelf<_>>(&mut linker, |s| s)?;
    wit::chitin::host::tools::add_to_linker::<_, wasmtime::component::HasSelf<_>>(&mut linker, |s| s)?;
    wit::chitin::host::recall::add_to_linker::<_, wasmtime::component::HasSelf<_>>(&mut linker, |s| s)?;
    wit::chitin::host::schedule::add_to_linker::<_, wasmtime::component::HasSelf<_>>(&mut linker, |s| s)?;
    Ok(linker)
}
