//! How does what a guest hears reach the agent? Messages of one callback go in; they are stored before the guest is told.
//!
//! Grant: being a channel. Linked: `chitin:channel/inbox`, and `sockets`, which no manifest can ask for yet and which
//! therefore says `denied`. For one instance: a [`Side`], by which the host and not the guest says which channel it is.

use std::sync::Arc;

use chitin_ports::{Inbound, Inbox};
use chitin_types::Denial;
use serde::de::IgnoredAny;
use tokio::sync::Notify;
use wasmtime::{
    Engine,
    component::{HasSelf, Linker},
};

use super::wit::chitin::channel::{inbox, sockets, types as wire};
use crate::{
    HostError,
    capability::failure,
    linker::base_linker,
    state::CallState,
    wit::wire::{Failure, FailureKind, HostBlob},
};

/// What a channel has that a tool has not.
pub(crate) struct Side {
    /// The channel's name in the configuration, which is stamped on everything that its guest emits.
    pub(super) channel: String,
    /// Where messages are kept.
    pub(super) inbox: Arc<dyn Inbox>,
    /// Wakes whoever answers.
    pub(super) wake: Arc<Notify>,
}

/// The linker of the channel world: all that a tool can import, and the inbox.
pub(super) fn channel_linker(engine: &Engine) -> Result<Linker<CallState>, HostError> {
    let link = || -> wasmtime::Result<Linker<CallState>> {
        let mut linker = base_linker(engine)?;
        inbox::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
        sockets::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
        Ok(linker)
    };
    link().map_err(|e| HostError::Engine(format!("{e:#}")))
}

/// The cursor, if it can be kept: one JSON value of bounded size.
pub(super) fn checked_cursor(cursor: &str) -> Result<(), String> {
    if cursor.len() > CURSOR_BYTES_MAX {
        return Err(format!("the cursor has {} bytes; {CURSOR_BYTES_MAX} can be kept", cursor.len()));
    }
    serde_json::from_str::<IgnoredAny>(cursor).map(|_| ()).map_err(|_| "the cursor is no JSON".to_owned())
}

impl inbox::Host for CallState {
    async fn emit(
        &mut self,
        messages: Vec<wire::Inbound>,
        cursor: Option<String>,
    ) -> wasmtime::Result<Result<(), Failure>> {
        self.call.charge()?;
        let Some(side) = self.call.channel.clone() else { return Ok(Err(self.no_channel())) };
        let (messages, files) = self.without_files(messages).await?;
        if files > 0 {
            let message = format!("{files} attachments: this version keeps none, so nothing was taken");
            return Ok(Err(failure::invalid("attachments-not-kept", message)));
        }
        let checked = checked(messages).and_then(|messages| {
            cursor.as_deref().map(checked_cursor).transpose()?;
            Ok(messages)
        });
        let messages = match checked {
            Ok(messages) => messages,
            Err(why) => return Ok(Err(failure::invalid("bad-message", why))),
        };
        match side.inbox.emit(&side.channel, &messages, cursor.as_deref()).await {
            Ok(new) => {
                let detail = serde_json::json!({ "channel": side.channel, "messages": messages.len(), "new": new });
                self.call.look("inbox:emit", detail);
                if new > 0 {
                    side.wake.notify_one();
                }
                Ok(Ok(()))
            }
            Err(error) => Ok(Err(failure::broken(&self.call, "inbox", "storing the messages", &error))),
        }
    }

    async fn answer(&mut self, _id: String, _sender: String, _allow: bool) -> wasmtime::Result<Result<(), Failure>> {
        self.call.charge()?;
        Ok(Err(Failure {
            kind: FailureKind::NotFound,
            code: Some("no-such-approval".to_owned()),
            message: "no question of this id was asked through this channel".to_owned(),
            retry_after_ms: None,
        }))
    }
}

impl sockets::Host for CallState {
    async fn send(&mut self, _socket: String, _frame: wire::Frame) -> wasmtime::Result<Result<(), Failure>> {
        self.call.charge()?;
        Ok(Err(self.no_socket()))
    }

    async fn reconnect(&mut self, _socket: String) -> wasmtime::Result<Result<(), Failure>> {
        self.call.charge()?;
        Ok(Err(self.no_socket()))
    }
}

impl CallState {
    fn no_channel(&self) -> Failure {
        let reason = "only a configured channel may put messages into the inbox".to_owned();
        failure::denied(&self.call, Denial { rule: "grant:inbox".to_owned(), reason, help: None })
    }

    fn no_socket(&self) -> Failure {
        let reason = "the signed manifest asks for no socket".to_owned();
        failure::denied(&self.call, Denial { rule: "request:sockets".to_owned(), reason, help: None })
    }

    /// Takes the files off, since the guest gave up its handles with the message, and counts them.
    async fn without_files(
        &mut self,
        mut messages: Vec<wire::Inbound>,
    ) -> wasmtime::Result<(Vec<wire::Inbound>, usize)> {
        let mut files = 0;
        for message in &mut messages {
            for attachment in std::mem::take(&mut message.attachments) {
                HostBlob::drop(self, attachment.content).await?;
                files += 1;
            }
        }
        Ok((messages, files))
    }
}

/// The messages as they are kept, or what is wrong with the first that cannot be. The interruption scope, `group` and the
/// extras have no reader yet and are not kept.
fn checked(messages: Vec<wire::Inbound>) -> Result<Vec<Inbound>, String> {
    if messages.len() > MESSAGES_MAX {
        return Err(format!("{} messages at once; {MESSAGES_MAX} are taken", messages.len()));
    }
    messages.into_iter().map(checked_message).collect()
}

fn checked_message(message: wire::Inbound) -> Result<Inbound, String> {
    let wire::Address { target, thread } = message.reply_to;
    let (id, sender) = (message.id, message.sender);
    for (what, name) in
        [("id", Some(&id)), ("sender", Some(&sender)), ("target", Some(&target)), ("thread", thread.as_ref())]
    {
        if name.is_some_and(|name| !is_name(name)) {
            return Err(format!(
                "the {what} of a message is not 1 to {NAME_BYTES_MAX} bytes without control characters"
            ));
        }
    }
    if message.text.len() > TEXT_BYTES_MAX {
        return Err(format!("a message has {} bytes of text; {TEXT_BYTES_MAX} are taken", message.text.len()));
    }
    Ok(Inbound { id, sender, target, thread, text: message.text, sent_at_ms: message.sent_at_ms })
}

/// Whether a text of the platform can name something: it is shown in logs and lists.
fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// Messages of one emit; a platform is read page by page, and one transaction holds up every other.
const MESSAGES_MAX: usize = 100;
/// Longest id, sender, target and thread in bytes; each is part of a key.
const NAME_BYTES_MAX: usize = 256;
/// Longest text of one message in bytes: more does not fit into any model.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Largest cursor in bytes, far above a page token.
const CURSOR_BYTES_MAX: usize = 64 * 1024;

#[cfg(test)]
#[path = "inbox_tests.rs"]
mod tests;
