//! What waits for a person, and what do they say? Questions of a running daemon are listed and answered.

use serde_json::{Value, json};

use crate::{
    args::Approve,
    client::Client,
    error::{CliError, Exit},
    output::Output,
    remote::SHORT_ID_CHARS,
    wire::Wire,
};

pub(crate) async fn run(wire: &Wire, args: &Approve, output: &Output) -> Result<(), CliError> {
    let client = Client::of(wire.root()).await?;
    match args {
        Approve::List => list(&client, output).await,
        Approve::Allow { id } => answer(&client, id, Word::Allow, output).await,
        Approve::Deny { id } => answer(&client, id, Word::Deny, output).await,
    }
}

#[derive(Clone, Copy)]
enum Word {
    Allow,
    Deny,
}

async fn list(client: &Client, output: &Output) -> Result<(), CliError> {
    let answer = client.json("GET", "/api/approvals", None).await?;
    let open = answer.get("approvals").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let lines: Vec<String> = open
        .iter()
        .map(|q| {
            format!(
                "{}  {}\n    {}\n    rule {}",
                text(q, "id").chars().take(SHORT_ID_CHARS).collect::<String>(),
                text(q, "title"),
                text(q, "arguments"),
                text(q, "rule")
            )
        })
        .collect();
    let shown = if lines.is_empty() { "nothing waits for you".to_owned() } else { lines.join("\n") };
    output.list("approval", "approvals", open, &shown);
    Ok(())
}

/// The id of the one open question that begins so.
async fn whole(client: &Client, begin: &str) -> Result<String, CliError> {
    let answer = client.json("GET", "/api/approvals", None).await?;
    let open = answer.get("approvals").and_then(Value::as_array).cloned().unwrap_or_default();
    let ids = open.iter().filter_map(|question| question.get("id").and_then(Value::as_str));
    let found: Vec<&str> = ids.filter(|id| id.starts_with(begin)).collect();
    match found.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => {
            let error = CliError::new(Exit::NotFound, format!("no open question has the id {begin}"));
            Err(error.help("chitin approve list"))
        }
        many => Err(CliError::usage(format!("{} open questions begin with {begin}", many.len()))),
    }
}

async fn answer(client: &Client, id: &str, word: Word, output: &Output) -> Result<(), CliError> {
    let (allow, done) = match word {
        Word::Allow => (true, "allowed, once"),
        Word::Deny => (false, "refused"),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if id.is_empty() || !id.chars().all(plain) {
        return Err(CliError::usage(format!("{id:?} is no id of a question")).help("chitin approve list"));
    }
    let id = &whole(client, id).await?;
    client.json("POST", &format!("/api/approvals/{id}"), Some(&json!({ "allow": allow }))).await?;
    output.result("approval", json!({ "id": id, "allowed": allow }), &format!("{id}: {done}"));
    Ok(())
}
