//! What stands behind the gateway in tests? Each writes down what it saw, and does what the test told it to.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use chitin_policy::Authorized;
use chitin_ports::{
    Audit, AuditEntry, ChannelDoor, ChannelError, ChannelState, ChannelStatus, ChatReply, ChatRequest, Clock, History,
    HttpIn, HttpOut, Ids, Installed, Invocation, Invoke, Outbound, PortError, Provider, ProviderError, Receipt,
    SessionKey, SessionSummary, StopReason, TextSink, Toolbox,
};
use chitin_types::{CallId, Message, SessionId, ToolOutcome, ToolSpec, Turn, TurnId};
use tokio::sync::Semaphore;

/// What the model does when it is asked.
pub(crate) enum Script {
    Says(&'static str),
    Fails(ProviderError),
    Hangs,
    Breaks,
}

/// Says `hello there` when its script is at the end.
#[derive(Default)]
pub(crate) struct Model {
    script: Mutex<VecDeque<Script>>,
    requests: Mutex<Vec<ChatRequest>>,
    gone: Arc<AtomicUsize>,
}

impl Model {
    pub(crate) fn will(&self, script: impl IntoIterator<Item = Script>) {
        held(&self.script).extend(script);
    }

    /// What it was asked, in order: the last message of each request.
    pub(crate) fn asked(&self) -> Vec<String> {
        let text = |request: &ChatRequest| match request.messages.last() {
            Some(Message::User { text }) => text.clone(),
            other => panic!("{other:?}"),
        };
        held(&self.requests).iter().map(text).collect()
    }

    /// Requests that were given up while it hung.
    pub(crate) fn gone(&self) -> usize {
        self.gone.load(Ordering::SeqCst)
    }
}

struct Hanging(Arc<AtomicUsize>);

impl Drop for Hanging {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Provider for Model {
    fn name(&self) -> String {
        "scripted".to_owned()
    }

    fn notice(&self) -> Option<String> {
        None
    }

    async fn complete(&self, request: &ChatRequest, sink: &dyn TextSink) -> Result<ChatReply, ProviderError> {
        held(&self.requests).push(request.clone());
        let next = held(&self.script).pop_front();
        let text = match next.unwrap_or(Script::Says("hello there")) {
            Script::Says(text) => text,
            Script::Fails(error) => return Err(error),
            Script::Hangs => {
                let _hanging = Hanging(Arc::clone(&self.gone));
                std::future::pending().await
            }
            Script::Breaks => panic!("the model broke"),
        };
        for piece in text.split_inclusive(' ') {
            sink.text(piece);
        }
        Ok(ChatReply { text: text.to_owned(), calls: vec![], stop: StopReason::End, usage: None })
    }
}

#[derive(Default)]
pub(crate) struct Shelf {
    sessions: Mutex<Vec<(SessionKey, SessionId)>>,
    turns: Mutex<Vec<(SessionId, Turn)>>,
}

impl Shelf {
    pub(crate) fn keys(&self) -> Vec<SessionKey> {
        held(&self.sessions).iter().map(|(key, _)| key.clone()).collect()
    }
}

#[async_trait]
impl History for Shelf {
    async fn open(&self, key: &SessionKey, fresh: SessionId) -> Result<SessionId, PortError> {
        let known = held(&self.sessions).iter().rev().find(|(of, _)| of == key).map(|(_, id)| id.clone());
        match known {
            Some(id) => Ok(id),
            None => self.start(key, fresh).await,
        }
    }

    async fn start(&self, key: &SessionKey, fresh: SessionId) -> Result<SessionId, PortError> {
        held(&self.sessions).push((key.clone(), fresh.clone()));
        Ok(fresh)
    }

    async fn append(&self, session: &SessionId, turn: &TurnId, messages: &[Message]) -> Result<(), PortError> {
        let mut turns = held(&self.turns);
        match turns.iter_mut().find(|(_, known)| known.id == *turn) {
            Some((_, known)) => known.messages.extend_from_slice(messages),
            None => turns.push((session.clone(), Turn { id: turn.clone(), messages: messages.to_vec() })),
        }
        Ok(())
    }

    async fn recent(&self, session: &SessionId, _turns_max: usize) -> Result<Vec<Turn>, PortError> {
        Ok(held(&self.turns).iter().filter(|(of, _)| of == session).map(|(_, turn)| turn.clone()).collect())
    }

