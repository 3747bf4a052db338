//! Does one message go through a signed component and come back? The story that `cargo xtask demo` tells and that a test
//! checks: every claim is read from outside, from a file on disk, a server's log, the audit.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::{
    chitin::{Chitin, Ran},
    model::{self, Say},
    server::{Reply, Server},
};

/// Tells what happens, line by line.
pub type Tell<'a> = &'a (dyn Fn(&str) + Sync);

/// The whole story, with the offline provider and then with a scripted model.
///
/// # Errors
/// The first claim that did not hold.
pub async fn whole(nonce: &str, tell: Tell<'_>) -> Result<()> {
    let page = format!("<html><head><title>Page</title></head><body><p>served {nonce}-page</p></body></html>");
    let server =
        Server::start(
            move |seen| {
                if seen.target == "/page" { Reply::ok("text/html", page.clone()) } else { Reply::not_found() }
            },
        )
        .await;
    let chitin = Chitin::new();
    onboard(&chitin, tell).await?;
    let first = Walk { chitin: &chitin, server: &server, nonce, file: "offline.txt", tell };
    tell("\n== the offline provider ==");
    first.granted().await?;
    first.refused_path().await?;
    first.refused_host().await?;
    tell("\n== a scripted model behind the streaming wire of OpenAI ==");
    let url = format!("{}/page", server.origin());
    let model = model::start(move |messages| script(messages, &url)).await;
    let file = chitin.home().join("config.toml");
    let provider =
        format!("\n[provider]\nkind = \"openai-chat\"\nbase_url = \"{}/v1\"\nmodel = \"scripted\"\n", model.origin());
    std::fs::write(&file, std::fs::read_to_string(&file)? + &provider)?;
    Walk { file: "scripted.txt", ..first }.granted().await?;
    let asked = model.seen();
    ensure!(asked.len() == 3, "the model was asked {} times, not 3", asked.len());
    ensure!(asked.iter().all(|a| a.body.windows(13).any(|w| w == b"\"stream\":true")), "a request did not stream");
    tell("  the model was asked three times: a call, a call, an answer");
    let ran = chitin.run(&["audit", "verify"]).await;
    ensure!(ran.code == 0, "audit verify: {ran:?}");
    tell(&format!("  $ chitin audit verify\n  {}", ran.out.trim()));
    Ok(())
}

async fn onboard(chitin: &Chitin, tell: Tell<'_>) -> Result<()> {
    let ran = chitin.run(&["-y", "onboard"]).await;
    ensure!(ran.code == 0, "onboard: {ran:?}");
    tell("$ chitin onboard");
    for line in ran.out.lines().chain(ran.err.lines()) {
        tell(&format!("  {line}"));
    }
    Ok(())
}

/// What the scripted model says: fetch the page, write what came back with the nonce of the prompt, answer.
fn script(messages: &[Value], url: &str) -> Say {
    let results: Vec<&str> =
        messages.iter().filter(|m| m["role"] == "tool").filter_map(|m| m["content"].as_str()).collect();
    let prompt = messages.iter().rfind(|m| m["role"] == "user").and_then(|m| m["content"].as_str()).unwrap_or("");
    let last_turn = messages.iter().rposition(|m| m["role"] == "user").unwrap_or(0);
    let since = messages.iter().skip(last_turn).filter(|m| m["role"] == "tool").count();
    match since {
        0 => Say::Call("http__web_fetch", json!({"url": url})),
        1 => {
            let note = prompt.rsplit(' ').next().unwrap_or("");
            let content = format!("{}\n{note}", results.last().copied().unwrap_or(""));
            Say::Call("fs__file_write", json!({"path": "scripted.txt", "content": content}))
        }
        _ => Say::Text("The page is saved.".to_owned()),
    }
}

struct Walk<'a> {
    chitin: &'a Chitin,
    server: &'a Server,
    nonce: &'a str,
    file: &'a str,
    tell: Tell<'a>,
}

