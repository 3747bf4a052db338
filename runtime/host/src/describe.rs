//! What does a component offer? Verified bytes go in; its functions come out, checked: told by itself in an instance that is
//! granted nothing, or read from its type.

use std::sync::Arc;

use async_trait::async_trait;
use chitin_policy::{Defaults, Grant, Grants};
use chitin_ports::{DescribeError, LeftOut, PackDescription, PackFunction, PackKind, PortError};
use chitin_types::{Capabilities, Digest, Effects, FunctionName, ToolName};
use wasmtime::{
    Engine,
    component::{Component, HasSelf, InstancePre},
};

use crate::{
    Host, HostError,
    channel::wit::{
        ChannelHostPre,
        chitin::channel::{inbox, sockets},
    },
    engine::engine,
    linker::base_linker,
    loaded::{GUEST, Prepared, kind},
    reflect::reflect,
    state::CallState,
    wit::{ToolWithEverythingPre, pack},
};

/// Functions of one pack; more would crowd out every other tool of the model's list.
const FUNCTIONS_MAX: usize = 64;
/// Longest summary in characters, from the WIT contract.
const SUMMARY_CHARS_MAX: usize = 1_024;
/// Largest input schema in bytes, from the WIT contract.
const SCHEMA_BYTES_MAX: usize = 64 * 1024;

#[async_trait]
impl chitin_ports::Describe for Host {
    async fn describe(&self, component: &[u8]) -> Result<PackDescription, DescribeError> {
        let engine = engine().map_err(refused)?;
        let compiled = self.loaded().compile(engine, component).await.map_err(refused)?;
        let imports = compiled.component_type().imports(engine).map(|(name, _)| name.to_owned()).collect();
        let kind = kind(engine, &compiled);
        let (functions, left_out) = match kind {
            PackKind::Channel => (vec![], channel(engine, &compiled)?),
            PackKind::Pack | PackKind::Typed => match self.loaded().prepare(engine, &compiled).map_err(refused)? {
                Prepared::Pack(pre) => (self.told(&pre, component).await?, vec![]),
                Prepared::Typed(_) => typed(engine, &compiled),
            },
        };
        Ok(PackDescription { kind, functions, left_out, imports })
    }
}

impl Host {
    async fn told(
        &self,
        pre: &ToolWithEverythingPre<CallState>,
        component: &[u8],
    ) -> Result<Vec<PackFunction>, DescribeError> {
        let specs = self
            .ask(pre, deny_all(component))
            .await
            .map_err(|why| DescribeError::BadAnswer(format!("describe failed: {why}")))?;
        if specs.is_empty() || specs.len() > FUNCTIONS_MAX {
            let count = specs.len();
            return Err(DescribeError::BadAnswer(format!(
                "it describes {count} functions; 1 to {FUNCTIONS_MAX} are accepted"
            )));
        }
        specs.into_iter().map(checked).collect()
    }
}

fn typed(engine: &Engine, component: &Component) -> (Vec<PackFunction>, Vec<LeftOut>) {
    let reflected = reflect(engine, component);
    (reflected.functions.into_iter().map(|function| function.described).collect(), reflected.left_out)
}

// A channel is not started here: its callbacks expect an inbox, and what they say is for the platform. What is checked is
// that it could start. Gives what it exports and is not offered.
fn channel(engine: &Engine, component: &Component) -> Result<Vec<LeftOut>, DescribeError> {
    let wrong = |error: wasmtime::Error| DescribeError::NotRunnable(format!("{error:#}"));
    linked(engine, component).and_then(ChannelHostPre::new).map_err(wrong)?;
    let ty = component.component_type();
    let guests = ty.exports(engine).filter(|(name, _)| name.starts_with(GUEST));
    let reason = "the component is a channel, whose functions are not offered";
    Ok(guests.map(|(name, _)| LeftOut { export: name.to_owned(), reason: reason.to_owned() }).collect())
}

fn linked(engine: &Engine, component: &Component) -> wasmtime::Result<InstancePre<CallState>> {
    let mut linker = base_linker(engine)?;
    inbox::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
    sockets::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
    linker.instantiate_pre(component)
}

fn refused(error: HostError) -> DescribeError {
    match error {
        HostError::NotRunnable(why) => DescribeError::NotRunnable(why),
        HostError::Engine(_) | HostError::Cache(_) | HostError::Compile(_) | HostError::Root { .. } => {
            DescribeError::Port(PortError(error.to_string()))
        }
    }
}

/// Grants that hold nothing, for a component that nobody has decided about yet.
fn deny_all(component: &[u8]) -> Arc<Grants> {
    let unnamed = ToolName::parse("chitin/describe").expect("a literal name in the right spelling");
    let grant = Grant::nothing(unnamed, Digest::of(component));
    Arc::new(Grants::intersect(Capabilities::default(), grant, Capabilities::default(), &Defaults::default()))
}

fn checked(spec: pack::Spec) -> Result<PackFunction, DescribeError> {
    let wrong = |why: String| DescribeError::BadAnswer(format!("function {:?}: {why}", spec.name));
    let name = FunctionName::parse(spec.name.clone()).map_err(|e| wrong(e.to_string()))?;
    if spec.summary.chars().count() > SUMMARY_CHARS_MAX {
        return Err(wrong(format!("its summary is longer than {SUMMARY_CHARS_MAX} characters")));
    }
    if spec.input_schema.len() > SCHEMA_BYTES_MAX {
        return Err(wrong("its schema is larger than 64 KiB".to_owned()));
    }
    let input_schema: serde_json::Value =
        serde_json::from_str(&spec.input_schema).map_err(|e| wrong(format!("its schema is no JSON: {e}")))?;
    if input_schema.get("type").and_then(|t| t.as_str()) != Some("object") {
        return Err(wrong("its schema is not of an object".to_owned()));
    }
    // The whole schema is checked here, once, so that a call need not do it again. Nothing is ever fetched.
    if let Err(error) = jsonschema::options().offline().build(&input_schema) {
        return Err(wrong(format!("its schema cannot be used: {error}")));
    }
    Ok(PackFunction { name, title: spec.title, summary: spec.summary, input_schema, effects: effects(spec.effects) })
}

fn effects(flags: pack::Effects) -> Effects {
    use pack::Effects as E;
    Effects {
        reads: flags.contains(E::READS),
        writes: flags.contains(E::WRITES),
        destroys: flags.contains(E::DESTROYS),
        open_world: flags.contains(E::OPEN_WORLD),
        idempotent: flags.contains(E::IDEMPOTENT),
        repeatable: flags.contains(E::REPEATABLE),
        pays: flags.contains(E::PAYS),
    }
}
