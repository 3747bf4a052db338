//! How do records reach the disk? Commands go in from everywhere; one thread writes them, many in one transaction, and
//! answers when they would survive a power loss.
//!
//! ```text
//!   wait for one ─→ take what else waits ─→ one transaction ─→ commit ─→ receipts ─→ anchor ─→ flush receipts ─┐
//!        ↑                                                                                                     │
//!        └─────────────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A commit costs one flush of the disk however much it holds, so under load the records share it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use chitin_ports::{AuditEntry, PortError, SessionKey};
use chitin_types::SessionId;
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use crate::{
    RecordsError,
    anchor::Anchor,
    chain::{Keys, Mark, Tip},
    dialogue::{self, Addition},
    open::Opened,
};

/// What the writer does. `Open` and `Start` answer with a session, the others with nothing.
pub(crate) enum Work {
    /// Adds an audit record.
    Audit {
        /// What happened.
        entry: AuditEntry,
        /// When it was handed in.
        at_ms: u64,
    },
    /// Gives the newest session with this key, else stores a fresh one.
    Open {
        /// Who talks to whom.
        key: SessionKey,
        /// The id of a new session.
        fresh: SessionId,
        /// Now.
        at_ms: u64,
    },
    /// Stores a fresh session.
    Start {
        /// Who talks to whom.
        key: SessionKey,
        /// Its id.
        fresh: SessionId,
        /// Now.
        at_ms: u64,
    },
    /// Adds messages to a turn.
    Append(Addition),
    /// Changes any other table.
    Change(Change),
    /// Nothing: its answer says that everything before it is done, the anchor included.
    Flush,
}

/// A change that keeps its own answer until the transaction is on disk; `Records::change` makes them. It asks first
/// whether it makes sense and writes only then: what it writes stays, and an error of it is one of the database.
pub(crate) type Change = Box<dyn FnOnce(&Connection) -> Result<(), rusqlite::Error> + Send>;

/// Who waits for the answer.
pub(crate) enum Done {
    /// Someone who wants to know whether.
    Unit(oneshot::Sender<Result<(), PortError>>),
    /// Someone who wants the session.
    Session(oneshot::Sender<Result<SessionId, PortError>>),
}

/// One piece of work and who waits for it.
pub(crate) struct Command {
    /// The work.
    pub(crate) work: Work,
    /// Who waits.
    pub(crate) done: Done,
}

/// What one command came to; the session where one was asked for.
pub(crate) type Reply = Result<Option<SessionId>, PortError>;

/// What one command came to, and when whoever waits may know.
enum Answer {
    /// Once the transaction is on disk.
    OnDisk(Reply),
    /// Once the anchor is there too.
    Anchored,
}

impl Done {
    /// Whether somebody still wants the answer.
    fn is_awaited(&self) -> bool {
        match self {
            Self::Unit(sender) => !sender.is_closed(),
            Self::Session(sender) => !sender.is_closed(),
        }
    }

    /// Answers.
    pub(crate) fn complete(self, reply: Reply) {
        // A send fails when nobody waits any more, and then nobody wants to know.
        match self {
            Self::Unit(sender) => drop(sender.send(reply.map(|_| ()))),
            Self::Session(sender) => {
                let none = || PortError("open the session: the writer gave none".to_owned());
                drop(sender.send(reply.and_then(|session| session.ok_or_else(none))));
            }
        }
    }
}

/// Owns the write connection.
pub(crate) struct Writer {
    connection: Connection,
    keys: Keys,
    anchor: Anchor,
    trust: Trust,
    dirty: bool,
    orders: mpsc::Receiver<Option<Command>>,
    waiting: Arc<AtomicUsize>,
}

/// Whether the anchor is ours to move. Settled once, before this process adds its first audit record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Unsettled,
    Moves,
    Evidence,
}

impl Writer {
    /// A writer for an opened database. `None` in `orders` asks it to stop; `waiting` counts what it has not taken yet.
    pub(crate) fn new(
        opened: Opened,
        keys: Keys,
        anchor: Anchor,
        orders: mpsc::Receiver<Option<Command>>,
        waiting: Arc<AtomicUsize>,
    ) -> Self {
        let Opened { connection, unclean } = opened;
        Self { connection, keys, anchor, trust: Trust::Unsettled, dirty: unclean, orders, waiting }
    }

    /// Writes until it is asked to stop, then closes the database.
    ///
    /// # Errors
    /// The database could not be closed properly; what was acknowledged is safe all the same.
    pub(crate) fn run(mut self) -> Result<(), RecordsError> {
        // Ends at the order to stop, or when nobody is left who could give one.
        while let Ok(first) = self.orders.recv() {
            let (batch, go_on) = self.take(first);
            self.commit(batch);
            if !go_on {
                break;
            }
        }
        self.close()
    }

