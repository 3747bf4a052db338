//! Which questions are open? A question goes up when a call needs a person, and comes down with an answer, at the end
//! of its time, or when nobody waits for it any more.
//!
//! ```text
//!            ask                 answer(yes | no)
//!   (none) ───────→ open ──────────────────────────→ gone, the asker has the answer
//!              │      │ sweep, after its time ─────→ gone, the asker has a no
//!              │      └ the asker is dropped ──────→ gone
//!              └→ a no: its time is over, its id is taken, or too many are open
//! ```
//!
//! An answer counts once. It carries the digest of the question that was shown, so it can permit nothing else.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use chitin_policy::{Approval, CallDigest};
use chitin_ports::{Answer, Approve, Clock, Question};
use tokio::sync::oneshot;

/// The open questions of a daemon.
pub struct Board {
    clock: Arc<dyn Clock>,
    open: Mutex<Slips>,
}

/// One open question, as a person is shown it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct OpenQuestion {
    /// By which it is answered.
    pub id: String,
    /// The tool pack and function, as `publisher/name function`.
    pub title: String,
    /// The arguments as JSON text, complete.
    pub arguments: String,
    /// The rule that asks.
    pub rule: String,
    /// The session in which the call is made, where there is one.
    pub session: Option<String>,
    /// Milliseconds since 1970 after which no answer counts.
    pub expires_at_ms: u64,
}

/// Why an answer did not count. The text fits after "failed to ".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// No question with this id is open: it was answered, taken back, or never asked.
    #[error("find the question: none with this id is open")]
    Unknown,
    /// Its time is over.
    #[error("answer the question: its time is over, and the call was not made")]
    Expired,
}

#[derive(Default)]
struct Slips {
    /// In the order in which they were asked.
    waiting: Vec<Slip>,
    asked: u64,
}

struct Slip {
    number: u64,
    shown: OpenQuestion,
    digest: CallDigest,
    asker: oneshot::Sender<Answer>,
}

/// The place of a question; taken down when dropped.
struct Place<'a> {
    open: &'a Mutex<Slips>,
    number: u64,
}

impl Board {
    /// A board on which nothing is open.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, open: Mutex::default() }
    }

    /// The questions that can still be answered, oldest first.
    pub fn pending(&self) -> Vec<OpenQuestion> {
        let now_ms = self.clock.now_ms();
        let slips = hold(&self.open);
        slips.waiting.iter().filter(|slip| !slip.is_late(now_ms)).map(|slip| slip.shown.clone()).collect()
    }

    /// Answers a question, once.
    ///
    /// # Errors
    /// None with this id is open, or its time is over.
    pub fn answer(&self, id: &str, allow: bool) -> Result<(), AnswerError> {
        let now_ms = self.clock.now_ms();
        let slip = hold(&self.open).take(|slip| slip.shown.id == id).ok_or(AnswerError::Unknown)?;
        if slip.is_late(now_ms) {
            slip.end(Answer::No(LATE.to_owned()));
            return Err(AnswerError::Expired);
        }
        let expires_at_ms = slip.shown.expires_at_ms;
        let answer = if allow {
            Answer::Yes(Approval { digest: slip.digest, expires_at_ms })
        } else {
            Answer::No("the owner said no".to_owned())
        };
        if slip.end(answer) { Ok(()) } else { Err(AnswerError::Unknown) }
    }

    /// Ends every question whose time is over with a no. Somebody has to call it, every second is often enough: the
    /// board itself never wakes up.
    pub fn sweep(&self) {
        let now_ms = self.clock.now_ms();
        while let Some(slip) = self.take_late(now_ms) {
            slip.end(Answer::No(LATE.to_owned()));
        }
    }

    // The lock is let go of before an asker is woken, who takes its place down.
    fn take_late(&self, now_ms: u64) -> Option<Slip> {
        hold(&self.open).take(|slip| slip.is_late(now_ms))
    }

    fn post(&self, question: &Question, asker: oneshot::Sender<Answer>) -> Result<Place<'_>, &'static str> {
        if self.clock.now_ms() > question.expires_at_ms {
            return Err(LATE);
        }
        let mut slips = hold(&self.open);
        if slips.waiting.len() >= OPEN_MAX {
            return Err("too many questions are open; somebody has to answer those first");
        }
        if slips.waiting.iter().any(|slip| slip.shown.id == question.id) {
            return Err("a question with the same id is open");
        }
        slips.asked += 1;
        let number = slips.asked;
        slips.waiting.push(Slip { number, shown: OpenQuestion::of(question), digest: question.digest, asker });
        Ok(Place { open: &self.open, number })
    }
}

#[async_trait]
impl Approve for Board {
    async fn ask(&self, question: &Question) -> Answer {
        let (asker, answer) = oneshot::channel();
        let _place = match self.post(question, asker) {
            Ok(place) => place,
            Err(reason) => return Answer::No(reason.to_owned()),
        };
        answer.await.unwrap_or_else(|_| Answer::No("the question was taken back".to_owned()))
    }
}

impl OpenQuestion {
    fn of(question: &Question) -> Self {
        Self {
            id: question.id.clone(),
            title: question.title.clone(),
            arguments: question.arguments.clone(),
            rule: question.rule.clone(),
            session: question.session.as_ref().map(ToString::to_string),
            expires_at_ms: question.expires_at_ms,
        }
    }
}

impl Slips {
    fn take(&mut self, is_it: impl Fn(&Slip) -> bool) -> Option<Slip> {
        let at = self.waiting.iter().position(is_it)?;
        Some(self.waiting.remove(at))
    }
}

impl Slip {
    fn is_late(&self, now_ms: u64) -> bool {
        now_ms > self.shown.expires_at_ms
    }

    /// False when nobody waits for it any more.
    fn end(self, answer: Answer) -> bool {
        self.asker.send(answer).is_ok()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // It is gone already where it was answered.
        drop(hold(self.open).take(|slip| slip.number == self.number));
    }
}

/// Nothing under this lock can be left half done, so a panic elsewhere is no reason to refuse.
fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const LATE: &str = "nobody answered in time";
/// Questions that are open at once. A person reads a few; someone who starts sessions to make calls that are asked
/// about must not fill the memory with their arguments.
const OPEN_MAX: usize = 64;

#[cfg(test)]
#[path = "board_tests.rs"]
mod tests;
