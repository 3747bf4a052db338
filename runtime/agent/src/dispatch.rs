//! How do messages of channels reach the agent, and answers their channels? Each message has one answer, also across
//! crashes.
//!
//! ```text
//!   waiting ─→ known sender? ─ yes ─→ Agent::handle ─→ its end ─┬─→ answered ─→ ChannelDoor::send ─→ delivered
//!                   └ no ─→ audited ─→ no text ────────────────┘       ↑               │ failed
//!                                                                      └─ later, and ──┘
//!                                                                         not for ever
//!   crash before "answered": the message runs again · after it: only the answer is sent again, under the same id
//! ```
//!
//! Messages of one session run in the order in which they came; only `/stop` overtakes. Whatever was done and could not
//! be stored is stored before anything else begins, so that a full disk repeats no turn and sends no answer twice.

use std::{
    collections::{BTreeMap, HashMap},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use chitin_ports::{
    Audit, AuditEntry, AuditKind, ChannelDoor, ChannelError, Delivery, Inbox, Letter, Outbound, PortError, SessionKey,
    Waiting,
};
use chitin_types::Event;
use futures::{StreamExt, stream::FuturesUnordered};
use serde_json::json;
use tokio::sync::{Mutex as AsyncMutex, Notify, watch};

use crate::{Agent, Inbound, TurnEnd, cut, route};

/// Whether somebody may talk to the agent: the channel and the sender by the channel's word.
pub type Senders = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// Brings messages of channels to the agent and answers back.
pub struct Dispatch {
    agent: Arc<Agent>,
    inbox: Arc<dyn Inbox>,
    channels: Arc<dyn ChannelDoor>,
    audit: Arc<dyn Audit>,
    senders: Senders,
    /// Held by whoever takes messages: two at once would take the same.
    rounds: AsyncMutex<()>,
    desk: Mutex<Desk>,
}

/// What outlives a round.
#[derive(Default)]
struct Desk {
    /// What was done and is not stored.
    unsaved: BTreeMap<i64, Deed>,
    /// Answers that could not be delivered, and when that makes sense again.
    retry_at_ms: BTreeMap<i64, u64>,
}

#[derive(Debug, Clone)]
enum Deed {
    Answered(String),
    /// Taken by the platform, or given up without a receipt.
    Delivered(Option<String>),
}

enum Job {
    Turn(Waiting),
    Letter(Letter),
}

enum Done {
    Turn(i64),
    Letter(i64),
}

/// What runs in one round.
#[derive(Default)]
struct Flight {
    /// Messages by number, with the session that each keeps busy.
    turns: HashMap<i64, Option<SessionKey>>,
    /// Answers by number, with where each goes.
    letters: HashMap<i64, Address>,
}

#[derive(PartialEq, Eq)]
struct Address {
    channel: String,
    target: String,
    thread: Option<String>,
}

impl Dispatch {
    /// Nothing is taken before the first round.
    pub fn new(
        agent: Arc<Agent>,
        inbox: Arc<dyn Inbox>,
        channels: Arc<dyn ChannelDoor>,
        audit: Arc<dyn Audit>,
        senders: Senders,
    ) -> Self {
        Self { agent, inbox, channels, audit, senders, rounds: AsyncMutex::default(), desk: Mutex::default() }
    }

    /// Answers and delivers until nothing waits that can be done now. A second caller waits for the first.
    pub async fn round(&self) {
        let _only = self.rounds.lock().await;
        let (mut flight, mut work) = (Flight::default(), FuturesUnordered::new());
        loop {
            for job in self.take(&mut flight).await {
                work.push(self.work(job));
            }
            let Some(done) = work.next().await else { return };
            flight.land(&done);
        }
    }

    /// Makes rounds until `stop` is true, then finishes what runs and takes nothing more. Each call of `wake` is a look
    /// for messages and answers, beside those that run; one a second is needed, so that what failed is tried again.
    pub async fn run(&self, wake: &Notify, mut stop: watch::Receiver<bool>) {
        let _only = self.rounds.lock().await;
        let (mut flight, mut work) = (Flight::default(), FuturesUnordered::new());
        while !*stop.borrow() {
            let mut woken = pin!(wake.notified());
            // Who calls between the look and the wait is heard, too.
            woken.as_mut().enable();
            for job in self.take(&mut flight).await {
                work.push(self.work(job));
            }
            tokio::select! {
                Some(done) = work.next() => flight.land(&done),
                () = woken.as_mut() => {}
                () = stopped(&mut stop) => break,
            }
        }
        while let Some(done) = work.next().await {
            flight.land(&done);
        }
    }

    /// Chooses what begins now.
    async fn take(&self, flight: &mut Flight) -> Vec<Job> {
        if let Err(error) = self.save_rest().await {
            tracing::warn!(%error, "nothing new is begun before what was done is stored");
            return vec![];
        }
        let at_once_max = self.channels.status().len().saturating_mul(PER_CHANNEL).clamp(AT_ONCE_MIN, AT_ONCE_MAX);
        let mut jobs = Vec::new();
        match self.inbox.waiting(WINDOW).await {
            Ok(waiting) => {
                jobs.extend(waiting.into_iter().filter(|one| flight.begins(one, at_once_max)).map(Job::Turn));
            }
            Err(error) => tracing::warn!(%error, "messages of channels wait"),
        }
        let put_off = self.put_off();
        let window = (AT_ONCE_MAX + put_off.len()).min(LETTERS_WINDOW_MAX);
        match self.inbox.undelivered(window).await {
            Ok(letters) => {
                let now = letters.into_iter().filter(|letter| !put_off.contains_key(&letter.number));
                jobs.extend(now.filter(|letter| flight.leaves(letter, at_once_max)).map(Job::Letter));
            }
            Err(error) => tracing::warn!(%error, "answers to channels wait"),
        }
        jobs
    }

    async fn work(&self, job: Job) -> Done {
        match job {
            Job::Turn(waiting) => {
                let number = waiting.number;
                let text = if (self.senders)(&waiting.channel, &waiting.message.sender) {
                    self.answer(waiting).await
                } else {
                    self.turn_away(&waiting);
                    String::new()
                };
                self.save(number, Deed::Answered(text)).await;
                Done::Turn(number)
            }
            Job::Letter(letter) => {
                let number = letter.number;
                self.deliver(letter).await;
                Done::Letter(number)
            }
        }
    }

    async fn answer(&self, waiting: Waiting) -> String {
        let inbound = Inbound { key: key_of(&waiting), text: waiting.message.text, delivery: Delivery::Whole };
        // A channel shows the answer; what happened on the way is in the audit.
        let nobody = |_: Event| {};
        match Box::pin(self.agent.handle(inbound, &nobody)).await {
            TurnEnd::Answered(text) | TurnEnd::Commanded(text) | TurnEnd::Stopped(text) | TurnEnd::Failed(text) => text,
        }
    }

    /// Without an answer, so that nobody learns by trying which senders are known.
    fn turn_away(&self, waiting: &Waiting) {
        let sender = cut::first(&waiting.message.sender, NAME_CHARS_MAX);
        let entry = AuditEntry::new(AuditKind::Auth, waiting.channel.as_str(), "deny").rule("channel:sender");
        self.audit.append(entry.detail(json!({ "sender": sender }))).later();
    }

    async fn deliver(&self, letter: Letter) {
        let number = letter.number;
        let outbound = Outbound {
            target: letter.message.target,
            thread: letter.message.thread,
            text: letter.text,
            in_reply_to: Some(letter.message.id),
        };
        let error = match self.channels.send(&letter.channel, outbound).await {
            Ok(receipt) => return self.save(number, Deed::Delivered(Some(receipt))).await,
            Err(error) => error,
        };
        let attempts = letter.attempts.saturating_add(1);
        tracing::warn!(channel = letter.channel, number, attempts, %error, "an answer could not be delivered");
        if attempts >= ATTEMPTS_MAX {
            let detail = json!({ "number": number, "attempts": attempts, "error": word_of(&error) });
            let entry = AuditEntry::new(AuditKind::Channel, letter.channel, "given-up").rule("channel:delivery");
            self.audit.append(entry.detail(detail)).later();
            return self.save(number, Deed::Delivered(None)).await;
        }
        let retry_at_ms = self.now_ms().saturating_add(wait_ms(letter.attempts, &error));
        hold(&self.desk).retry_at_ms.insert(number, retry_at_ms);
        if let Err(error) = self.inbox.attempt_failed(number).await {
            // It is tried once more than it should be.
            tracing::warn!(%error, number, "an attempt is not counted");
        }
    }

    async fn save(&self, number: i64, deed: Deed) {
        if let Err(error) = self.store(number, &deed).await {
            tracing::warn!(%error, number, "what was done is kept in memory until it can be stored");
            hold(&self.desk).unsaved.insert(number, deed);
        }
    }

    async fn save_rest(&self) -> Result<(), PortError> {
        let rest = hold(&self.desk).unsaved.clone();
        for (number, deed) in rest {
            self.store(number, &deed).await?;
            hold(&self.desk).unsaved.remove(&number);
        }
        Ok(())
    }

    async fn store(&self, number: i64, deed: &Deed) -> Result<(), PortError> {
        match deed {
            Deed::Answered(text) => self.inbox.answer(number, text).await,
            Deed::Delivered(receipt) => self.inbox.delivered(number, receipt.as_deref()).await,
        }
    }

    /// The answers whose time has not come yet.
    fn put_off(&self) -> BTreeMap<i64, u64> {
        let now_ms = self.now_ms();
        let mut desk = hold(&self.desk);
        desk.retry_at_ms.retain(|_, at_ms| *at_ms > now_ms);
        desk.retry_at_ms.clone()
    }

    fn now_ms(&self) -> u64 {
        self.agent.ports.clock.now_ms()
    }
}

impl Flight {
    /// Whether this message begins now; it then does.
    fn begins(&mut self, waiting: &Waiting, at_once_max: usize) -> bool {
        if self.turns.contains_key(&waiting.number) {
            return false;
        }
        if route::is_stop(&waiting.message.text) {
            self.turns.insert(waiting.number, None);
            return true;
        }
        let key = key_of(waiting);
        let busy = || self.turns.values().flatten();
        let begins = busy().count() < at_once_max && !busy().any(|other| *other == key);
        if begins {
            self.turns.insert(waiting.number, Some(key));
        }
        begins
    }

    /// Whether this answer leaves now; it then does. One at a time goes to one place, so that they keep their order.
    fn leaves(&mut self, letter: &Letter, at_once_max: usize) -> bool {
        let address = Address {
            channel: letter.channel.clone(),
            target: letter.message.target.clone(),
            thread: letter.message.thread.clone(),
        };
        let is_taken = self.letters.contains_key(&letter.number) || self.letters.values().any(|one| *one == address);
        let leaves = !is_taken && self.letters.len() < at_once_max;
        if leaves {
            self.letters.insert(letter.number, address);
        }
        leaves
    }

    fn land(&mut self, done: &Done) {
        match done {
            Done::Turn(number) => drop(self.turns.remove(number)),
            Done::Letter(number) => drop(self.letters.remove(number)),
        }
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Where nobody is left who could ask, nobody waits for messages either.
    let _ = stop.wait_for(|stop| *stop).await.is_ok();
}

fn key_of(waiting: &Waiting) -> SessionKey {
    SessionKey {
        channel: waiting.channel.clone(),
        reply_target: waiting.message.target.clone(),
        thread: waiting.message.thread.clone(),
        sender: waiting.message.sender.clone(),
    }
}

/// How long to wait after so many failed attempts: twice as long each time, and not before the channel is back.
fn wait_ms(attempts: u32, error: &ChannelError) -> u64 {
    let doubled = RETRY_MS_MIN.saturating_mul(1_u64.checked_shl(attempts).unwrap_or(u64::MAX));
    let back_ms = if let ChannelError::NotReady { retry_after_ms, .. } = error { *retry_after_ms } else { 0 };
    doubled.max(back_ms).clamp(RETRY_MS_MIN, RETRY_MS_MAX)
}

/// The audit keeps words, not what a platform wrote.
fn word_of(error: &ChannelError) -> &'static str {
    match error {
        ChannelError::NoRoute => "no-route",
        ChannelError::BadSignature => "bad-signature",
        ChannelError::Replay => "replay",
        ChannelError::TooLarge { .. } => "too-large",
        ChannelError::NotReady { .. } => "not-ready",
        ChannelError::Refused(_) => "refused",
    }
}

/// Nothing under this lock can be left half done, so a panic elsewhere is no reason to refuse.
fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Messages at once for each channel.
const PER_CHANNEL: usize = 4;
/// Messages at once, however few channels there are.
const AT_ONCE_MIN: usize = 8;
/// Messages at once, and answers at once: each holds a request to a model or an instance of a channel.
const AT_ONCE_MAX: usize = 64;
/// Waiting messages that are looked at; one sender who never stops fills at most this much memory.
const WINDOW: usize = 256;
/// Answers that are looked at, when a channel is down and many are put off.
const LETTERS_WINDOW_MAX: usize = 1_024;
/// Attempts to deliver one answer, two hours in all; a platform that is gone must not be asked for ever.
const ATTEMPTS_MAX: u32 = 20;
/// After the first failed attempt.
const RETRY_MS_MIN: u64 = 2_000;
/// Between two later attempts.
const RETRY_MS_MAX: u64 = 600_000;
/// A sender's name in the audit; the sender chose it.
const NAME_CHARS_MAX: usize = 128;

#[cfg(test)]
#[path = "dispatch_tests.rs"]
mod tests;
