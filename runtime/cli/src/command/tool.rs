//! Which tools are installed, what does one look like, and what does a call of it give?

use chitin_jail::Shell;
use chitin_package::{LockEntry, LockFile};
use chitin_ports::{Ids, Installed, Toolbox};
use chitin_registry::{load_key, remove as remove_tool, sign as sign_tool};
use chitin_types::{Part, ToolName, ToolOutcome, WireName};
use serde_json::{Map, Value, json};

use super::{dev::Signed, install::asks};
use crate::{
    args::{ToolCall, ToolSign},
    error::{CliError, Exit},
    output::Output,
    sink::{Printer, Quiet},
    source::TimedIds,
    wire::Wire,
};

pub(crate) fn sign(wire: &Wire, args: &ToolSign, output: &Output) -> Result<(), CliError> {
    let key = load_key(&wire.home, &args.key)?;
    let signed = sign_tool(&args.component, &args.manifest, &key)?;
    let predicate = &signed.statement.predicate;
    let text = format!("signed {} {} with {}: {}", predicate.name, predicate.version, args.key, signed.path.display());
    let value =
        json!({ "name": predicate.name.as_str(), "version": predicate.version.to_string(), "bundle": signed.path });
    output.result("signature", value, &text);
    Ok(())
}

pub(crate) fn list(wire: &Wire, output: &Output) -> Result<(), CliError> {
    let tools = wire.catalog()?.tools()?;
    let line = |t: &LockEntry| {
        let names: Vec<&str> = t.functions.iter().map(|f| f.name.as_str()).collect();
        format!("{} {}  {}", t.name, t.version, names.join(", "))
    };
    let value = |t: &LockEntry| {
        let names: Vec<&str> = t.functions.iter().map(|f| f.name.as_str()).collect();
        json!({ "name": t.name.as_str(), "version": t.version.to_string(), "component": t.component.to_string(),
            "signer": t.signer.to_string(), "functions": names })
    };
    let mut lines: Vec<String> = tools.entries.iter().map(line).collect();
    let shell = Shell::spec();
    lines.push(format!("{} native  {}", shell.tool, shell.function));
    for damaged in &tools.damaged {
        let name = damaged.name_guess.as_ref().map_or("a tool", ToolName::as_str);
        lines.push(format!("{name}  disabled: {}", damaged.reason));
    }
    let native = json!({ "name": shell.tool.as_str(), "native": true, "functions": [shell.function.as_str()] });
    let all = tools.entries.iter().map(value).chain([native]).collect();
    output.list("tool", "tools", all, &lines.join("\n"));
    Ok(())
}

pub(crate) async fn inspect(wire: &Wire, tool: &str, output: &Output) -> Result<(), CliError> {
    let name = ToolName::parse(tool)?;
    if let Some(native) = wire.native(&name).await? {
        inspect_native(&native, output);
        return Ok(());
    }
    let tool = wire.catalog()?.tool(&name).await?;
    let predicate = &tool.verified.statement().predicate;
    let signer = tool.verified.signer();
    let mut lines = vec![
        format!("{name} {}: {}", predicate.version, predicate.summary),
        format!("  signed by {} ({})", signer.name(), signer.fingerprint()),
        format!("  {}", tool.entry.component),
        "  asks for:".to_owned(),
    ];
    lines.extend(asks(&predicate.requests).into_iter().map(|line| format!("    {line}")));
    lines.push("  offers:".to_owned());
    lines.extend(tool.entry.functions.iter().map(|f| format!("    {}: {}", f.name, f.summary)));
    lines.extend(chitin_policy::explain(&tool.grants).into_iter().map(|line| format!("  {line}")));
    let functions: Vec<Value> = tool
        .entry
        .functions
        .iter()
        .map(|f| json!({ "name": f.name.as_str(), "summary": f.summary, "effects": f.effects, "input_schema": f.input_schema }))
        .collect();
    let value = json!({
        "name": name.as_str(), "version": predicate.version.to_string(), "component": tool.entry.component.to_string(),
        "signer": signer.name(), "fingerprint": signer.fingerprint().to_string(), "requests": predicate.requests,
        "imports": tool.entry.imports, "functions": functions, "may": chitin_policy::explain(&tool.grants),
    });
    output.result("tool", value, &lines.join("\n"));
    Ok(())
}

fn inspect_native(native: &Installed, output: &Output) {
    let Installed { spec, grants, .. } = native;
    let mut lines = vec![
        format!("{}: native, held by the sandbox (see `chitin sandbox explain`)", spec.tool),
        "  offers:".to_owned(),
        format!("    {}: {}", spec.function, spec.summary),
    ];
    let may = chitin_policy::explain(grants);
    lines.extend(may.iter().map(|line| format!("  {line}")));
    let function = json!({ "name": spec.function.as_str(), "summary": spec.summary, "effects": spec.effects,
        "input_schema": spec.input_schema });
    let value = json!({ "name": spec.tool.as_str(), "native": true, "functions": [function], "may": may });
    output.result("tool", value, &lines.join("\n"));
}

