//! How is an ordinary function called? Arguments as JSON go in, an outcome comes out, inside the limits of every call.

use std::collections::BTreeMap;

use chitin_types::{Failure, FailureKind, FunctionName, Limits, Part, ToolOutcome};
use serde_json::Value;
use wasmtime::{
    Engine, Store,
    component::{InstancePre, Val},
};

use super::{
    exports::{Signature, reflect},
    json::{Wrong, params_from_json, to_json},
    shape::Shape,
};
use crate::{
    invoke::{HOSTCALL_BYTES_MAX, bounded, done},
    outcome::{from_error, from_failure},
    state::{CallContext, CallState},
    wit::wire,
};

/// A component of ordinary functions, ready to start.
pub(crate) struct Typed {
    pre: InstancePre<CallState>,
    functions: BTreeMap<FunctionName, Signature>,
}

impl Typed {
    /// Finds the functions by the same rules as when the component was installed.
    pub(crate) fn new(engine: &Engine, pre: InstancePre<CallState>) -> Self {
        let functions = reflect(engine, pre.component()).functions;
        let functions = functions.into_iter().map(|function| (function.described.name, function.signature)).collect();
        Self { pre, functions }
    }

    /// Calls a function in a fresh instance.
    pub(crate) async fn call(
        &self,
        call: &CallContext,
        store: &mut Store<CallState>,
        function: &FunctionName,
        args: &Value,
    ) -> ToolOutcome {
        let Some(signature) = self.functions.get(function) else {
            return ToolOutcome::Broke("function-missing".to_owned());
        };
        let params = match params_from_json(&signature.params, args) {
            Ok(params) => params,
            Err(wrong) => return ToolOutcome::InvalidInput(wrong.to_string()),
        };
        store.set_hostcall_fuel(hostcall_bytes(&call.limits));
        let work = async |store: &mut Store<CallState>| {
            let instance = self.pre.instantiate_async(&mut *store).await?;
            let func = instance
                .get_func(&mut *store, signature.export)
                .ok_or_else(|| wasmtime::Error::msg("the export is not there"))?;
            let mut results = vec![Val::Bool(false); usize::from(signature.result.is_some())];
            func.call_async(&mut *store, &params, &mut results).await?;
            Ok::<_, wasmtime::Error>(results.pop())
        };
        match bounded(call, store, work).await {
            Ok(result) => outcome(call, signature.result.as_ref(), result.as_ref()),
            Err(error) => from_error(call, &error),
        }
    }
}

fn outcome(call: &CallContext, shape: Option<&Shape>, result: Option<&Val>) -> ToolOutcome {
    match (shape, result) {
        (Some(Shape::Result { ok, .. }), Some(Val::Result(Ok(value)))) => told(call, ok.as_deref(), value.as_deref()),
        (Some(Shape::Result { error, .. }), Some(Val::Result(Err(value)))) => {
            refused(call, error.as_deref(), value.as_deref())
        }
        (shape, result) => told(call, shape, result),
    }
}

fn told(call: &CallContext, shape: Option<&Shape>, value: Option<&Val>) -> ToolOutcome {
    let (part, bytes) = match (shape, value) {
        (Some(Shape::Text), Some(Val::String(text))) => (Part::Text(text.clone()), text.len()),
        (Some(shape), Some(value)) => match to_json(shape, value) {
            Ok(json) => {
                let bytes = json.to_string().len();
                (Part::Data(json), bytes)
            }
            Err(wrong) => return unsayable(&wrong),
        },
        (None, _) | (_, None) => (Part::Text("done".to_owned()), 0),
    };
    match call.charge_output(bytes) {
        Ok(()) => done(call, vec![part]),
        Err(error) => from_error(call, &error),
    }
}

// The function's own no: a text is its sentence, anything else is shown as JSON.
fn refused(call: &CallContext, shape: Option<&Shape>, value: Option<&Val>) -> ToolOutcome {
    let message = match (shape, value) {
        (Some(Shape::Text), Some(Val::String(text))) => text.clone(),
        (Some(shape), Some(value)) => match to_json(shape, value) {
            Ok(Value::String(text)) => text,
            Ok(json) => json.to_string(),
            Err(wrong) => return unsayable(&wrong),
        },
        (None, _) | (_, None) => "it gave no reason".to_owned(),
    };
    from_failure(call, wire::Failure { kind: wire::FailureKind::Other, code: None, message, retry_after_ms: None })
}

fn unsayable(wrong: &Wrong) -> ToolOutcome {
    ToolOutcome::Failed(Failure {
        kind: FailureKind::Internal,
        code: Some("result-not-json".to_owned()),
        message: format!("the result cannot be told in JSON: {wrong}"),
        retry_after_ms: None,
    })
}

// A value takes more room in the host than in the guest: each byte of a list is a value of its own.
fn hostcall_bytes(limits: &Limits) -> usize {
    let output = usize::try_from(limits.output_kib).unwrap_or(usize::MAX).saturating_mul(1_024);
    output.saturating_mul(size_of::<Val>()).clamp(HOSTCALL_BYTES_MAX, VALUES_BYTES_MAX)
}

/// Memory of the host for the values of one call, however much output is granted.
const VALUES_BYTES_MAX: usize = 64 * 1_024 * 1_024;
