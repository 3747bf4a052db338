//! Which channels are there? Their configuration goes in; a door through which requests come and answers leave comes out.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use chitin_ports::{
    Audit, AuditEntry, ChannelDoor, ChannelError, ChannelSource, ChannelStatus, ChannelTool, Clock, HttpIn, HttpOut,
    Ids, Inbox, Outbound, Secrets,
};
use chitin_types::{Secret, ToolName};
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
};
use wasmtime::component::Linker;

use super::{
    Backoff, Side,
    actor::{Actor, Cast},
    desk::Desk,
    inbox::channel_linker,
    standing::Standing,
};
use crate::{Host, HostError, engine::engine, state::CallState};

/// One configured channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelConfig {
    /// Its name, unique; part of its webhook's path and stamped on its messages.
    pub name: String,
    /// The tool that it is.
    pub tool: ToolName,
    /// The name of the secret that its webhook's callers sign with; none for a channel without routes.
    pub secret: Option<String>,
}

/// What channels are made from.
pub struct ChannelParts {
    /// Runs components.
    pub host: Arc<Host>,
    /// Finds installed channels. Asked before every callback, so it answers from memory where it can.
    pub source: Arc<dyn ChannelSource>,
    /// Where messages are kept.
    pub inbox: Arc<dyn Inbox>,
    /// Where secrets are kept.
    pub secrets: Arc<dyn Secrets>,
    /// Where starts, failures and refused requests are written.
    pub audit: Arc<dyn Audit>,
    /// For signed times.
    pub clock: Arc<dyn Clock>,
    /// For the ids of callbacks.
    pub ids: Arc<dyn Ids>,
    /// Woken when there is a new message.
    pub wake: Arc<Notify>,
}

/// The configured channels, each with its own task.
pub struct Channels {
    desks: BTreeMap<String, Desk>,
    shared: Arc<Shared>,
    closing: watch::Sender<bool>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// What all channels have in common.
pub(super) struct Shared {
    pub(super) parts: ChannelParts,
    pub(super) linker: Linker<CallState>,
    pub(super) backoff: Backoff,
    /// Becomes true when callbacks must end now.
    pub(super) cancel: watch::Sender<bool>,
}

impl Channels {
    /// Starts each channel as a task of the runtime that this is called on. None of them has to come up: one that cannot
    /// run says why in its status.
    ///
    /// # Errors
    /// The engine does not start.
    pub fn start(parts: ChannelParts, configs: Vec<ChannelConfig>) -> Result<Arc<Self>, HostError> {
        Self::start_with(parts, configs, Backoff::default())
    }

    /// The same with other waits between starts.
    ///
    /// # Errors
    /// As [`Channels::start`].
    pub fn start_with(
        parts: ChannelParts,
        configs: Vec<ChannelConfig>,
        backoff: Backoff,
    ) -> Result<Arc<Self>, HostError> {
        let linker = channel_linker(engine()?)?;
        let shared = Arc::new(Shared { parts, linker, backoff, cancel: watch::channel(false).0 });
        let closing = watch::channel(false).0;
        let (mut desks, mut tasks) = (BTreeMap::new(), Vec::new());
        for config in configs {
            let standing = Arc::new(Standing::new(&config));
            let side = Arc::new(Side {
                channel: config.name.clone(),
                inbox: Arc::clone(&shared.parts.inbox),
                wake: Arc::clone(&shared.parts.wake),
            });
            let (desk, jobs) = Desk::new(config.clone(), Arc::clone(&shared), Arc::clone(&standing));
            let cast = Cast { config, shared: Arc::clone(&shared), side, standing, jobs, closing: closing.subscribe() };
            desks.insert(cast.config.name.clone(), desk);
            tasks.push(tokio::spawn(Actor::new(cast).serve()));
        }
        Ok(Arc::new(Self { desks, shared, closing, tasks: Mutex::new(tasks) }))
    }

    /// Stops taking work, lets callbacks that began end, and ends them after a while.
    pub async fn shutdown(&self) {
        self.closing.send_replace(true);
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let ended = futures::future::join_all(tasks);
        tokio::pin!(ended);
        if tokio::time::timeout(GRACE, ended.as_mut()).await.is_err() {
            self.shared.cancel.send_replace(true);
            let in_time = tokio::time::timeout(GRACE, ended).await.is_ok();
            tracing::warn!(in_time, "callbacks were cancelled");
        }
    }

    fn desk(&self, channel: &str) -> Result<&Desk, ChannelError> {
        self.desks.get(channel).ok_or(ChannelError::NoRoute)
    }
}

#[async_trait]
impl ChannelDoor for Channels {
    async fn on_http(&self, channel: &str, request: HttpIn) -> Result<HttpOut, ChannelError> {
        self.desk(channel)?.on_http(request).await
    }

    async fn send(&self, channel: &str, message: Outbound) -> Result<String, ChannelError> {
        self.desk(channel)?.send(message).await
    }

    fn status(&self) -> Vec<ChannelStatus> {
        self.desks.values().map(Desk::status).collect()
    }
}

impl Shared {
    /// Writes an entry down, in its own time.
    pub(super) fn note(&self, entry: AuditEntry) {
        self.parts.audit.append(entry).later();
    }

    /// The secret that callers of the webhook sign with, or what has to be done first.
    pub(super) async fn secret(&self, config: &ChannelConfig) -> Result<Secret, String> {
        let Some(name) = &config.secret else {
            return Err(format!("channel {} names no secret, and its webhook takes signed requests only", config.name));
        };
        match self.parts.secrets.reveal(name).await {
            // Anybody can sign with an empty key.
            Ok(Some(secret)) if !secret.expose().is_empty() => Ok(secret),
            Ok(_) => Err(format!("the secret {name} is not set: chitin secret set {name}")),
            Err(error) => Err(format!("the secret {name} cannot be read: {error}")),
        }
    }

    /// Whether the requests that this component takes can be checked.
    pub(super) async fn check_secret(&self, config: &ChannelConfig, tool: &ChannelTool) -> Result<(), String> {
        if tool.ask.routes.is_empty() { Ok(()) } else { self.secret(config).await.map(|_| ()) }
    }
}

/// How long a callback may go on after the daemon was told to stop, since an answer that is being sent should arrive; and how
/// long it may take to be cancelled.
const GRACE: Duration = Duration::from_secs(5);
