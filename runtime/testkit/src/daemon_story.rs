//! Does a webhook's message reach the agent, its tools and back, across a kill? The story that `cargo xtask demo daemon`
//! tells and that a test checks, every claim read from outside.
//!
//! ```text
//!   POST /webhook/hook ─→ chitin/webhook ─→ agent ─→ model ─→ chitin/fs, chitin/shell ─→ reply ─→ our server
//!                                                     │
//!                                                     └ the daemon is killed here, and started again: one reply
//! ```

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    chitin::Chitin,
    daemon::{Daemon, now_s},
    model::{self, Say},
    server::{Pace, Reply, Server},
    story::Tell,
};

/// The secret of the webhook; long enough to be one.
pub const HOOK_SECRET: &str = "hook-secret-0123456789";

/// The whole story.
///
/// # Errors
/// The first claim that did not hold.
pub async fn whole(nonce: &str, tell: Tell<'_>) -> Result<()> {
    let replies = Server::start(|_| Reply::ok("text/plain", "ok")).await;
    let slow = Arc::new(AtomicBool::new(false));
    let waits = Arc::clone(&slow);
    let file = format!("{nonce}.txt");
    let model = {
        let (nonce, file) = (nonce.to_owned(), file.clone());
        // A model that thinks while it is told to: the daemon is killed meanwhile.
        model::start_paced(Pace::While(waits), move |messages| script(messages, &nonce, &file)).await
    };
    let chitin = Chitin::onboarded().await;
    configure(&chitin, &model, &replies, tell).await?;
    let daemon = Daemon::start(&chitin).await;
    tell(&format!("$ chitin daemon\n  listening on {}", daemon.address()));

    tell("\n== a message comes in by webhook ==");
    let message = json!({ "id": format!("{nonce}-1"), "from": "alice", "text": "write it down" });
    let answer = daemon.webhook("hook", HOOK_SECRET, now_s(), &message).await;
    ensure!(answer.status == 202, "the webhook was refused: {answer:?}");
    tell(&format!("  POST /webhook/hook → {}", answer.status));
    let reply = reply_to(&replies, &format!("{nonce}-1")).await?;
    ensure!(reply["text"].as_str().is_some_and(|t| t.contains(nonce)), "the reply lacks the nonce: {reply}");
    tell(&format!("  the reply arrived at our server: {}", reply["text"]));
    let path = chitin.workspace().join(&file);
    let written = std::fs::read_to_string(&path).with_context(|| format!("{} was not written", path.display()))?;
    ensure!(written.contains(nonce), "the file lacks the nonce: {written}");
    tell(&format!("  on disk: {file} holds the nonce, written by chitin/fs and read by chitin/shell"));

    tell("\n== killed in the middle of a turn, and started again ==");
    slow.store(true, Ordering::SeqCst);
    let asked_before = model.seen().len();
    let message = json!({ "id": format!("{nonce}-2"), "from": "alice", "text": "write it down again" });
    let answer = daemon.webhook("hook", HOOK_SECRET, now_s(), &message).await;
    ensure!(answer.status == 202, "the webhook was refused: {answer:?}");
    wait_for(|| model.seen().len() > asked_before).await.context("the model is not asked")?;
    let token = daemon.token.clone();
    daemon.kill().await;
    tell("  SIGKILL while the model was thinking");
    slow.store(false, Ordering::SeqCst);
    ensure!(replies_to(&replies, &format!("{nonce}-2")).is_empty(), "a reply left before the answer was there");
    let daemon = Daemon::start_with(&chitin, token).await;
    reply_to(&replies, &format!("{nonce}-2")).await?;
    // Whoever delivers twice does so within a retry.
    sleep(Duration::from_secs(3)).await;
    let count = replies_to(&replies, &format!("{nonce}-2")).len();
    ensure!(count == 1, "{count} replies arrived for one message");
    tell("  exactly one reply arrived");
    let again = daemon.webhook("hook", HOOK_SECRET, now_s(), &message).await;
    ensure!(again.status == 202, "a repeated message is taken and dropped: {again:?}");
    sleep(Duration::from_secs(2)).await;
    ensure!(replies_to(&replies, &format!("{nonce}-2")).len() == 1, "the same message was answered twice");
    tell("  the same message again: taken, dropped, no second reply");

    let status = chitin.run(&["status"]).await;
    ensure!(status.code == 0, "status: {status:?}");
    for line in status.out.lines() {
        tell(&format!("  {line}"));
    }
    ensure!(daemon.stop().await == Some(0), "the daemon did not end cleanly");
    let ran = chitin.run(&["audit", "verify"]).await;
    ensure!(ran.code == 0, "audit verify: {ran:?}");
    tell(&format!("  $ chitin audit verify\n  {}", ran.out.trim()));
    Ok(())
}

