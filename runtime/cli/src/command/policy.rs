//! What would policy say? The answers come from the functions that decide.

use chitin_policy::{Defaults, Grant, Query, can, explain};
use chitin_ports::Toolbox;
use chitin_registry::{load_ring, read_policy};
use chitin_types::{FsMode, FunctionName, ToolName};
use serde_json::json;

use crate::{
    args::{Policy, QueryKind},
    error::{CliError, Exit},
    output::Output,
    wire::Wire,
};

pub(crate) async fn run(wire: &Wire, args: &Policy, output: &Output) -> Result<(), CliError> {
    match args {
        Policy::Check => check(wire, output),
        Policy::Explain { tool } => {
            let grants = wire.granted(&ToolName::parse(tool.as_str())?).await?;
            let lines = explain(&grants);
            output.result("explanation", json!({ "lines": lines }), &lines.join("\n"));
            Ok(())
        }
        Policy::Can { tool, kind, value, method } => {
            let grants = wire.granted(&ToolName::parse(tool.as_str())?).await?;
            exists(wire, &ToolName::parse(tool.as_str())?, *kind, value).await?;
            let answer = can(&grants, &query(*kind, value, method)?);
            let word = if answer.allowed { "yes" } else { "no" };
            let document =
                json!({ "allowed": answer.allowed, "rule": answer.rule, "reason": answer.reason, "help": answer.help });
            output.result("decision", document, &format!("{word}: {} (rule {})", answer.reason, answer.rule));
            if answer.allowed {
                return Ok(());
            }
            let error = CliError::new(Exit::Denied, format!("no: {}", answer.reason));
            Err(answer
                .help
                .map_or(CliError { help: None, ..error }, |help| CliError::new(Exit::Denied, answer.reason).help(help)))
        }
    }
}

/// A question about a function that is not there has no answer.
async fn exists(wire: &Wire, tool: &ToolName, kind: QueryKind, value: &str) -> Result<(), CliError> {
    let there = match kind {
        QueryKind::Net | QueryKind::Fs => true,
        QueryKind::Call => {
            let specs = wire.catalog()?.specs().await?;
            specs.iter().any(|spec| spec.tool == *tool && spec.function.as_str() == value)
        }
    };
    if there {
        return Ok(());
    }
    let error = CliError::new(Exit::NotFound, format!("{tool} has no function {value}"));
    Err(error.help(format!("chitin tool inspect {tool}")))
}

fn query(kind: QueryKind, value: &str, method: &str) -> Result<Query, CliError> {
    match kind {
        QueryKind::Call => Ok(Query::Call(FunctionName::parse(value)?)),
        QueryKind::Net => {
            let url = if value.contains("://") { value.to_owned() } else { format!("https://{value}") };
            let target = chitin_egress::target::parse(&method.to_ascii_uppercase(), &url)
                .map_err(|e| CliError::usage(e.to_string()))?;
            Ok(Query::Net(target.decided))
        }
        QueryKind::Fs => {
            let (path, mode) = match value.rsplit_once(':') {
                Some((path, "rw")) => (path, FsMode::Rw),
                Some((path, "ro")) => (path, FsMode::Ro),
                _ => (value, FsMode::Ro),
            };
            Ok(Query::Fs { path: path.to_owned(), mode })
        }
    }
}

/// Reads every document; the first that is refused is the error.
fn check(wire: &Wire, output: &Output) -> Result<(), CliError> {
    wire.config()?;
    load_ring(&wire.home)?;
    let mut names = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(wire.home.policies())?.filter_map(|e| e.ok().map(|e| e.path())).collect();
    files.sort();
    for path in files.into_iter().filter(|p| p.extension().is_some_and(|e| e == "toml")) {
        let shown = path.display().to_string();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = read_policy(&wire.home, &name)?.unwrap_or_default();
        if path.file_name().is_some_and(|n| n == "default.toml") {
            Defaults::parse(&shown, &text)?;
        } else {
            let grant = Grant::parse(&shown, &text)?;
            if path.file_stem().is_none_or(|stem| stem != grant.tool.file_stem().as_str()) {
                let message = format!("{shown}:1:1: this file is a grant for {}", grant.tool);
                let help = format!("name it {}.toml", grant.tool.file_stem());
                return Err(CliError::new(Exit::Config, message).help(help));
            }
        }
        names.push(shown);
    }
    output.list(
        "policy",
        "policies",
        names.iter().map(|n| json!({ "name": n })).collect(),
        &format!("{} policy files are good", names.len()),
    );
    Ok(())
}
