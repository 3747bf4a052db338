//! What does an install show, and what does it do? A file goes in; a review is printed; a tool is installed or nothing is.

use std::path::Path;

use chitin_policy::{Accept, Grant, Pin};
use chitin_registry::{GrantAfter, GrantChoice, Review, Versions};
use chitin_types::Capabilities;
use serde_json::json;

use crate::{
    approve::read_answer,
    args::ToolInstall,
    error::{CliError, Exit},
    output::{Output, person_is_there},
    wire::Wire,
};

/// `chitin tool verify`: everything that an install checks, and nothing that it writes.
pub(crate) async fn verify(wire: &Wire, component: &Path, output: &Output) -> Result<(), CliError> {
    let review = wire.installer(&wire.records()?)?.review(component).await?;
    output.result("review", value(&review), &describe(&review).join("\n"));
    Ok(())
}

/// `chitin tool install`.
pub(crate) async fn run(wire: &Wire, args: &ToolInstall, output: &Output) -> Result<(), CliError> {
    let records = wire.records()?;
    let versions = if args.allow_downgrade { Versions::AlsoOlder } else { Versions::NotOlder };
    let installer = wire.installer(&records)?.versions(versions);
    let review = installer.review(&args.component).await?;
    for line in describe(&review) {
        output.note(&line);
    }
    confirm(wire, &review)?;
    let choice = match &args.grant {
        Some(file) => GrantChoice::Give(grant_from(file, &review)?),
        None => GrantChoice::Leave,
    };
    let callable = matches!(choice, GrantChoice::Give(_))
        || matches!(review.grant_after(), GrantAfter::Holds | GrantAfter::Follows);
    let name = review.name().clone();
    let (document, text) = (value(&review), format!("installed {name} {}", review.version()));
    installer.commit(review, choice).await?;
    output.result("tool", document, &text);
    if !callable {
        output.note(&format!("nothing is granted to it yet, so it cannot be called\nhelp: chitin tool grant {name}"));
    }
    Ok(())
}

/// A grant file of this tool, bound to the component under review.
pub(crate) fn grant_from(file: &Path, review: &Review) -> Result<Grant, CliError> {
    let shown = file.display().to_string();
    let text =
        std::fs::read_to_string(file).map_err(|e| CliError::new(Exit::NotFound, format!("read {shown}: {e}")))?;
    let mut grant = Grant::parse(&shown, &text)?;
    if grant.tool != *review.name() {
        return Err(CliError::new(
            Exit::Config,
            format!("{shown} is a grant for {}, not for {}", grant.tool, review.name()),
        ));
    }
    let accept = grant.pin.map_or(Accept::default(), |pin| pin.accept);
    grant.pin = Some(Pin { component: review.component(), accept });
    Ok(grant)
}

fn confirm(wire: &Wire, review: &Review) -> Result<(), CliError> {
    if wire.global.yes {
        return Ok(());
    }
    let refused = |why: &str| CliError::new(Exit::Denied, format!("{} is not installed: {why}", review.name()));
    if !person_is_there(&wire.global) {
        return Err(refused("nobody is at the terminal to agree").help("read the review above, then add -y"));
    }
    let answer = read_answer("install it? [y/N] ")?;
    if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(refused("you said no")) }
}

/// The review, as lines for a person.
pub(crate) fn describe(review: &Review) -> Vec<String> {
    let mut lines = vec![
        format!("{} {}: {}", review.name(), review.version(), review.summary()),
        format!("  signed by {} ({}), which you trust", review.signer_name(), review.signer_fingerprint()),
        format!("  {}", review.component()),
    ];
    if let Some(old) = review.upgrade_from() {
        lines.push(format!("  replaces {old}"));
    }
    lines.push("  asks for:".to_owned());
    lines.extend(asks(review.requests()).into_iter().map(|line| format!("    {line}")));
    let functions: Vec<&str> = review.functions().iter().map(|f| f.name.as_str()).collect();
    lines.push(format!("  offers: {}", functions.join(", ")));
    for left in review.left_out() {
        lines.push(format!("  left out: {}: {}", left.export, left.reason));
    }
    lines.push(format!("  imports: {}", review.imports().join(", ")));
    lines
}

/// What is asked for, with reasons.
pub(crate) fn asks(requests: &Capabilities) -> Vec<String> {
    let because = |reason: &Option<String>| reason.as_ref().map_or(String::new(), |r| format!(": {r}"));
    let mut lines = Vec::new();
    for fs in &requests.fs {
        let place = if fs.at == "*" { "any further directory" } else { fs.at.as_str() };
        lines.push(format!("files {} {place}{}", fs.mode.word(), because(&fs.reason)));
    }
    for http in &requests.http {
        let host = if http.host.to_string() == "*" { "any host".to_owned() } else { http.host.to_string() };
        lines.push(format!("requests {} to {host}{}", http.methods.join("/"), because(&http.reason)));
    }
    if let Some(kv) = &requests.kv {
        lines.push(format!("a store of its own of {} KiB{}", kv.quota_kib, because(&kv.reason)));
    }
    if let Some(recall) = &requests.recall {
        let named = |scopes: &[String]| {
            scopes.iter().map(|s| if s == "*" { "any scope" } else { s.as_str() }).collect::<Vec<_>>().join(", ")
        };
        let (read, write) = (named(&recall.read), named(&recall.write));
        lines.push(format!("memory: read {read}; write {write}{}", because(&recall.reason)));
    }
    if lines.is_empty() {
        lines.push("nothing".to_owned());
    }
    lines
}

fn value(review: &Review) -> serde_json::Value {
    let functions: Vec<&str> = review.functions().iter().map(|f| f.name.as_str()).collect();
    json!({
        "name": review.name().as_str(), "version": review.version().to_string(), "component": review.component().to_string(),
        "signer": review.signer_name(), "fingerprint": review.signer_fingerprint().to_string(),
        "requests": review.requests(), "imports": review.imports(), "functions": functions,
        "kind": review.kind(), "left_out": review.left_out(),
    })
}
