//! What makes a new home? Directories, keys, a workspace, the first-party tools with their grants.

use std::{
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use chitin_gateway::TokenFile;
use chitin_jail::Shell;
use chitin_policy::{Accept, Grant, Pin};
use chitin_ports::{Audit, AuditEntry, AuditKind};
use chitin_registry::{GrantChoice, load_ring, preview_trust, trust};
use serde_json::json;

use super::{install::grant_from, key::confirm, token_file};
use crate::{
    args::Onboard,
    config::{self, FRESH},
    error::{CliError, Exit},
    output::Output,
    wire::Wire,
};

pub(crate) async fn run(wire: &Wire, args: &Onboard, output: &Output) -> Result<(), CliError> {
    let root = wire.root();
    output.note(&format!("home: {}", root.display()));
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(root.join("workspace"))
        .map_err(|e| CliError::failed(format!("make the workspace: {e}")))?;
    let file = root.join("config.toml");
    if !file.exists() {
        config::write(&file, FRESH)?;
    }
    let shelf = shelf(args)?;
    let defaults = wire.home.policies().join("default.toml");
    if !defaults.exists()
        && let Ok(text) = std::fs::read_to_string(shelf.join("default.toml"))
    {
        config::write(&defaults, &text)?;
    }
    trust_publisher(wire, &shelf, output).await?;
    let installed = install_all(wire, &shelf, output).await?;
    grant_shell(wire, &shelf, output).await?;
    let token = token(wire, args).await?;
    output.result("home", json!({ "home": root, "tools": installed, "token": token }), "ready");
    if let Some(token) = token {
        output.note(&format!(
            "token for the daemon (only its hash is kept; `chitin onboard --new-token` makes another):\n  {token}"
        ));
    }
    output.note("help: chitin run -p \"write hello to notes.txt, then read notes.txt\"");
    Ok(())
}

fn shelf(args: &Onboard) -> Result<PathBuf, CliError> {
    let found = match &args.components {
        Some(dir) => dir.clone(),
        None => std::env::current_exe()?.parent().unwrap_or(Path::new(".")).join("components"),
    };
    if found.is_dir() {
        return Ok(found);
    }
    let message = format!("there are no first-party tools at {}", found.display());
    Err(CliError::new(Exit::NotFound, message).help("pass --components DIR, or build them with `cargo xtask setup`"))
}

async fn trust_publisher(wire: &Wire, shelf: &Path, output: &Output) -> Result<(), CliError> {
    let key = preview_trust(&shelf.join("publisher.toml"))?;
    if load_ring(&wire.home)?.find(key.fingerprint()).is_some() {
        return Ok(());
    }
    output.note("the first-party tools are signed by this key:");
    confirm(wire, &key, output)?;
    Ok(trust(&wire.home, &key, wire.records()?.as_ref()).await?)
}

/// The native shell asks a person before each command; a grant that the user changed since is left as it is.
async fn grant_shell(wire: &Wire, shelf: &Path, output: &Output) -> Result<(), CliError> {
    let tool = Shell::spec().tool;
    let template = shelf.join(format!("{}.toml", tool.as_str().replace('/', "-")));
    if chitin_registry::load_grant(&wire.home, &tool)?.is_some() || !template.is_file() {
        return Ok(());
    }
    let mut grant = Grant::parse(&template.display().to_string(), &std::fs::read_to_string(&template)?)?;
    grant.pin = Some(Pin { component: Shell::identity(), accept: Accept::default() });
    wire.grants(&wire.records()?)?.give(&grant).await?;
    output.note(&format!("granted {tool}: sandboxed commands, each after a person agrees"));
    Ok(())
}

/// A new token when there is none yet or a new one is wanted; its hash is all that is kept.
async fn token(wire: &Wire, args: &Onboard) -> Result<Option<String>, CliError> {
    let file = token_file(wire.root());
    if file.exists() && !args.new_token {
        return Ok(None);
    }
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| CliError::failed(format!("make a token: {error}")))?;
    let token = format!("chitin_{}", hex::encode(bytes));
    let entry = AuditEntry::new(AuditKind::Auth, "gateway", "token-made");
    wire.records()?.append(entry).durable().await?;
    config::write(&file, &format!("{}\n", TokenFile::hash(&token)))?;
    Ok(Some(token))
}

async fn install_all(wire: &Wire, shelf: &Path, output: &Output) -> Result<Vec<String>, CliError> {
    let records = wire.records()?;
    let installer = wire.installer(&records)?;
    let mut components: Vec<PathBuf> = std::fs::read_dir(shelf)?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "wasm"))
        .collect();
    components.sort();
    let mut names = Vec::new();
    for path in components {
        let review = installer.review(&path).await?;
        let name = review.name().to_string();
        // A grant that the user changed since is left as it is.
        let fresh = chitin_registry::load_grant(&wire.home, review.name())?.is_none();
        let template = shelf.join(format!("{}.toml", name.replace('/', "-")));
        let choice = if fresh { GrantChoice::Give(grant_from(&template, &review)?) } else { GrantChoice::Leave };
        let functions: Vec<&str> = review.functions().iter().map(|f| f.name.as_str()).collect();
        let line = format!("installed {name} {}: {}", review.version(), functions.join(", "));
        installer.commit(review, choice).await?;
        output.note(&line);
        names.push(name);
    }
    Ok(names)
}
