//! What does a call cost without us? The same engine and the same compiled component, in a fresh store with a plain
//! WASI context: no policy, no audit, no limits but a deadline that never comes. One task a call, as the host does it.
//!
//! What is not WASI's is stubbed here, because `define_unknown_imports_as_traps` makes a second type of a resource that
//! one interface takes from another, and then nothing links. The functions that are measured call none of the stubs.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use chitin_host::{
    capability::blobs::Blob,
    engine,
    wit::{ToolWithEverythingPre, pack::Request},
};
use wasmtime::{
    Engine, Store,
    component::{Component, Linker, ResourceTable, ResourceType, types::ComponentItem},
};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::guest::Guest;

/// One function of one component, called without a host of ours.
pub(crate) struct Raw {
    prepared: Arc<Prepared>,
    function: String,
}

type Prepared = ToolWithEverythingPre<Plain>;

/// The data of a raw store.
struct Plain {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Plain {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl Raw {
    /// Prepares the component.
    ///
    /// # Errors
    /// It cannot be loaded or linked.
    pub(crate) fn new(guest: &Guest, function: &str) -> Result<Self> {
        let engine = engine()?;
        let component = guest.component(engine)?;
        let prepared = prepare(engine, &component).map_err(|error| anyhow!("link the raw side: {error:#}"))?;
        Ok(Self { prepared: Arc::new(prepared), function: function.to_owned() })
    }

    /// Calls the function once with these arguments, a JSON object as text.
    ///
    /// # Errors
    /// It trapped or gave a failure.
    pub(crate) async fn call(&self, args: &str) -> Result<()> {
        let request = Request { tool: self.function.clone(), args: args.to_owned(), files: Vec::new() };
        let task = tokio::spawn(once(Arc::clone(&self.prepared), request));
        task.await?.map_err(|error| anyhow!("the raw call failed: {error:#}"))
    }
}

async fn once(prepared: Arc<Prepared>, request: Request) -> wasmtime::Result<()> {
    let wasi = WasiCtx::builder().allow_blocking_current_thread(true).build();
    let mut store = Store::new(prepared.engine(), Plain { wasi, table: ResourceTable::new() });
    store.set_epoch_deadline(NEVER_TICKS);
    let instance = prepared.instantiate_async(&mut store).await?;
    match instance.chitin_tool_guest().call_invoke(&mut store, &request).await? {
        Ok(_parts) => Ok(()),
        Err(failure) => Err(wasmtime::Error::msg(failure.message)),
    }
}

fn prepare(engine: &Engine, component: &Component) -> wasmtime::Result<Prepared> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    stub_missing(&mut linker, engine, component)?;
    ToolWithEverythingPre::new(linker.instantiate_pre(component)?)
}

/// Defines what the component imports and plain WASI lacks. Types come in the order of the imports, so a resource that
/// was seen before is borrowed from another interface and needs no definition of its own.
fn stub_missing(linker: &mut Linker<Plain>, engine: &Engine, component: &Component) -> wasmtime::Result<()> {
    let mut seen: Vec<ResourceType> = Vec::new();
    let world = component.component_type();
    for (interface, import) in world.imports(engine) {
        let ComponentItem::ComponentInstance(instance) = import.ty else { continue };
        let missing = MISSING.iter().any(|start| interface.starts_with(start));
        for (name, export) in instance.exports(engine) {
            match export.ty {
                ComponentItem::Resource(resource) => {
                    let is_new = !seen.contains(&resource);
                    seen.push(resource);
                    if missing && is_new {
                        // The bindings of the guest's export know one resource, so it stands for all of them.
                        linker.instance(interface)?.resource(name, ResourceType::host::<Blob>(), |_, _| Ok(()))?;
                    }
                }
                ComponentItem::ComponentFunc(_) if missing => {
                    let refuse = || wasmtime::Error::msg("the raw side has WASI only");
                    linker.instance(interface)?.func_new(name, move |_, _, _, _| Err(refuse()))?;
                }
                ComponentItem::ComponentFunc(_)
                | ComponentItem::CoreFunc(_)
                | ComponentItem::Module(_)
                | ComponentItem::Component(_)
                | ComponentItem::ComponentInstance(_)
                | ComponentItem::Type(_) => {}
            }
        }
    }
    Ok(())
}

/// How the names of the interfaces begin that are stubbed.
const MISSING: [&str; 5] = ["chitin:", "wasi:config/", "wasi:http/", "wasi:keyvalue/", "wasi:logging/"];
/// Ticks until the deadline; at 100 a second, further away than any run.
const NEVER_TICKS: u64 = 1 << 40;