    fn take(&self, first: Option<Command>) -> (Vec<Command>, bool) {
        let mut batch = Vec::new();
        let mut next = first;
        let mut awaited = false;
        let patience = Instant::now() + LINGER;
        loop {
            let Some(command) = next else { return (batch, false) };
            awaited |= command.done.is_awaited();
            batch.push(command);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            if batch.len() >= BATCH_MAX {
                return (batch, true);
            }
            next = match self.orders.try_recv() {
                Ok(order) => order,
                // What nobody waits for may share the flush of what comes next, which is often already on its way.
                Err(_) if !awaited => {
                    match self.orders.recv_timeout(patience.saturating_duration_since(Instant::now())) {
                        Ok(order) => order,
                        Err(_) => return (batch, true),
                    }
                }
                Err(_) => return (batch, true),
            };
        }
    }

    fn commit(&mut self, batch: Vec<Command>) {
        let (work, waiting): (Vec<Work>, Vec<Done>) =
            batch.into_iter().map(|Command { work, done }| (work, done)).unzip();
        match self.transact(work) {
            Ok((answers, grown)) => {
                let mut flushes = Vec::new();
                for (done, answer) in waiting.into_iter().zip(answers) {
                    match answer {
                        Answer::OnDisk(reply) => done.complete(reply),
                        Answer::Anchored => flushes.push(done),
                    }
                }
                if let Some(mark) = grown {
                    self.move_anchor(&mark);
                }
                for done in flushes {
                    done.complete(Ok(None));
                }
            }
            Err(error) => {
                tracing::error!(%error, records = waiting.len(), "records could not be written");
                let error = PortError::from(error);
                for done in waiting {
                    done.complete(Err(error.clone()));
                }
            }
        }
    }

    /// One transaction. An error of the database fails all of it, because SQLite may have rolled back already; what is
    /// wrong with one command alone is in its reply.
    fn transact(&mut self, work: Vec<Work>) -> Result<(Vec<Answer>, Option<Mark>), RecordsError> {
        if work.iter().all(|work| matches!(work, Work::Flush)) {
            return Ok((work.iter().map(|_| Answer::Anchored).collect(), None));
        }
        let Self { connection, keys, anchor, trust, dirty, .. } = self;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut tip = None;
        if work.iter().any(|work| matches!(work, Work::Audit { .. })) {
            tip = Tip::load(&transaction, keys)?;
            if let Some(tip) = &tip
                && *trust == Trust::Unsettled
            {
                *trust = settle(anchor.stands_in(&transaction, keys, &tip.mark())?);
            }
        }
        let mut answers = Vec::with_capacity(work.len());
        for work in work {
            let reply: Reply = match work {
                Work::Audit { entry, at_ms } => match &mut tip {
                    Some(tip) => tip.append(&transaction, keys, &entry, at_ms)?.map(|()| None),
                    None => Err(PortError(ALTERED.to_owned())),
                },
                Work::Open { key, fresh, at_ms } => dialogue::open(&transaction, &key, &fresh, at_ms)?,
                Work::Start { key, fresh, at_ms } => dialogue::start(&transaction, &key, &fresh, at_ms)?,
                Work::Append(addition) => dialogue::append(&transaction, &addition)?,
                Work::Change(change) => change(&transaction).map(|()| Ok(None))?,
                Work::Flush => {
                    answers.push(Answer::Anchored);
                    continue;
                }
            };
            answers.push(Answer::OnDisk(reply));
        }
        let grown = match &tip {
            Some(tip) => tip.store(&transaction, keys)?,
            None => None,
        };
        if !*dirty {
            transaction.execute("UPDATE state SET clean = 0 WHERE id = 1", [])?;
        }
        transaction.commit()?;
        *dirty = true;
        Ok((answers, grown))
    }

    fn move_anchor(&self, mark: &Mark) {
        match self.trust {
            Trust::Moves => {
                // The anchor may lag, so this is no reason to fail what is on disk already.
                if let Err(error) = self.anchor.write(&self.keys, mark) {
                    tracing::warn!(%error, "the anchor of the audit log cannot be written");
                }
            }
            Trust::Unsettled | Trust::Evidence => {}
        }
    }

    fn close(self) -> Result<(), RecordsError> {
        if self.dirty {
            // Without a flush of its own: closing moves the log into the database, and that flushes both. What a power
            // loss in between costs is one needless check at the next start.
            self.connection.execute_batch("PRAGMA synchronous = NORMAL; UPDATE state SET clean = 1 WHERE id = 1;")?;
        }
        self.connection.close().map_err(|(_, error)| RecordsError::Database(error))
    }
}

fn settle(stands: bool) -> Trust {
    if stands {
        Trust::Moves
    } else {
        tracing::warn!("the audit log does not fit its anchor: run `chitin audit verify`");
        Trust::Evidence
    }
}

/// Commands in one transaction, so that the first of a long queue is not answered with the last.
const BATCH_MAX: usize = 256;
/// How long a record that nobody waits for is kept for company. It is the most that a power loss can take of such records.
const LINGER: Duration = Duration::from_millis(2);
const ALTERED: &str = "write the audit record: the end of the audit log was altered; run `chitin audit verify`";
