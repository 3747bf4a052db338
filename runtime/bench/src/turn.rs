//! How long from a message to its answer with a model that takes no time? The agent with real records, the real host
//! and the installed tools, driven as `chitin run` drives it.
//!
//! The session is as long as a session gets for a model: the turns of the default setting are read at each message. A
//! turn waits for the disk, so what the disk takes is measured between the turns, in the same directory.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, ensure};
use async_trait::async_trait;
use chitin_agent::{Agent, EventSink, Inbound, Ports, Settings, TurnEnd};
use chitin_egress::Egress;
use chitin_host::{CodeCache, Host, HostParts, Roots, Stores, compile::InProcess};
use chitin_ports::{
    Audit, ChatReply, ChatRequest, Clock, ComponentSource, Delivery, History, PortError, Provider, ProviderError,
    SessionKey, SessionSummary, StopReason, TextSink,
};
use chitin_provider::Offline;
use chitin_records::Records;
use chitin_registry::{Catalog, Home};
use chitin_testkit::chitin::Chitin;
use chitin_types::{Event, Message, SessionId, ToolCall, Turn, TurnId};

use crate::{
    ground::{Nobody, NumberedIds, SystemClock, two_workers},
    guest::KEY,
    home,
    times::{Times, ms, us},
};

/// Measures turns of one message that leads to this many tool calls.
///
/// # Errors
/// A turn had no answer, or other calls than these.
pub(crate) fn measure(name: &str, message: &str, tools: u32, budget_ms: f64) -> Result<String> {
    two_workers()?.block_on(turns(name, (Arc::new(Offline), message), tools, budget_ms))
}

/// The same with a model in this process that answers at once, so that nothing but the turn itself is measured.
///
/// # Errors
/// A turn had no answer, or other calls than these.
pub(crate) fn measure_scripted(name: &str, tools: u32, budget_ms: f64) -> Result<String> {
    let message = if tools == 0 { "answer" } else { "call" };
    two_workers()?.block_on(turns(name, (Arc::new(Scripted), message), tools, budget_ms))
}

async fn turns(
    name: &str,
    (provider, message): (Arc<dyn Provider>, &str),
    tools: u32,
    budget_ms: f64,
) -> Result<String> {
    let chitin = home::with_tools(0).await?;
    let appends = Arc::new(Appends::open(chitin.outside())?);
    let agent = agent(&chitin, &appends, provider)?;
    let mut disk = Disk::new(chitin.outside())?;
    for _ in 0..OLDER_TURNS {
        one(&agent, message, tools).await?;
    }
    let before = appends.waits.load(Ordering::Relaxed);
    let (mut turns, mut syncs) = (Times::default(), Times::default());
    for _ in 0..TURNS {
        turns.add(one(&agent, message, tools).await?);
        syncs.add(disk.sync()?);
    }
    let waits = (appends.waits.load(Ordering::Relaxed) - before) / u64::from(TURNS);
    Ok(format!(
        "{name} ms={:.2} budget_ms={budget_ms:.2} runs={TURNS} min_ms={:.2} fdatasync_us={:.1} \
         fdatasync_min_us={:.1} durable_waits={waits} older_turns={OLDER_TURNS}",
        ms(turns.median()),
        ms(turns.least()),
        us(syncs.median()),
        us(syncs.least()),
    ))
}

async fn one(agent: &Agent, message: &str, tools: u32) -> Result<Duration> {
    let key = SessionKey {
        channel: "bench".to_owned(),
        reply_target: "turn".to_owned(),
        thread: None,
        sender: "nobody".to_owned(),
    };
    let inbound = Inbound { key, text: message.to_owned(), delivery: Delivery::Streamed };
    let seen = Seen::default();
    let began = Instant::now();
    let end = agent.handle(inbound, &seen).await;
    let time = began.elapsed();
    ensure!(matches!(end, TurnEnd::Answered(_)), "a turn had no answer: {end:?}");
    let (done, failed) = (seen.done.load(Ordering::Relaxed), seen.failed.load(Ordering::Relaxed));
    ensure!((done, failed) == (tools, 0), "a turn made {done} good and {failed} bad calls, not {tools}: {end:?}");
    Ok(time)
}

