//! How does a person give a tool something, or take it back? Words of the command line become one rule of its file.

use std::path::Path;

use chitin_jail::Shell;
use chitin_policy::{FsGrant, HttpGrant, Inject};
use chitin_registry::load_grant;
use chitin_types::{FsMode, HostPattern, PathPattern, RecallMode, ToolName};
use serde_json::json;

use crate::{
    args::{GrantWhat, ToolGrant, ToolRevoke},
    config,
    error::{CliError, Exit},
    output::Output,
    wire::Wire,
};

pub(crate) async fn give(wire: &Wire, args: &ToolGrant, output: &Output) -> Result<(), CliError> {
    let tool = ToolName::parse(args.tool.as_str())?;
    let grants = wire.grants(&wire.records()?)?;
    let done = match &args.what {
        None if tool == Shell::spec().tool => {
            grants.bind_to(&tool, Shell::identity()).await?;
            format!("{tool} may be called; its grant is bound to the sandboxed shell")
        }
        None => {
            grants.bind(&tool).await?;
            format!("{tool} may be called; its grant is bound to the installed component")
        }
        Some(GrantWhat::Net { origin, methods, paths }) => {
            let rule = http_rule(wire, &tool, origin, (methods, paths))?;
            grants.add_http(&tool, &rule).await?;
            format!("{tool} may {} {origin}{} (rule {})", methods.join(", "), paths.join(", "), rule.id)
        }
        Some(GrantWhat::Fs { path_and_mode }) => {
            let rule = fs_rule(wire, &tool, path_and_mode)?;
            grants.add_fs(&tool, &rule).await?;
            format!("{tool} may use {} {} (root {})", rule.at, rule.mode.word(), rule.root())
        }
        Some(GrantWhat::Kv { quota_kib }) => {
            grants.set_kv(&tool, *quota_kib).await?;
            format!("{tool} may keep {quota_kib} KiB of its own")
        }
        Some(GrantWhat::Recall { scope_and_mode }) => {
            let (scope, mode) = match scope_and_mode.rsplit_once(':') {
                Some((scope, "read")) => (scope, RecallMode::Read),
                Some((scope, "write")) => (scope, RecallMode::Write),
                Some(_) | None => {
                    return Err(CliError::usage(format!("{scope_and_mode:?} is no SCOPE:read or SCOPE:write")));
                }
            };
            grants.add_recall(&tool, scope, mode).await?;
            format!("{tool} may use memory scope {scope_and_mode}")
        }
        Some(GrantWhat::Config { key_and_value }) => {
            let (key, value) = key_and_value
                .split_once('=')
                .ok_or_else(|| CliError::usage(format!("{key_and_value:?} is no KEY=VALUE")))?;
            grants.set_config(&tool, key, value).await?;
            format!("{tool} reads {key} = {value}")
        }
        Some(GrantWhat::Secret { rule, name, header, format }) => {
            let inject = Inject { header: header.to_ascii_lowercase(), format: format.clone() };
            grants.set_secret(&tool, rule, name, &inject).await?;
            format!("requests of rule {rule} carry secret {name} in {header}; {tool} never sees it")
        }
    };
    output.result("grant", json!({ "name": tool.as_str() }), &done);
    Ok(())
}

pub(crate) async fn revoke(wire: &Wire, args: &ToolRevoke, output: &Output) -> Result<(), CliError> {
    let tool = ToolName::parse(args.tool.as_str())?;
    let grants = wire.grants(&wire.records()?)?;
    let done = match &args.rule {
        None => {
            grants.revoke(&tool).await?;
            format!("nothing is granted to {tool} any more")
        }
        Some(rule) => {
            let named = if rule.contains(':') || rule == "kv" {
                rule.clone()
            } else if rule.starts_with('/') {
                format!("fs:{rule}")
            } else {
                format!("http:{rule}")
            };
            grants.revoke_rule(&tool, &named).await?;
            format!("{tool} lost rule {named}")
        }
    };
    output.result("grant", json!({ "name": tool.as_str() }), &done);
    Ok(())
}

