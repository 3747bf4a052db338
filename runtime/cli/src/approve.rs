//! How is the owner asked at the terminal? The exact call is shown, complete; one letter answers.

use std::io::{BufRead, Write};

use async_trait::async_trait;
use chitin_policy::Approval;
use chitin_ports::{Answer, Approve, Question};

use crate::output::printable;

/// Asks on the terminal, or says no where nobody is.
pub(crate) struct Terminal {
    pub(crate) person: bool,
}

#[async_trait]
impl Approve for Terminal {
    async fn ask(&self, question: &Question) -> Answer {
        if !self.person {
            return Answer::No(format!("{} asks for a person, and nobody is at the terminal", question.rule));
        }
        let text = format!(
            "\n{} wants to run with\n  {}\n(rule {}, call {})\nallow{}? [y/N] ",
            printable(&question.title),
            printable(&question.arguments),
            question.rule,
            question.digest.hex().chars().take(12).collect::<String>(),
            if question.covers_session { " for the rest of this session" } else { " this once" },
        );
        let answer = tokio::task::spawn_blocking(move || read_answer(&text)).await;
        match answer {
            Ok(Ok(line)) if matches!(line.trim(), "y" | "Y" | "yes") => {
                Answer::Yes(Approval { digest: question.digest, expires_at_ms: question.expires_at_ms })
            }
            Ok(Ok(_)) => Answer::No("the user said no".to_owned()),
            Ok(Err(error)) => Answer::No(format!("the terminal could not be read: {error}")),
            Err(_) => Answer::No("the question was broken off".to_owned()),
        }
    }
}

/// Asks on standard error and reads one line.
pub(crate) fn read_answer(text: &str) -> std::io::Result<String> {
    let mut stderr = anstream::stderr();
    write!(stderr, "{text}")?;
    stderr.flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line)
}
