//! How does somebody else's component become a tool? Its new owner signs it with their own key, for what they wrote down,
//! and it is installed like any other.

use std::path::Path;

use chitin_policy::Grant;
use chitin_registry::{load_key, sign};
use chitin_types::Capabilities;
use serde_json::json;

use super::install;
use crate::{
    args::{ToolAdopt, ToolInstall},
    error::{CliError, Exit},
    output::Output,
    wire::Wire,
};

pub(crate) async fn run(wire: &Wire, args: &ToolAdopt, output: &Output) -> Result<(), CliError> {
    let key = load_key(&wire.home, &args.key)?;
    let folder = tempfile::tempdir()?;
    let manifest = if let Some(file) = &args.manifest {
        file.clone()
    } else {
        let file = folder.path().join("component.toml");
        std::fs::write(&file, manifest(args)?)?;
        file
    };
    let signed = sign(&args.component, &manifest, &key)?;
    let predicate = &signed.statement.predicate;
    output.note(&format!(
        "signed {} {} with {}: {}",
        predicate.name,
        predicate.version,
        args.key,
        signed.path.display()
    ));
    let install = ToolInstall { component: args.component.clone(), grant: args.grant.clone(), allow_downgrade: false };
    let name = predicate.name.clone();
    install::run(wire, &install, output).await.map_err(|error| match error.exit {
        Exit::Integrity => {
            let publisher = name.as_str().split('/').next().unwrap_or("me");
            let key = &args.key;
            error.help(format!(
                "chitin key export {key} --names '{publisher}/*' --out {key}.toml && chitin key trust {key}.toml"
            ))
        }
        _ => error,
    })
}

/// A manifest that asks for what the grant gives, and for nothing without one.
fn manifest(args: &ToolAdopt) -> Result<String, CliError> {
    let name = args.name.as_deref().ok_or_else(|| {
        CliError::usage("it has no name yet").help("add --name me/tool, or --manifest component.toml")
    })?;
    let artifact = args.component.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let summary = args.summary.clone().unwrap_or_else(|| format!("Adopted from {artifact}."));
    let requests = match &args.grant {
        None => Capabilities::default(),
        Some(file) => reasoned(granted(file)?),
    };
    let mut document = json!({
        "schema": 1, "name": name, "version": args.release, "summary": summary,
        "world": "local:adopted/component", "artifact": artifact,
    });
    if let (Some(fields), serde_json::Value::Object(asks)) = (document.as_object_mut(), json!(requests)) {
        fields.extend(asks);
    }
    toml::to_string(&document).map_err(|error| CliError::failed(format!("write the manifest: {error}")))
}

fn granted(file: &Path) -> Result<Capabilities, CliError> {
    let shown = file.display().to_string();
    let text =
        std::fs::read_to_string(file).map_err(|e| CliError::new(Exit::NotFound, format!("read {shown}: {e}")))?;
    Ok(Grant::parse(&shown, &text)?.capabilities())
}

fn reasoned(mut asks: Capabilities) -> Capabilities {
    let why = || Some("granted when it was adopted".to_owned());
    asks.fs.iter_mut().for_each(|ask| ask.reason = why());
    asks.http.iter_mut().for_each(|ask| ask.reason = why());
    asks.kv.iter_mut().for_each(|ask| ask.reason = why());
    asks.recall.iter_mut().for_each(|ask| ask.reason = why());
    asks
}