/// A home with the webhook of `chitin/webhook`, the scripted model, and a shell that asks nobody.
///
/// # Errors
/// A command failed.
pub async fn configure(chitin: &Chitin, model: &Server, replies: &Server, tell: Tell<'_>) -> Result<()> {
    let url = format!("{}/reply", replies.origin());
    let origin = replies.origin();
    let base = format!("{}/v1", model.origin());
    for line in [
        format!("chitin config set provider.base_url {base}"),
        "chitin config set channels.hook.tool chitin/webhook".to_owned(),
        "chitin config set channels.hook.secret hook".to_owned(),
        "chitin config set channels.hook.allow '[\"alice\"]'".to_owned(),
        "chitin tool grant chitin/webhook".to_owned(),
        format!("chitin tool grant chitin/webhook config reply_url={url}"),
        format!("chitin tool grant chitin/webhook net {origin} --method POST --path /reply"),
    ] {
        let line = if line.contains("provider.base_url") {
            // A provider needs all of its keys at once, because the file is checked whole.
            let file = chitin.home().join("config.toml");
            let text = std::fs::read_to_string(&file)?;
            let table = format!("\n[provider]\nkind = \"openai-chat\"\nbase_url = \"{base}\"\nmodel = \"scripted\"\n");
            std::fs::write(&file, text + &table)?;
            "chitin config check".to_owned()
        } else {
            line
        };
        tell(&format!("$ {line}"));
        let ran = chitin.run_line(&line).await;
        ensure!(ran.code == 0, "{line}: {ran:?}");
    }
    set_secret(chitin, "hook", HOOK_SECRET).await?;
    tell("$ chitin secret set hook < …");
    let grant = chitin.home().join("policies/chitin__shell.toml");
    let text = std::fs::read_to_string(&grant).with_context(|| format!("read {}", grant.display()))?;
    std::fs::write(&grant, text.replace("ask = \"each\"", "ask = \"never\""))?;
    tell("  policies/chitin__shell.toml: ask = \"never\" (written by its owner)");
    Ok(())
}

/// Sets a secret through standard input.
///
/// # Errors
/// The command failed.
pub async fn set_secret(chitin: &Chitin, name: &str, text: &str) -> Result<()> {
    use tokio::io::AsyncWriteExt;
    let mut command = chitin.command(&["secret", "set", name]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("a pipe")?;
    stdin.write_all(text.as_bytes()).await?;
    drop(stdin);
    ensure!(child.wait().await?.success(), "secret set {name} failed");
    Ok(())
}

/// The replies that arrived for one message.
pub fn replies_to(server: &Server, id: &str) -> Vec<Value> {
    let bodies = server.seen().into_iter().filter_map(|seen| serde_json::from_slice::<Value>(&seen.body).ok());
    bodies.filter(|body| body["in_reply_to"] == id).collect()
}

/// Waits for the reply to one message.
///
/// # Errors
/// None arrived in time.
pub async fn reply_to(server: &Server, id: &str) -> Result<Value> {
    wait_for(|| !replies_to(server, id).is_empty()).await.with_context(|| format!("no reply to {id}"))?;
    replies_to(server, id).into_iter().next().context("a reply")
}

/// Waits until something holds.
///
/// # Errors
/// It does not within the patience of a test.
pub async fn wait_for(holds: impl Fn() -> bool) -> Result<()> {
    for _ in 0..1_500 {
        if holds() {
            return Ok(());
        }
        sleep(Duration::from_millis(20)).await;
    }
    anyhow::bail!("waited for 30 seconds")
}

/// Writes the nonce with the file tool, reads it back with the shell, and says what the shell read.
fn script(messages: &[Value], nonce: &str, file: &str) -> Say {
    let results = messages.iter().rev().take_while(|m| m["role"] != "user").filter(|m| m["role"] == "tool").count();
    match results {
        0 => Say::Call("fs__file_write", json!({ "path": format!("/workspace/{file}"), "content": nonce })),
        1 => Say::Call("shell__run", json!({ "command": format!("cat /workspace/{file}") })),
        _ => {
            let last = messages.last().and_then(|m| m["content"].as_str()).unwrap_or("");
            Say::Text(format!("the shell read: {last}"))
        }
    }
}
