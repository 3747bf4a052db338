//! Whose turn is it? A key goes in; the exclusive right to run one turn under it comes out, in order of arrival.
//!
//! ```text
//!            enter                lock                 drop
//!   (none) ────────→ waiting ───────────→ running ───────────→ idle ──→ forgotten when LANES_MAX are held
//!              │                             │ stop
//!              └→ LaneFull                   └─→ `cancelled` becomes true, and the turn ends itself
//! ```
//!
//! A lane outlives its turns, because it holds what a session is remembered by in this process: the rules that a person
//! approved and the model that they asked for. Forgetting it is safe: they are asked again, and the configured model
//! answers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use chitin_ports::SessionKey;
use chitin_types::SessionId;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, watch};

use crate::{approve::Approvals, error::TurnError};

/// Every lane of this process.
pub(crate) struct Lanes {
    slots: Mutex<Slots>,
    waiting_max: usize,
}

/// The right to run one turn; given back when dropped.
pub(crate) struct LaneGuard {
    lane: Arc<Lane>,
    cancelled: watch::Receiver<bool>,
    memory: OwnedMutexGuard<Memory>,
    _place: OwnedSemaphorePermit,
}

/// What this process remembers of a session between its turns.
#[derive(Default)]
pub(crate) struct Memory {
    session: Option<SessionId>,
    /// The rules that a person approved for the rest of the session.
    pub(crate) approvals: Approvals,
    /// Whether the provider's notice was shown.
    pub(crate) greeted: bool,
    /// The model that a person asked for; the configured one where they asked for none.
    pub(crate) model: Option<String>,
}

#[derive(Default)]
struct Slots {
    by_key: HashMap<SessionKey, Slot>,
    entered: u64,
}

struct Slot {
    lane: Arc<Lane>,
    entered_last: u64,
}

struct Lane {
    places: Arc<Semaphore>,
    memory: Arc<AsyncMutex<Memory>>,
    running: Mutex<Option<watch::Sender<bool>>>,
}

impl Lanes {
    /// No lane yet; `waiting_max` messages may wait in each.
    pub(crate) fn new(waiting_max: usize) -> Self {
        Self { slots: Mutex::default(), waiting_max: waiting_max.min(WAITING_MAX) }
    }

    /// Waits for the turns before this one.
    ///
    /// # Errors
    /// Too many wait already, or too many sessions are busy.
    pub(crate) async fn enter(&self, key: &SessionKey) -> Result<LaneGuard, TurnError> {
        let lane = self.lane(key)?;
        let full = TurnError::LaneFull { waiting: self.waiting_max };
        let place = Arc::clone(&lane.places).try_acquire_owned().map_err(|_| full)?;
        let memory = Arc::clone(&lane.memory).lock_owned().await;
        // A channel of its own for each turn: what still winds down from the last one must not see the stop taken back.
        let (stop, cancelled) = watch::channel(false);
        *hold(&lane.running) = Some(stop);
        Ok(LaneGuard { lane, cancelled, memory, _place: place })
    }

    /// Asks the running turn to stop. False when none runs.
    pub(crate) fn stop(&self, key: &SessionKey) -> bool {
        let lane = hold(&self.slots).by_key.get(key).map(|slot| Arc::clone(&slot.lane));
        lane.is_some_and(|lane| hold(&lane.running).as_ref().is_some_and(|stop| stop.send(true).is_ok()))
    }

    fn lane(&self, key: &SessionKey) -> Result<Arc<Lane>, TurnError> {
        let mut slots = hold(&self.slots);
        slots.entered += 1;
        let entered_last = slots.entered;
        if let Some(slot) = slots.by_key.get_mut(key) {
            slot.entered_last = entered_last;
            return Ok(Arc::clone(&slot.lane));
        }
        if slots.by_key.len() >= LANES_MAX && !slots.forget_one() {
            return Err(TurnError::TooManyLanes { lanes: LANES_MAX });
        }
        let lane = Arc::new(Lane::new(self.waiting_max));
        slots.by_key.insert(key.clone(), Slot { lane: Arc::clone(&lane), entered_last });
        Ok(lane)
    }
}

impl LaneGuard {
    /// Becomes true once somebody asks to stop.
    pub(crate) fn cancelled(&self) -> watch::Receiver<bool> {
        self.cancelled.clone()
    }

    /// What is remembered of this session; nothing when the lane's last turn was of another one.
    pub(crate) fn memory_of(&mut self, session: &SessionId) -> &mut Memory {
        if self.memory.session.as_ref() != Some(session) {
            *self.memory = Memory { session: Some(session.clone()), ..Memory::default() };
        }
        &mut self.memory
    }
}

impl Drop for LaneGuard {
    fn drop(&mut self) {
        if let Some(stop) = hold(&self.lane.running).take() {
            // A turn that is dropped half way takes its calls with it. This fails only when nobody listens any more.
            let _ = stop.send(true);
        }
    }
}

impl Slots {
    /// Forgets the idle lane that was entered longest ago. False when every lane is busy.
    fn forget_one(&mut self) -> bool {
        // New holders are only made under the lock that guards `self`, so a lane with one holder stays idle meanwhile.
        let idle = self.by_key.iter().filter(|(_, slot)| Arc::strong_count(&slot.lane) == 1);
        let Some(oldest) = idle.min_by_key(|(_, slot)| slot.entered_last).map(|(key, _)| key.clone()) else {
            return false;
        };
        self.by_key.remove(&oldest).is_some()
    }
}

impl Lane {
    fn new(waiting_max: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(waiting_max + 1)),
            memory: Arc::new(AsyncMutex::new(Memory::default())),
            running: Mutex::new(None),
        }
    }
}

/// Nothing under these locks can be left half done, so a panic elsewhere is no reason to refuse.
fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sessions held in memory. Someone who invents senders would otherwise fill it.
const LANES_MAX: usize = 1_000;
/// The most that a configuration can let wait, far below what a semaphore can count.
const WAITING_MAX: usize = 10_000;

#[cfg(test)]
#[path = "lane_tests.rs"]
mod tests;
