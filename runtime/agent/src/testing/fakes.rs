//! What stands behind the ports in tests? Each writes down what it saw, and does what the test told it to.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use chitin_policy::{Approval, Authorized};
use chitin_ports::{
    Answer, Approve, Audit, AuditEntry, ChatReply, ChatRequest, Clock, History, Ids, Installed, Invocation, Invoke,
    PortError, Provider, ProviderError, Question, Receipt, SessionKey, SessionSummary, StopReason, TextSink, Toolbox,
};
use chitin_types::{
    CallId, Digest, Event, Message, Part, SessionId, ToolCall, ToolOutcome, ToolSpec, Turn, TurnId,
    canonical::canonical,
};
use tokio::sync::oneshot;

use crate::EventSink;

/// What happened, in order, by whoever saw it.
#[derive(Clone, Default)]
pub(crate) struct Timeline(Arc<Mutex<Vec<String>>>);

impl Timeline {
    pub(crate) fn note(&self, line: impl Into<String>) {
        held(&self.0).push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        held(&self.0).clone()
    }

    /// The lines that begin with one of these.
    pub(crate) fn only(&self, starts: &[&str]) -> Vec<String> {
        self.lines().into_iter().filter(|line| starts.iter().any(|start| line.starts_with(*start))).collect()
    }
}

/// What the model does when it is asked.
pub(crate) enum Script {
    Says(&'static str),
    Calls(Vec<ToolCall>),
    Fails(ProviderError),
    Hangs,
}

pub(crate) struct Sink {
    pub(super) timeline: Timeline,
    pub(super) events: Mutex<Vec<Event>>,
}

impl Sink {
    pub(crate) fn events(&self) -> Vec<Event> {
        held(&self.events).clone()
    }
}

impl EventSink for Sink {
    fn event(&self, event: Event) {
        let word = match &event {
            Event::Chunk { .. } => "chunk",
            Event::ToolCall { .. } => "tool_call",
            Event::ToolResult { .. } => "tool_result",
            Event::ApprovalRequest { .. } => "approval_request",
            Event::Notice { .. } => "notice",
            Event::Done { .. } => "done",
            Event::Error { .. } => "error",
        };
        self.timeline.note(format!("event {word}"));
        held(&self.events).push(event);
    }
}

/// What the wire of a model can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Wire {
    /// Tools of its own, and a choice of models.
    #[default]
    Native,
    /// No tools of its own.
    Written,
    /// No choice of models.
    OneModel,
}

pub(crate) struct Model {
    script: Mutex<VecDeque<Script>>,
    requests: Mutex<Vec<ChatRequest>>,
    wire: Wire,
}

impl Model {
    pub(super) fn new(script: Vec<Script>, wire: Wire) -> Self {
        Self { script: Mutex::new(script.into()), requests: Mutex::default(), wire }
    }

    pub(crate) fn requests(&self) -> Vec<ChatRequest> {
        held(&self.requests).clone()
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

    fn native_tools(&self) -> bool {
        self.wire != Wire::Written
    }

    fn takes_model(&self) -> bool {
        self.wire != Wire::OneModel
    }

    async fn complete(&self, request: &ChatRequest, sink: &dyn TextSink) -> Result<ChatReply, ProviderError> {
        held(&self.requests).push(request.clone());
        // Gives other turns the chance to come in between.
        tokio::task::yield_now().await;
        let next = held(&self.script).pop_front();
        let (text, calls) = match next.expect("the script has another line") {
            Script::Says(text) => (text, vec![]),
            Script::Calls(calls) => ("", calls),
            Script::Fails(error) => return Err(error),
            Script::Hangs => std::future::pending().await,
        };
        for piece in text.split_inclusive(' ') {
            sink.text(piece);
        }
        let stop = if calls.is_empty() { StopReason::End } else { StopReason::ToolCalls };
        Ok(ChatReply { text: text.to_owned(), calls, stop, usage: None })
    }
}

pub(crate) struct Shelf {
    pub(super) timeline: Timeline,
    pub(super) sessions: Mutex<Vec<(SessionKey, SessionId, Vec<Turn>)>>,
}

impl Shelf {
    /// Every turn of every session, oldest first.
    pub(crate) fn turns(&self) -> Vec<Vec<Message>> {
        let sessions = held(&self.sessions);
        sessions.iter().flat_map(|(_, _, turns)| turns).map(|turn| turn.messages.clone()).collect()
    }
}

#[async_trait]
impl History for Shelf {
    async fn open(&self, key: &SessionKey, fresh: SessionId) -> Result<SessionId, PortError> {
        let known = held(&self.sessions).iter().rev().find(|(of, _, _)| of == key).map(|(_, id, _)| id.clone());
        match known {
            Some(id) => Ok(id),
            None => self.start(key, fresh).await,
        }
    }

    async fn start(&self, key: &SessionKey, fresh: SessionId) -> Result<SessionId, PortError> {
        held(&self.sessions).push((key.clone(), fresh.clone(), vec![]));
        Ok(fresh)
    }

    async fn append(&self, session: &SessionId, turn: &TurnId, messages: &[Message]) -> Result<(), PortError> {
        let mut sessions = held(&self.sessions);
        let (_, _, turns) = sessions.iter_mut().find(|(_, id, _)| id == session).expect("an open session");
        match turns.iter_mut().find(|known| known.id == *turn) {
            Some(known) => known.messages.extend_from_slice(messages),
            None => turns.push(Turn { id: turn.clone(), messages: messages.to_vec() }),
        }
        self.timeline.note(format!("store {}", messages.len()));
        Ok(())
    }