fn http_rule(
    wire: &Wire,
    tool: &ToolName,
    origin: &str,
    (methods, paths): (&[String], &[String]),
) -> Result<HttpGrant, CliError> {
    let help = "write https://host, or http://address:port";
    let target =
        chitin_egress::target::parse("GET", origin).map_err(|e| CliError::usage(e.to_string()).help(help))?.decided;
    if target.path != "/" {
        let message = format!("{origin} has a path");
        return Err(CliError::usage(message).help(format!(
            "… net {} --path {}",
            origin.trim_end_matches(&target.path),
            target.path
        )));
    }
    let port = (target.port != target.scheme.default_port()).then_some(target.port);
    let base: String = target.host.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let base = base.trim_matches('-').chars().take(ID_CHARS_MAX).collect::<String>();
    let taken: Vec<String> =
        load_grant(&wire.home, tool)?.map(|g| g.http.into_iter().map(|r| r.id).collect()).unwrap_or_default();
    Ok(HttpGrant {
        id: free_name(&base, |id| taken.iter().any(|t| t == id)),
        host: HostPattern::parse(&target.host)?,
        scheme: vec![target.scheme],
        ports: port.into_iter().collect(),
        methods: methods.iter().map(|m| m.to_ascii_uppercase()).collect(),
        paths: paths.iter().map(|p| PathPattern::parse(p)).collect::<Result<Vec<_>, _>>()?,
        secret: None,
        inject: None,
    })
}

/// A mount that is there is changed; another path becomes a named root of the configuration first.
fn fs_rule(wire: &Wire, tool: &ToolName, path_and_mode: &str) -> Result<FsGrant, CliError> {
    let usage = || CliError::usage(format!("{path_and_mode:?} is no PATH:ro or PATH:rw"));
    let (path, mode) = path_and_mode.rsplit_once(':').ok_or_else(usage)?;
    let mode = match mode {
        "ro" => FsMode::Ro,
        "rw" => FsMode::Rw,
        _ => return Err(usage()),
    };
    let mounts = load_grant(&wire.home, tool)?.map(|g| g.fs).unwrap_or_default();
    if let Some(mount) = mounts.into_iter().find(|m| m.at == path) {
        return Ok(FsGrant { mode, ..mount });
    }
    let at = std::path::absolute(path)?;
    let found = at.canonicalize().map_err(|e| CliError::new(Exit::NotFound, format!("{}: {e}", at.display())))?;
    if !found.is_dir() {
        let parent = at.parent().unwrap_or(Path::new("/"));
        let message = format!("{} is a file, and directories are granted", at.display());
        return Err(CliError::usage(message).help(format!(
            "chitin tool grant {tool} fs {}:{}",
            parent.display(),
            mode.word()
        )));
    }
    let at = at.to_str().ok_or_else(|| CliError::usage("the path is not UTF-8"))?.trim_end_matches('/').to_owned();
    Ok(FsGrant { at, from: format!("workspace:{}", root_for(wire, &found)?), mode })
}

/// The name of the root at this path; a new one is written to the configuration.
fn root_for(wire: &Wire, path: &Path) -> Result<String, CliError> {
    let roots = wire.config()?.roots;
    if let Some((name, _)) = roots.iter().find(|(_, at)| at.as_path() == path) {
        return Ok(name.clone());
    }
    let last = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let plain: String = last.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let base = plain.trim_matches('-').chars().take(ID_CHARS_MAX).collect::<String>();
    let base = if base.is_empty() { "root".to_owned() } else { base };
    let name = free_name(&base, |name| roots.contains_key(name));
    config::add_root(wire.root(), &name, path)?;
    Ok(name)
}

fn free_name(base: &str, taken: impl Fn(&str) -> bool) -> String {
    if !taken(base) {
        return base.to_owned();
    }
    // Some number is free: a file with this many names would have been refused.
    (2..NAMES_MAX).map(|n| format!("{base}-{n}")).find(|name| !taken(name)).unwrap_or_else(|| base.to_owned())
}

/// More names than any file holds.
const NAMES_MAX: u32 = 100_000;
/// Leaves room for a number below the 48 characters of a rule's name.
const ID_CHARS_MAX: usize = 40;