pub(crate) async fn call(wire: &Wire, args: &ToolCall, output: &Output) -> Result<(), CliError> {
    let name = ToolName::parse(args.tool.as_str())?;
    let function = chitin_types::FunctionName::parse(args.function.as_str())?;
    let catalog = wire.catalog()?;
    let offered = catalog.specs().await?;
    let offered = offered.iter().find(|spec| spec.tool == name && spec.function == function);
    let schema = match offered {
        Some(spec) => spec.input_schema.clone(),
        None => schema_of(&*catalog.tools()?, &name, args)?,
    };
    let arguments = arguments(&args.args, &schema)?;
    let asked = chitin_types::ToolCall {
        id: "call_0".to_owned(),
        name: WireName::of(&name, &function)?.to_string(),
        arguments: arguments.to_string(),
    };
    let agent = wire.agent(&wire.records()?)?;
    let outcome = agent.call(TimedIds.session(), &asked, &Quiet(Printer::new(output))).await;
    ended(&outcome, Signed::Yes, output)
}

/// Prints what a call gave, or gives why it gave nothing.
pub(crate) fn ended(outcome: &ToolOutcome, signed: Signed, output: &Output) -> Result<(), CliError> {
    let ToolOutcome::Done(parts) = outcome else { return Err(CliError::outcome(outcome)) };
    let texts: Vec<String> = parts.iter().map(shown).collect();
    let mut document = json!({ "outcome": outcome.word(), "parts": parts });
    match (signed, document.as_object_mut()) {
        (Signed::No, Some(fields)) => drop(fields.insert("signed".to_owned(), Value::Bool(false))),
        (Signed::No, None) | (Signed::Yes, _) => {}
    }
    output.result("tool-result", document, &texts.join("\n"));
    Ok(())
}

pub(crate) async fn remove(wire: &Wire, tool: &str, output: &Output) -> Result<(), CliError> {
    let name = ToolName::parse(tool)?;
    remove_tool(&wire.home, &name, wire.records()?.as_ref()).await?;
    output.result("tool", json!({ "name": name.as_str() }), &format!("removed {name}"));
    Ok(())
}

/// The pinned schema of a function. A tool whose block is damaged has none; the call goes on and is refused by its rule.
fn schema_of(tools: &LockFile, name: &ToolName, args: &ToolCall) -> Result<Value, CliError> {
    let Some(entry) = tools.find(name) else {
        if tools.damaged.is_empty() {
            let names: Vec<&str> = tools.entries.iter().map(|t| t.name.as_str()).collect();
            let message = format!("there is no tool {name}; installed are {}", names.join(", "));
            return Err(CliError::new(Exit::NotFound, message).help("chitin tool list"));
        }
        return Ok(Value::Null);
    };
    let Some(function) = entry.functions.iter().find(|f| f.name.as_str() == args.function) else {
        let names: Vec<&str> = entry.functions.iter().map(|f| f.name.as_str()).collect();
        let message = format!("{name} has no function {}; it has {}", args.function, names.join(", "));
        return Err(CliError::new(Exit::NotFound, message).help(format!("chitin tool inspect {name}")));
    };
    Ok(serde_json::from_str(&function.input_schema).unwrap_or_default())
}

/// One JSON object, or key=value pairs: text where the schema wants text, JSON elsewhere.
pub(crate) fn arguments(words: &[String], schema: &Value) -> Result<Value, CliError> {
    if let [one] = words
        && one.trim_start().starts_with('{')
    {
        return serde_json::from_str(one)
            .map_err(|e| CliError::usage(format!("the arguments are no JSON object: {e}")));
    }
    let mut object = Map::new();
    for word in words {
        let (key, text) = word
            .split_once('=')
            .ok_or_else(|| CliError::usage(format!("{word:?} is neither key=value nor a JSON object")))?;
        let wants_text = schema.pointer(&format!("/properties/{key}/type")).is_some_and(|t| t == "string");
        let value = if wants_text { None } else { serde_json::from_str(text).ok() };
        object.insert(key.to_owned(), value.unwrap_or_else(|| Value::String(text.to_owned())));
    }
    Ok(Value::Object(object))
}

fn shown(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Data(value) => serde_json::to_string_pretty(value).unwrap_or_default(),
        Part::File(_) => chitin_types::ToolOutcome::Done(vec![part.clone()]).text_for_model(),
        Part::Other(kind, value) => format!("[{kind}] {value}"),
    }
}
