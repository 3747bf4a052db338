//! Does everything here work? Each part is used, not just looked for; what fails says what to do.

use std::os::unix::fs::PermissionsExt;

use chitin_registry::load_ring;
use serde_json::{Value, json};

use crate::{
    config::ProviderChoice,
    error::{CliError, Exit},
    output::Output,
    wire::Wire,
};

struct Finding {
    name: String,
    good: bool,
    says: String,
}

pub(crate) async fn run(wire: &Wire, output: &Output) -> Result<(), CliError> {
    let mut findings = vec![home(wire), configuration(wire), trust(wire)];
    findings.extend(tools(wire).await);
    findings.push(audit(wire).await);
    let line = |f: &Finding| format!("{} {:<16} {}", if f.good { "ok  " } else { "FAIL" }, f.name, f.says);
    let lines: Vec<String> = findings.iter().map(line).collect();
    let values: Vec<Value> =
        findings.iter().map(|f| json!({ "name": f.name, "good": f.good, "says": f.says })).collect();
    output.list("finding", "findings", values, &lines.join("\n"));
    let bad = findings.iter().filter(|f| !f.good).count();
    if bad == 0 {
        Ok(())
    } else {
        Err(CliError::new(Exit::Failed, format!("{bad} of {} checks failed", findings.len())))
    }
}

fn finding(name: impl Into<String>, result: Result<String, CliError>) -> Finding {
    let name = name.into();
    match result {
        Ok(says) => Finding { name, good: true, says },
        Err(error) => {
            let help = error.help.map(|h| format!(" (help: {h})")).unwrap_or_default();
            Finding { name, good: false, says: format!("{}{help}", error.message) }
        }
    }
}

fn home(wire: &Wire) -> Finding {
    let check = || {
        for place in [wire.root().to_owned(), wire.home.keys(), wire.home.policies(), wire.home.trust()] {
            let mode = std::fs::metadata(&place)?.permissions().mode() & 0o777;
            if mode & 0o077 != 0 {
                let message = format!("{} is open to others (mode {mode:o})", place.display());
                return Err(CliError::failed(message).help(format!("chmod 700 {}", place.display())));
            }
        }
        Ok(wire.root().display().to_string())
    };
    finding("home", check())
}

fn configuration(wire: &Wire) -> Finding {
    let check = || {
        let config = wire.config()?;
        let roots: Vec<String> = config.roots.iter().map(|(n, p)| format!("{n} = {}", p.display())).collect();
        let provider = match config.provider {
            ProviderChoice::Offline => "the offline provider (no model)".to_owned(),
            ProviderChoice::OpenaiChat { model, base_url, .. } => format!("{model} at {base_url}"),
        };
        Ok(format!("{provider}; roots {}", roots.join(", ")))
    };
    finding("configuration", check())
}

fn trust(wire: &Wire) -> Finding {
    let check = || Ok(format!("{} trusted keys", load_ring(&wire.home)?.keys().count()));
    finding("trust", check())
}

async fn tools(wire: &Wire) -> Vec<Finding> {
    let catalog = match wire.catalog() {
        Ok(catalog) => catalog,
        Err(error) => return vec![finding("tools", Err(error))],
    };
    let listed = match catalog.tools() {
        Ok(listed) => listed,
        Err(error) => return vec![finding("tools", Err(error.into()))],
    };
    let mut findings = Vec::new();
    for entry in &listed.entries {
        let check = match catalog.tool(&entry.name).await {
            Ok(tool) => Ok(format!("verified, signed by {}", tool.verified.signer().name())),
            Err(error) => Err(error.into()),
        };
        findings.push(finding(entry.name.to_string(), check));
    }
    for damaged in &listed.damaged {
        let name = damaged.name_guess.as_ref().map_or_else(|| "a tool".to_owned(), ToString::to_string);
        let error = CliError::failed(damaged.reason.clone()).help("install the tool again");
        findings.push(finding(name, Err(error)));
    }
    findings
}

async fn audit(wire: &Wire) -> Finding {
    let check = async {
        let report = wire.records()?.verify_audit().await?;
        Ok(format!("{} records verify", report.records))
    };
    finding("audit", check.await)
}