    async fn recent(&self, session: &SessionId, turns_max: usize) -> Result<Vec<Turn>, PortError> {
        let sessions = held(&self.sessions);
        let (_, _, turns) = sessions.iter().find(|(_, id, _)| id == session).expect("an open session");
        Ok(turns.iter().skip(turns.len().saturating_sub(turns_max)).cloned().collect())
    }

    async fn sessions(&self) -> Result<Vec<SessionSummary>, PortError> {
        Ok(vec![])
    }
}

#[derive(Default)]
pub(crate) struct Ledger {
    pub(super) timeline: Timeline,
    pub(super) entries: Mutex<Vec<AuditEntry>>,
    pub(super) waiting: Mutex<Vec<oneshot::Sender<Result<(), PortError>>>>,
    /// Whether receipts stay open until [`Ledger::release`].
    pub(crate) slow: AtomicBool,
    /// Whether the disk is full.
    pub(crate) broken: AtomicBool,
}

impl Ledger {
    pub(crate) fn entries(&self) -> Vec<AuditEntry> {
        held(&self.entries).clone()
    }

    /// Makes everything durable that was taken until now.
    pub(crate) fn release(&self) {
        for receipt in held(&self.waiting).drain(..) {
            // Nobody waits for what may become durable later.
            let _ = receipt.send(Ok(()));
        }
    }
}

impl Audit for Ledger {
    fn append(&self, entry: AuditEntry) -> Receipt {
        self.timeline.note(format!("audit {:?} {}", entry.kind, entry.verdict));
        held(&self.entries).push(entry);
        let (sender, receipt) = Receipt::pair();
        if self.slow.load(Ordering::SeqCst) {
            held(&self.waiting).push(sender);
        } else if self.broken.load(Ordering::SeqCst) {
            // As above.
            let _ = sender.send(Err(PortError("write the audit record: the disk is full".to_owned())));
        } else {
            let _ = sender.send(Ok(()));
        }
        receipt
    }
}

pub(super) struct Shed {
    pub(super) tools: Vec<Installed>,
}

#[async_trait]
impl Toolbox for Shed {
    async fn specs(&self) -> Result<Vec<ToolSpec>, PortError> {
        Ok(self.tools.iter().map(|tool| tool.spec.clone()).collect())
    }

    async fn resolve(&self, wire_name: &str) -> Result<Option<Installed>, ToolOutcome> {
        let named = |tool: &&Installed| tool.spec.wire_name().is_ok_and(|name| name.as_str() == wire_name);
        Ok(self.tools.iter().find(named).cloned())
    }
}

/// Redeems permits as the real host does; the function's name says how the call ends.
pub(super) struct Sandbox {
    pub(super) timeline: Timeline,
}

#[async_trait]
impl Invoke for Sandbox {
    async fn invoke(&self, permit: Authorized, mut call: Invocation) -> ToolOutcome {
        if let Err(denial) = permit.redeem(&call.component, &call.function, &call.args) {
            return ToolOutcome::Denied(denial);
        }
        self.timeline.note(format!("invoke {} {}", call.function, canonical(&call.args)));
        let text = match call.function.as_str() {
            "wait" => {
                let stopped = call.cancelled.wait_for(|stopped| *stopped).await.is_ok();
                assert!(stopped, "the turn ended before its call");
                return ToolOutcome::Cancelled;
            }
            "tell" => {
                let progress = call.progress.as_ref().expect("somebody listens");
                progress("half\nway".to_owned());
                "told".to_owned()
            }
            "long" => "x".repeat(60_000),
            _ => "ok".to_owned(),
        };
        ToolOutcome::Done(vec![Part::Text(text)])
    }
}

/// How a person answers.
pub(crate) enum Mood {
    Yes,
    YesToSomethingElse,
    YesTooLate,
    No,
    Silent,
}

pub(crate) struct Person {
    pub(super) questions: Mutex<Vec<Question>>,
    pub(super) answers: Mutex<VecDeque<Mood>>,
}

impl Person {
    pub(crate) fn will(&self, moods: impl IntoIterator<Item = Mood>) {
        held(&self.answers).extend(moods);
    }

    pub(crate) fn questions(&self) -> Vec<Question> {
        held(&self.questions).clone()
    }
}

#[async_trait]
impl Approve for Person {
    async fn ask(&self, question: &Question) -> Answer {
        held(&self.questions).push(question.clone());
        let mood = held(&self.answers).pop_front().expect("the person knows what to say");
        let yes = |digest: Digest, expires_at_ms: u64| Answer::Yes(Approval { digest, expires_at_ms });
        match mood {
            Mood::Yes => yes(question.digest, u64::MAX),
            Mood::YesToSomethingElse => yes(Digest::of(b"something else"), u64::MAX),
            Mood::YesTooLate => yes(question.digest, NOW_MS - 1),
            Mood::No => Answer::No("not today".to_owned()),
            Mood::Silent => std::future::pending().await,
        }
    }
}

/// A clock that a test moves on; it begins at [`NOW_MS`].
#[derive(Default)]
pub(crate) struct HandClock(AtomicU64);

impl HandClock {
    pub(crate) fn forward(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now_ms(&self) -> u64 {
        NOW_MS + self.0.load(Ordering::SeqCst)
    }
}

/// The hour at which every test happens.
pub(crate) const NOW_MS: u64 = 1_700_000_000_000;

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
