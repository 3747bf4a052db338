//! What can a component import? One linker with all of WASI and all of ours, made once.
//!
//! Nothing is left out by grant: what is not granted is linked to the real implementation, which answers `denied`. So an
//! import never says more than "could ask", and a component is not refused for what it does not use.

use wasmtime::{
    Engine,
    component::{HasSelf, Linker},
};
use wasmtime_wasi::p2::bindings::filesystem;

use crate::{
    HostError,
    capability::{
        config,
        fs::{FilesData, files},
        keyvalue_draft, keyvalue_draft2, logging,
    },
    state::CallState,
    wit::chitin,
};

/// The linker of the tool world.
///
/// # Errors
/// Two interfaces clash, which is a mistake in this file.
pub fn tool_linker(engine: &Engine) -> Result<Linker<CallState>, HostError> {
    base_linker(engine).map_err(|e| HostError::Engine(format!("{e:#}")))
}

/// What every world can import; a world that has more adds it to this.
pub(crate) fn base_linker(engine: &Engine) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    // Files go through our own implementation, which decides and audits before the real one acts.
    linker.allow_shadowing(true);
    filesystem::types::add_to_linker::<_, FilesData>(&mut linker, files)?;
    filesystem::preopens::add_to_linker::<_, FilesData>(&mut linker, files)?;
    linker.allow_shadowing(false);
    keyvalue_draft::link(&mut linker)?;
    keyvalue_draft2::link(&mut linker)?;
    config::link(&mut linker)?;
    logging::link(&mut linker)?;
    chitin::types::types::add_to_linker::<_, HasSelf<_>>(&mut linker, |s| s)?;
    chitin::host::run::add_to_linker::<_, HasSelf<_>>(&mut linker, |s| s)?;
    chitin::host::blobs::add_to_linker::<_, HasSelf<_>>(&mut linker, |s| s)?;
    chitin::host::secrets::add_to_linker::<_, HasSelf<_>>(&mut linker, |s| s)?;
    chitin::host::tools::add_to_linker::<_, HasSelf<_>>(&mut linker, |s| s)?;
    chitin::host::recall::add_to_linker::<_, HasSelf<_>>(&mut linker, |s| s)?;
    chitin::host::schedule::add_to_linker::<_, HasSelf<_>>(&mut linker, |s| s)?;
    Ok(linker)
}

#[cfg(test)]
mod tests {
    use wasmtime::StoreContextMut;

    use super::*;
    use crate::{Slots, engine::engine_with};

    #[test]
    fn drafts_are_linked_under_their_exact_names_and_no_others() {
        let mut linker = base_linker(engine_with(Slots::Command).unwrap()).unwrap();
        let mut check = |instance: &str, function: &str, expected: bool| {
            let mut place = linker.instance(instance).unwrap();
            // A function that is there cannot be defined a second time.
            let again = place.func_wrap(function, |_: StoreContextMut<'_, CallState>, (): ()| Ok(()));
            assert_eq!(again.is_err(), expected, "{instance} {function}");
        };
        check("wasi:keyvalue/store@0.2.0-draft", "open", true);
        check("wasi:keyvalue/atomics@0.2.0-draft", "increment", true);
        check("wasi:keyvalue/atomics@0.2.0-draft", "swap", false);
        check("wasi:keyvalue/batch@0.2.0-draft", "get-many", true);
        check("wasi:keyvalue/store@0.2.0-draft2", "open", true);
        check("wasi:keyvalue/atomics@0.2.0-draft2", "swap", true);
        check("wasi:keyvalue/batch@0.2.0-draft2", "get-many", true);
        check("wasi:keyvalue/store@0.2.0", "open", false);
        check("wasi:config/store@0.2.0-rc.1", "get-all", true);
        check("wasi:config/store@0.2.0-draft-2024-09-27", "get-all", true);
        check("wasi:config/store@0.2.0-draft", "get-all", false);
        check("wasi:logging/logging@0.1.0-draft", "log", true);
        check("wasi:logging/logging", "log", true);
        check("chitin:host/recall@0.1.0", "entries", true);
    }
}