impl Walk<'_> {
    /// The message that is allowed, in a session of its own.
    async fn granted(&self) -> Result<()> {
        let Self { chitin, server, nonce, file, tell } = self;
        let grant = format!("chitin tool grant chitin/http net {} --path /page", server.origin());
        let ran = chitin.run_line(&grant).await;
        ensure!(ran.code == 0, "{grant}: {ran:?}");
        let before = server.seen().len();
        let prompt = format!("fetch {}/page and save it to {file} with note {nonce}-prompt", server.origin());
        let ran = self.ask(&prompt).await?;
        ensure!(ran.code == 0, "run: {ran:?}");
        let saved = chitin.workspace().join(file);
        let text = std::fs::read_to_string(&saved).with_context(|| format!("the file was not written: {ran:?}"))?;
        ensure!(text.contains(&format!("{nonce}-page")), "the file lacks what the server gave: {text}");
        ensure!(text.contains(&format!("{nonce}-prompt")), "the file lacks what the prompt said: {text}");
        tell(&format!("  on disk: {file} holds both nonces"));
        let log: Vec<String> =
            server.seen().into_iter().skip(before).map(|s| format!("{} {}", s.method, s.target)).collect();
        ensure!(log == ["GET /page"], "the server saw {log:?}");
        tell("  at the server: GET /page, once");
        let audit = chitin.run(&["--json", "audit", "tail", "-n", "200"]).await.json();
        let records = audit["records"].as_array().cloned().unwrap_or_default();
        let has = |subject: &str, rule: &str| records.iter().any(|r| r["subject"] == subject && r["rule"] == rule);
        ensure!(has("chitin/http", "call:web_fetch") && has("chitin/fs", "call:file_write"), "decisions: {audit}");
        ensure!(has("chitin/fs", "fs:/workspace"), "the write itself is not in the audit: {audit}");
        tell("  in the audit: both decisions, and the write by its rule");
        Ok(())
    }

    /// A path outside of the workspace: refused, and allowed by the line that is offered.
    async fn refused_path(&self) -> Result<()> {
        let folder = self.chitin.outside().join("notes");
        std::fs::create_dir_all(&folder)?;
        let file = folder.join("private.txt");
        std::fs::write(&file, format!("{}-secret", self.nonce))?;
        let prompt = format!("read {}", file.display());
        let ran = self.ask(&prompt).await?;
        let secret = format!("{}-secret", self.nonce);
        ensure!(!ran.out.contains(&secret) && !ran.err.contains(&secret), "it was read: {ran:?}");
        self.allowed_by_offer(&ran, &prompt, &secret).await
    }

    /// A host outside of the grant: refused before a socket opens, and allowed by the line that is offered.
    async fn refused_host(&self) -> Result<()> {
        let secret = format!("{}-elsewhere", self.nonce);
        let page = secret.clone();
        let other = Server::start(move |_| Reply::ok("text/plain", page.clone())).await;
        let prompt = format!("fetch {}/other", other.origin());
        let ran = self.ask(&prompt).await?;
        ensure!(other.connections() == 0, "a socket was opened");
        (self.tell)("  at the other server: no connection");
        self.allowed_by_offer(&ran, &prompt, &secret).await
    }

    async fn allowed_by_offer(&self, refused: &Ran, prompt: &str, wanted: &str) -> Result<()> {
        let offers = refused.offered();
        let line = offers
            .iter()
            .find(|l| l.starts_with("chitin tool grant"))
            .with_context(|| format!("the refusal offers no line that would allow it: {refused:?}"))?;
        (self.tell)(&format!("$ {line}"));
        let ran = self.chitin.run_line(line).await;
        ensure!(ran.code == 0, "{line}: {ran:?}");
        let ran = self.ask(prompt).await?;
        ensure!(ran.out.contains(wanted), "still refused after the offered line: {ran:?}");
        Ok(())
    }

    async fn ask(&self, prompt: &str) -> Result<Ran> {
        (self.tell)(&format!("$ chitin run -p {prompt:?}"));
        let ran = self.chitin.run(&["run", "-p", prompt]).await;
        for line in ran.err.lines().chain(ran.out.lines()).filter(|l| !l.is_empty()) {
            (self.tell)(&format!("  {line}"));
        }
        Ok(ran)
    }
}
