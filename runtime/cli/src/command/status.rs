//! Does a daemon run, and how are its parts?

use serde_json::Value;

use crate::{client::Client, error::CliError, output::Output, wire::Wire};

pub(crate) async fn run(wire: &Wire, output: &Output) -> Result<(), CliError> {
    let status = Client::of(wire.root()).await?.json("GET", "/api/status", None).await?;
    let lines = lines(&status);
    output.result("status", status, &lines.join("\n"));
    Ok(())
}

fn lines(status: &Value) -> Vec<String> {
    let text = |value: &Value, key: &str| match value.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let mut lines = vec![
        format!("daemon   running, pid {}, at http://{}", text(status, "pid"), text(status, "listen")),
        format!("model    {}", text(status, "provider")),
        format!("tools    {}", text(status, "tools")),
        format!("sandbox  {}", text(status, "sandbox")),
    ];
    let each = |key: &str| status.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    for channel in each("channels") {
        let mut line =
            format!("channel  {} ({}): {}", text(&channel, "name"), text(&channel, "tool"), text(&channel, "state"));
        let error = text(&channel, "last_error");
        if !error.is_empty() {
            line.push_str(&format!(", last error: {error}"));
        }
        lines.push(line);
    }
    lines.extend(each("problems").iter().filter_map(Value::as_str).map(|problem| format!("problem  {problem}")));
    lines
}