    async fn sessions(&self) -> Result<Vec<SessionSummary>, PortError> {
        Ok(vec![])
    }
}

#[derive(Default)]
pub(crate) struct Ledger(Mutex<Vec<AuditEntry>>);

impl Ledger {
    pub(crate) fn entries(&self) -> Vec<AuditEntry> {
        held(&self.0).clone()
    }
}

impl Audit for Ledger {
    fn append(&self, entry: AuditEntry) -> Receipt {
        held(&self.0).push(entry);
        let (sender, receipt) = Receipt::pair();
        // The receipt is here; it takes it.
        let _ = sender.send(Ok(()));
        receipt
    }
}

pub(super) struct NoTools;

#[async_trait]
impl Toolbox for NoTools {
    async fn specs(&self) -> Result<Vec<ToolSpec>, PortError> {
        Ok(vec![])
    }

    async fn resolve(&self, _wire_name: &str) -> Result<Option<Installed>, ToolOutcome> {
        Ok(None)
    }
}

#[async_trait]
impl Invoke for NoTools {
    async fn invoke(&self, _permit: Authorized, _call: Invocation) -> ToolOutcome {
        ToolOutcome::Cancelled
    }
}

/// Answers every webhook as it was told to, and `200 ok` else.
#[derive(Default)]
pub(crate) struct Channels {
    answers: Mutex<VecDeque<Result<HttpOut, ChannelError>>>,
    requests: Mutex<Vec<(String, HttpIn)>>,
    waits: Mutex<Option<Arc<Semaphore>>>,
}

impl Channels {
    pub(crate) fn will(&self, answer: Result<HttpOut, ChannelError>) {
        held(&self.answers).push_back(answer);
    }

    /// From now on each answer waits for a permit.
    pub(crate) fn wait_for(&self, permits: &Arc<Semaphore>) {
        *held(&self.waits) = Some(Arc::clone(permits));
    }

    pub(crate) fn requests(&self) -> Vec<(String, HttpIn)> {
        held(&self.requests).clone()
    }
}

/// A webhook's answer.
pub(crate) fn out(status: u16, content_type: &str, body: &str) -> HttpOut {
    let headers = vec![
        ("content-type".to_owned(), content_type.to_owned()),
        ("set-cookie".to_owned(), "a=b".to_owned()),
        ("access-control-allow-origin".to_owned(), "*".to_owned()),
    ];
    HttpOut { status, headers, body: body.as_bytes().to_vec() }
}

#[async_trait]
impl ChannelDoor for Channels {
    async fn on_http(&self, channel: &str, request: HttpIn) -> Result<HttpOut, ChannelError> {
        held(&self.requests).push((channel.to_owned(), request));
        let waits = held(&self.waits).clone();
        if let Some(permits) = waits {
            permits.acquire().await.expect("never closed").forget();
        }
        held(&self.answers).pop_front().unwrap_or_else(|| Ok(out(200, "text/plain", "ok")))
    }

    async fn send(&self, _channel: &str, _message: Outbound) -> Result<String, ChannelError> {
        Err(ChannelError::NoRoute)
    }

    fn status(&self) -> Vec<ChannelStatus> {
        let status = |name: &str, state| ChannelStatus {
            name: name.to_owned(),
            tool: "core/webhook".to_owned(),
            state,
            last_error: None,
            restarts: 0,
        };
        vec![
            status("hook", ChannelState::Running),
            status("other", ChannelState::BackedOff { next_start_ms: 1 }),
            status("third", ChannelState::Stopped),
        ]
    }
}

/// Stands still until it is moved.
pub(crate) struct ManualClock(AtomicU64);

impl ManualClock {
    pub(crate) fn forward(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self(AtomicU64::new(1_700_000_000_000))
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

impl Ids for Counter {
    fn session(&self) -> SessionId {
        SessionId::parse(format!("session-{}", self.next())).expect("an id")
    }

    fn turn(&self) -> TurnId {
        TurnId::parse(format!("turn-{}", self.next())).expect("an id")
    }

    fn call(&self) -> CallId {
        CallId::parse(format!("call-{}", self.next())).expect("an id")
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
