//! How does one callback run in an instance that stays? Everything but the instance and its open handles is fresh for each:
//! the deadline, the counters, the grants' rules for requests.
//!
//! ```text
//!   start ─ component ─ store ─ instantiate ─ core.start ─→ Live
//!   Live + Work ─ renew ─ call ─┬ returned ─→ Live, Did
//!                               ├ said no ──→ Live, No
//!                               └ trapped, too late, panicked ─→ Broke; the instance is gone
//! ```
//!
//! Each runs in a task of its own, so that a panic in a host function ends this instance and nothing else.

use std::sync::Arc;

use chitin_ports::{ChannelError, ChannelTool, HttpIn, HttpOut, Outbound};
use wasmtime::Store;
use wasmtime_wasi::WasiCtx;

use super::{
    Side,
    door::Shared,
    translate,
    wit::{ChannelHost, ChannelHostPre},
};
use crate::{
    Host, HostError,
    invoke::bounded,
    limits::Reached,
    outcome::from_error,
    state::{CallContext, CallStart, CallState, RANDOM_BYTES_MAX},
};

/// An instance that was started and did not break since.
pub(super) struct Live {
    store: Store<CallState>,
    instance: ChannelHost,
    tool: ChannelTool,
    /// Shared by all callbacks: an instance that reached a limit is not used again.
    reached: Reached,
}

/// What the guest is to do.
pub(super) enum Work {
    /// Answer a checked request.
    Http(HttpIn),
    /// Look for something new, from this cursor on.
    Tick(Option<String>),
    /// Send an answer.
    Send(Outbound),
}

/// What the guest did.
#[derive(Debug)]
pub(super) enum Did {
    /// It answered the request.
    Answered(HttpOut),
    /// It looked, and may have given the next cursor.
    Ticked(Option<String>),
    /// It sent; the platform's id.
    Sent(String),
}

/// How a callback ended.
pub(super) enum Ended {
    /// As it should.
    Did(Did),
    /// The guest or the platform said no, or the answer cannot be used.
    No(ChannelError),
    /// The instance is gone, for this reason.
    Broke(String),
}

impl Live {
    /// Whether this is the component that is installed, with what is granted now.
    pub(super) fn is_of(&self, tool: &ChannelTool) -> bool {
        let mine = &self.tool;
        mine.component == tool.component && mine.grants == tool.grants && mine.ask == tool.ask
    }

    /// Seconds between two ticks, where there are ticks.
    pub(super) fn tick_s(&self) -> Option<u32> {
        self.tool.ask.tick_s
    }
}

/// Makes an instance and has it check its configuration; why it cannot be used otherwise.
pub(super) async fn start(shared: &Arc<Shared>, side: &Arc<Side>, tool: ChannelTool) -> Result<Live, String> {
    let (shared, side) = (Arc::clone(shared), Arc::clone(side));
    let task = tokio::spawn(async move { open(&shared, side, tool).await });
    task.await.unwrap_or_else(|error| Err(panicked(&error)))
}

/// Runs one callback. The instance comes back if it can be used again.
pub(super) async fn callback(
    shared: &Arc<Shared>,
    side: &Arc<Side>,
    mut live: Live,
    work: Work,
) -> (Option<Live>, Ended) {
    let call = context(shared, Arc::clone(side), &live.tool, &live.reached);
    let shared = Arc::clone(shared);
    let task = tokio::spawn(async move {
        if let Err(error) = live.renew(&shared.parts.host, &call) {
            return (None, Ended::Broke(error.to_string()));
        }
        let ended = live.run(&call, work).await;
        match ended {
            Ok(ended) if live.reached.get().is_none() => (Some(live), ended),
            Ok(ended) => (None, ended),
            Err(error) => (None, Ended::Broke(from_error(&call, &error).text_for_model())),
        }
    });
    task.await.unwrap_or_else(|error| (None, Ended::Broke(panicked(&error))))
}

