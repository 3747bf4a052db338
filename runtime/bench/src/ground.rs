//! What does the measured code stand on, where the product has the system and a person? Two workers, a clock, ids by
//! number, and nobody to ask.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result};
use async_trait::async_trait;
use chitin_ports::{Answer, Approve, Clock, Ids, Question};
use chitin_types::{CallId, SessionId, TurnId};
use tokio::runtime::{Builder, Runtime};

/// The async runtime as `chitin` makes it.
pub(crate) fn two_workers() -> Result<Runtime> {
    Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build().context("start the async runtime")
}

/// Runs work as a task of such a runtime, so that a task that it starts is started from a worker and no thread has to
/// be woken for it.
pub(crate) fn on_a_worker<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let runtime = two_workers()?;
    let task = runtime.spawn(work);
    runtime.block_on(task)?
}

/// The system's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Ids that are unique in one run, and as long as the product's.
#[derive(Debug, Default)]
pub(crate) struct NumberedIds(AtomicU64);

impl NumberedIds {
    fn next(&self) -> String {
        format!("{:032x}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

impl Ids for NumberedIds {
    fn session(&self) -> SessionId {
        SessionId::parse(self.next()).expect("32 hexadecimal digits are an id")
    }

    fn turn(&self) -> TurnId {
        TurnId::parse(self.next()).expect("32 hexadecimal digits are an id")
    }

    fn call(&self) -> CallId {
        CallId::parse(self.next()).expect("32 hexadecimal digits are an id")
    }
}

/// Says no to every question; no figure asks one.
pub(crate) struct Nobody;

#[async_trait]
impl Approve for Nobody {
    async fn ask(&self, _question: &Question) -> Answer {
        Answer::No("nobody is at a benchmark".to_owned())
    }
}

/// As many as the command line starts.
const WORKERS: usize = 2;
