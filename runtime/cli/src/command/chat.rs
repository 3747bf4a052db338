//! How does a message reach the agent from the terminal? One at a time, or line by line.

use std::{io::IsTerminal, sync::Arc};

use chitin_agent::{Agent, Inbound, TurnEnd};
use chitin_ports::{Delivery, Ids, SessionKey};
use serde_json::json;
use tokio::io::AsyncBufReadExt;

use crate::{
    args::{Chat, Run},
    client::Client,
    config::ProviderChoice,
    error::{CliError, Exit},
    output::{Output, person_is_there},
    remote::Remote,
    sink::Printer,
    source::TimedIds,
    wire::Wire,
};

/// Longest message in bytes read from standard input, from SPEC row 1.
const INPUT_BYTES_MAX: usize = 1024 * 1024;

/// `chitin run`.
pub(crate) async fn once(wire: &Wire, args: &Run, output: &Output) -> Result<(), CliError> {
    let prompt = match &args.prompt {
        Some(text) => text.clone(),
        None => read_all()?,
    };
    if prompt.trim().is_empty() {
        return Err(CliError::usage("the message is empty").help("chitin run -p \"read notes.txt\""));
    }
    let session = args.session.clone().unwrap_or_else(|| TimedIds.session().to_string());
    Talk::open(wire, &session, output).await?.say(&prompt).await
}

/// `chitin chat`.
pub(crate) async fn dialogue(wire: &Wire, args: &Chat, output: &Output) -> Result<(), CliError> {
    let talk = Talk::open(wire, &args.session, output).await?;
    if let Some(message) = &args.message {
        return talk.say(message).await;
    }
    if std::io::stdin().is_terminal() { talk.with_person().await } else { talk.with_lines().await }
}

struct Talk<'a> {
    with: With,
    key: SessionKey,
    delivery: Delivery,
    output: &'a Output,
}

/// Who answers: a daemon when one runs, so that two processes never write to one dialogue, else this process.
enum With {
    Daemon(Remote),
    Here(Arc<Agent>),
}

impl<'a> Talk<'a> {
    async fn open(wire: &Wire, session: &str, output: &'a Output) -> Result<Self, CliError> {
        let choice = wire.config()?.provider;
        let delivery = match &choice {
            ProviderChoice::OpenaiChat { stream: false, .. } => Delivery::Whole,
            ProviderChoice::OpenaiChat { .. } | ProviderChoice::Offline => Delivery::Streamed,
        };
        let key = SessionKey {
            channel: "terminal".to_owned(),
            reply_target: session.to_owned(),
            thread: None,
            sender: "owner".to_owned(),
        };
        let with = match Client::find(wire.root()).await {
            Some(client) => {
                With::Daemon(Remote { client, person: person_is_there(&wire.global), no_input: wire.global.no_input })
            }
            None => With::Here(wire.agent(&wire.records()?)?),
        };
        Ok(Self { with, key, delivery, output })
    }

    /// One message to its end. Ctrl-C stops the turn; the dialogue stays whole.
    async fn say(&self, text: &str) -> Result<(), CliError> {
        let printer = Printer::new(self.output);
        let end = match &self.with {
            With::Daemon(remote) => remote.say(&self.key.reply_target, text, &printer).await?,
            With::Here(agent) => self.say_here(agent, text, &printer).await,
        };
        match end {
            TurnEnd::Answered(answer) | TurnEnd::Commanded(answer) => {
                if self.output.is_json() {
                    self.output.result("answer", json!({ "text": answer }), "");
                }
                Ok(())
            }
            TurnEnd::Stopped(why) => Err(CliError::new(Exit::Interrupted, why)),
            TurnEnd::Failed(why) => Err(CliError::new(Exit::Provider, why)),
        }
    }

    async fn say_here(&self, agent: &Agent, text: &str, printer: &Printer) -> TurnEnd {
        let inbound = Inbound { key: self.key.clone(), text: text.to_owned(), delivery: self.delivery };
        let turn = agent.handle(inbound, printer);
        tokio::pin!(turn);
        loop {
            tokio::select! {
                end = &mut turn => return end,
                Ok(()) = tokio::signal::ctrl_c() => { agent.stop(&self.key); }
            }
        }
    }

    async fn with_person(&self) -> Result<(), CliError> {
        let mut editor = rustyline::DefaultEditor::new().map_err(|e| CliError::failed(e.to_string()))?;
        self.output.note("/new starts afresh, Ctrl-D ends");
        loop {
            // The editor blocks; no turn runs while a person types.
            let line = tokio::task::block_in_place(|| editor.readline("> "));
            match line {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    // History is a convenience; a line that is not remembered is still answered.
                    let _ = editor.add_history_entry(&line);
                    self.say_and_go_on(&line).await;
                }
                Err(rustyline::error::ReadlineError::Eof | rustyline::error::ReadlineError::Interrupted) => {
                    return Ok(());
                }
                Err(error) => return Err(CliError::failed(format!("read the terminal: {error}"))),
            }
        }
    }

    async fn with_lines(&self) -> Result<(), CliError> {
        let mut lines = tokio::io::BufReader::new(tokio::io::stdin()).lines();
        while let Some(line) = lines.next_line().await? {
            if line.len() > INPUT_BYTES_MAX {
                return Err(CliError::usage("a line is longer than 1 MiB"));
            }
            if !line.trim().is_empty() {
                self.say_and_go_on(&line).await;
            }
        }
        Ok(())
    }

    async fn say_and_go_on(&self, line: &str) {
        if let Err(error) = self.say(line).await {
            self.output.error(&error);
        }
    }
}

fn read_all() -> Result<String, CliError> {
    use std::io::Read;
    if std::io::stdin().is_terminal() {
        return Err(CliError::usage("there is no message").help("chitin run -p \"read notes.txt\""));
    }
    let mut text = String::new();
    let limit = u64::try_from(INPUT_BYTES_MAX).unwrap_or(u64::MAX);
    std::io::stdin().lock().take(limit + 1).read_to_string(&mut text)?;
    if text.len() > INPUT_BYTES_MAX {
        return Err(CliError::usage("the message is longer than 1 MiB"));
    }
    Ok(text.trim_end().to_owned())
}