async fn open(shared: &Shared, side: Arc<Side>, tool: ChannelTool) -> Result<Live, String> {
    let host = &shared.parts.host;
    let component = host.component(&tool.component).await.map_err(|e| e.to_string())?;
    let pre = shared.linker.instantiate_pre(&component).map_err(|e| format!("{e:#}"))?;
    let pre = ChannelHostPre::new(pre).map_err(|_| "it does not export chitin:channel/core@0.1.0".to_owned())?;
    let reached = Reached::default();
    let call = context(shared, side, &tool, &reached);
    let mut store = host.store(&call).map_err(|e| e.to_string())?;
    store.data_mut().wasi = without_end();
    let begin = async |store: &mut Store<CallState>| {
        let instance = pre.instantiate_async(&mut *store).await?;
        let said = instance.chitin_channel_core().call_start(&mut *store).await?;
        Ok::<_, wasmtime::Error>((instance, said))
    };
    let begun = bounded(&call, &mut store, begin).await;
    let (instance, said) = begun.map_err(|error| from_error(&call, &error).text_for_model())?;
    match said.map_err(|failure| translate::refusal(&call, failure)) {
        Ok(()) => Ok(Live { store, instance, tool, reached }),
        Err(refusal) => Err(refusal.to_string()),
    }
}

impl Live {
    /// Puts the state of a new call into the store. What the guest holds stays: its handles, the paths of its open
    /// files, the memory that it was counted for.
    fn renew(&mut self, host: &Host, call: &Arc<CallContext>) -> Result<(), HostError> {
        let mut fresh = host.store(call)?.into_data();
        let state = self.store.data_mut();
        std::mem::swap(&mut fresh.table, &mut state.table);
        std::mem::swap(&mut fresh.wasi, &mut state.wasi);
        std::mem::swap(&mut fresh.files, &mut state.files);
        std::mem::swap(&mut fresh.memory, &mut state.memory);
        *state = fresh;
        Ok(())
    }

    async fn run(&mut self, call: &CallContext, work: Work) -> wasmtime::Result<Ended> {
        let Self { store, instance, tool: _, reached: _ } = self;
        let core = instance.chitin_channel_core();
        match work {
            Work::Http(request) => {
                let request = translate::request(request);
                let ask = async |store: &mut Store<CallState>| core.call_on_http(&mut *store, &request).await;
                let reply = bounded(call, store, ask).await?;
                Ok(translate::reply(reply).map_or_else(Ended::No, |reply| Ended::Did(Did::Answered(reply))))
            }
            Work::Tick(cursor) => {
                let ask = async |store: &mut Store<CallState>| core.call_on_tick(&mut *store, cursor.as_ref()).await;
                let ticked = bounded(call, store, ask).await?;
                Ok(ended(call, ticked.map(Did::Ticked)))
            }
            Work::Send(message) => {
                let message = translate::outbound(message);
                let ask = async |store: &mut Store<CallState>| core.call_send(&mut *store, &message).await;
                let sent = bounded(call, store, ask).await?;
                Ok(ended(call, sent.map(|receipt| Did::Sent(translate::receipt(&receipt)))))
            }
        }
    }
}

fn ended(call: &CallContext, said: Result<Did, crate::wit::wire::Failure>) -> Ended {
    match said {
        Ok(did) => Ended::Did(did),
        Err(failure) => Ended::No(translate::refusal(call, failure)),
    }
}

fn context(shared: &Shared, side: Arc<Side>, tool: &ChannelTool, reached: &Reached) -> Arc<CallContext> {
    let parts = &shared.parts;
    let mut context = CallContext::new(CallStart {
        id: parts.ids.call(),
        session: None,
        grants: Arc::clone(&tool.grants),
        audit: Arc::clone(&parts.audit),
        stores: parts.host.stores.clone(),
        channel: Some(side),
        cancelled: shared.cancel.subscribe(),
        progress: None,
    });
    context.reached = reached.clone();
    Arc::new(context)
}

/// Standard output of an instance that lives for days would fill any buffer; a channel has `wasi:logging` to speak to the
/// operator.
fn without_end() -> WasiCtx {
    WasiCtx::builder().allow_blocking_current_thread(true).max_random_size(RANDOM_BYTES_MAX).build()
}

fn panicked(error: &tokio::task::JoinError) -> String {
    tracing::error!(%error, "a host function panicked");
    "the host broke (host-panic)".to_owned()
}
