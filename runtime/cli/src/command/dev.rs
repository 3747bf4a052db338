//! How is a component tried before it is signed? In this process only, under a file of its author's own, without secrets.

use chitin_policy::Grant;
use chitin_ports::{Ids, PackDescription};
use chitin_registry::DevTool;
use serde_json::json;

use super::tool::{arguments, ended};
use crate::{
    args::ToolDev,
    error::{CliError, Exit},
    output::Output,
    sink::{Printer, Quiet},
    source::TimedIds,
    wire::Wire,
};

pub(crate) async fn run(wire: &Wire, args: &ToolDev, output: &Output) -> Result<(), CliError> {
    let shown = args.component.display().to_string();
    let bytes =
        std::fs::read(&args.component).map_err(|e| CliError::new(Exit::NotFound, format!("read {shown}: {e}")))?;
    let grant = match &args.grant {
        None => None,
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .map_err(|e| CliError::new(Exit::NotFound, format!("read {}: {e}", file.display())))?;
            Some(Grant::parse(&file.display().to_string(), &text)?)
        }
    };
    let records = wire.records()?;
    let described = wire
        .describer(&records)?
        .describe(&bytes)
        .await
        .map_err(|error| CliError::usage(format!("{shown}: {error}")))?;
    let Some(function) = &args.function else {
        list(&described, output);
        return Ok(());
    };
    let stem = args.component.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let tool = DevTool { name: stem, bytes, described: described.clone(), grant };
    let name = wire.catalog()?.add_dev(tool)?;
    let function = chitin_types::FunctionName::parse(function.as_str())?;
    let schema = described.functions.iter().find(|f| f.name == function).map(|f| f.input_schema.clone());
    let Some(schema) = schema else {
        let names: Vec<&str> = described.functions.iter().map(|f| f.name.as_str()).collect();
        let message = format!("{shown} has no function {function}; it has {}", names.join(", "));
        return Err(CliError::new(Exit::NotFound, message));
    };
    output.note("unsigned: this component was verified by nobody");
    let asked = chitin_types::ToolCall {
        id: "call_0".to_owned(),
        name: chitin_types::WireName::of(&name, &function)?.to_string(),
        arguments: arguments(&args.args, &schema)?.to_string(),
    };
    let agent = wire.agent(&records)?;
    let outcome = agent.call(TimedIds.session(), &asked, &Quiet(Printer::new(output))).await;
    ended(&outcome, Signed::No, output)
}

/// Whether somebody vouches for what answered; an answer of an unsigned component says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signed {
    Yes,
    No,
}

fn list(described: &PackDescription, output: &Output) {
    let mut lines: Vec<String> =
        described.functions.iter().map(|f| format!("{}: {}\n    {}", f.name, f.summary, f.input_schema)).collect();
    lines.extend(described.left_out.iter().map(|left| format!("left out: {}: {}", left.export, left.reason)));
    lines.push(format!("imports: {}", described.imports.join(", ")));
    let document = json!({ "kind": described.kind, "functions": described.functions,
        "left_out": described.left_out, "imports": described.imports, "signed": false });
    output.result("component", document, &lines.join("\n"));
}
