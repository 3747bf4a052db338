//! What does a component offer? Verified bytes go in; its own description comes out, checked, from an instance that is
//! granted nothing.

use std::sync::Arc;

use async_trait::async_trait;
use chitin_policy::{Defaults, Grant, Grants};
use chitin_ports::{DescribeError, PackDescription, PackFunction, PortError};
use chitin_types::{Capabilities, Digest, Effects, FunctionName, ToolName};

use crate::{Host, HostError, engine::engine, wit::pack};

/// Functions of one pack; more would crowd out every other tool of the model's list.
const FUNCTIONS_MAX: usize = 64;
/// Longest summary in characters, from the WIT contract.
const SUMMARY_CHARS_MAX: usize = 1_024;
/// Largest input schema in bytes, from the WIT contract.
const SCHEMA_BYTES_MAX: usize = 64 * 1024;

#[async_trait]
impl chitin_ports::Describe for Host {
    async fn describe(&self, component: &[u8]) -> Result<PackDescription, DescribeError> {
        let engine = engine().map_err(|e| port(&e))?;
        let (compiled, prepared) = self.loaded().compile(engine, component).map_err(|error| match error {
            HostError::NotRunnable(why) => DescribeError::NotRunnable(why),
            other => port(&other),
        })?;
        let imports = compiled.component_type().imports(engine).map(|(name, _)| name.to_owned()).collect();
        let specs = self
            .ask(prepared, deny_all(component))
            .await
            .map_err(|why| DescribeError::BadAnswer(format!("describe failed: {why}")))?;
        if specs.is_empty() || specs.len() > FUNCTIONS_MAX {
            let count = specs.len();
            return Err(DescribeError::BadAnswer(format!(
                "it describes {count} functions; 1 to {FUNCTIONS_MAX} are accepted"
            )));
        }
        let functions = specs.into_iter().map(checked).collect::<Result<Vec<_>, _>>()?;
        Ok(PackDescription { functions, imports })
    }
}

fn port(error: &HostError) -> DescribeError {
    DescribeError::Port(PortError(error.to_string()))
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