fn agent(chitin: &Chitin, appends: &Arc<Appends>, provider: Arc<dyn Provider>) -> Result<Agent> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let home = Home::open(chitin.home()).map_err(|error| anyhow!("{error}"))?;
    let catalog = Arc::new(Catalog::new(home, Arc::clone(&clock)).map_err(|error| anyhow!("{error}"))?);
    let audit: Arc<dyn Audit> = Arc::new(appends.records.clone());
    let host = Host::new(HostParts {
        slots: chitin_host::Slots::Server,
        cache: CodeCache::new(chitin.outside().join("bench-compiled"), KEY),
        roots: Roots::open([("default".to_owned(), chitin.workspace())])?,
        compiler: Arc::new(InProcess),
        stores: Stores { kv: Arc::new(appends.records.clone()), recall: Arc::new(appends.records.clone()) },
        egress: Egress::default(),
        audit: Arc::clone(&audit),
        source: Arc::clone(&catalog) as Arc<dyn ComponentSource>,
    })?;
    let ports = Ports {
        provider,
        history: Arc::clone(appends) as Arc<dyn History>,
        audit,
        toolbox: catalog,
        invoke: Arc::new(host),
        approve: Arc::new(Nobody),
        clock,
        ids: Arc::new(NumberedIds::default()),
        recall: Some(Arc::new(appends.records.clone())),
    };
    Ok(Agent::new(ports, Settings::default()))
}

/// A model that takes no time: it calls the clock when it is told to, and answers otherwise.
struct Scripted;

#[async_trait]
impl Provider for Scripted {
    fn name(&self) -> String {
        "scripted".to_owned()
    }
    fn notice(&self) -> Option<String> {
        None
    }
    async fn complete(&self, request: &ChatRequest, _: &dyn TextSink) -> Result<ChatReply, ProviderError> {
        let wants = matches!(request.messages.last(), Some(Message::User { text }) if text.ends_with("call"));
        let call = ToolCall { id: "c".to_owned(), name: "time__now".to_owned(), arguments: "{}".to_owned() };
        let (text, calls, stop) = if wants {
            (String::new(), vec![call], StopReason::ToolCalls)
        } else {
            ("an answer".to_owned(), vec![], StopReason::End)
        };
        Ok(ChatReply { text, calls, stop, usage: None })
    }
}

/// Counts how the calls of one turn ended.
#[derive(Default)]
struct Seen {
    done: AtomicU32,
    failed: AtomicU32,
}

impl EventSink for Seen {
    fn event(&self, event: Event) {
        match event {
            Event::ToolResult { outcome, .. } => {
                let count = if outcome == "done" { &self.done } else { &self.failed };
                count.fetch_add(1, Ordering::Relaxed);
            }
            Event::Chunk { .. }
            | Event::ToolCall { .. }
            | Event::ApprovalRequest { .. }
            | Event::Notice { .. }
            | Event::Done { .. }
            | Event::Error { .. } => {}
        }
    }
}

/// The real history, with a count of how often somebody waited for the disk.
struct Appends {
    records: Records,
    waits: AtomicU64,
}

impl Appends {
    fn open(dir: &Path) -> Result<Self> {
        let records = Records::open(&dir.join("bench.db"), KEY, Arc::new(SystemClock));
        Ok(Self { records: records.map_err(|error| anyhow!("failed to {error}"))?, waits: AtomicU64::new(0) })
    }
}

#[async_trait]
impl History for Appends {
    // Finding a session changes nothing on the disk, so it is no durable wait.
    async fn open(&self, key: &SessionKey, fresh: SessionId) -> Result<SessionId, PortError> {
        History::open(&self.records, key, fresh).await
    }

    async fn start(&self, key: &SessionKey, fresh: SessionId) -> Result<SessionId, PortError> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        History::start(&self.records, key, fresh).await
    }

    async fn append(&self, session: &SessionId, turn: &TurnId, messages: &[Message]) -> Result<(), PortError> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        History::append(&self.records, session, turn, messages).await
    }

    async fn recent(&self, session: &SessionId, turns_max: usize) -> Result<Vec<Turn>, PortError> {
        History::recent(&self.records, session, turns_max).await
    }

    async fn sessions(&self) -> Result<Vec<SessionSummary>, PortError> {
        History::sessions(&self.records).await
    }
}

/// A file that is written over and over, as a log is: one piece and one `fdatasync` at a time.
struct Disk {
    file: File,
    next: u64,
}

impl Disk {
    fn new(dir: &Path) -> Result<Self> {
        let file = File::create(dir.join("fdatasync")).context("make a file to sync")?;
        for piece in 0..PIECES {
            file.write_all_at(&PIECE, piece * PIECE_BYTES)?;
        }
        file.sync_all()?;
        Ok(Self { file, next: 0 })
    }

    fn sync(&mut self) -> Result<Duration> {
        let offset = (self.next % PIECES) * PIECE_BYTES;
        self.next += 1;
        let began = Instant::now();
        self.file.write_all_at(&PIECE, offset)?;
        self.file.sync_data()?;
        Ok(began.elapsed())
    }
}

/// Turns that the model reads by default, so that every measured turn reads as many.
const OLDER_TURNS: u32 = 50;
const TURNS: u32 = 300;
/// The size of a turn.
const PIECE: [u8; 1024] = [b'x'; 1024];
const PIECE_BYTES: u64 = 1024;
const PIECES: u64 = 1024;
