//! Who moves the epoch? A thread that ticks only while a guest runs, since a tick costs 25 us of processor time.

use std::{
    sync::{Arc, Condvar, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use wasmtime::Engine;

/// Time between two looks at a running guest. A runaway guest is stopped at most this much after its deadline.
pub const TICK: Duration = Duration::from_millis(10);

/// Keeps the ticker going while it lives.
#[must_use = "the epoch stands still when nobody holds this"]
pub struct Running(Arc<Shared>);

struct Shared {
    guests: Mutex<usize>,
    woken: Condvar,
}

/// Counts one running guest in.
pub fn running(engine: &'static Engine) -> Running {
    static SHARED: OnceLock<Arc<Shared>> = OnceLock::new();
    let shared = SHARED.get_or_init(|| start(engine));
    let mut guests = shared.guests.lock().unwrap_or_else(PoisonError::into_inner);
    *guests += 1;
    if *guests == 1 {
        shared.woken.notify_one();
    }
    drop(guests);
    Running(Arc::clone(shared))
}

impl Drop for Running {
    fn drop(&mut self) {
        *self.0.guests.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}

fn start(engine: &'static Engine) -> Arc<Shared> {
    let shared = Arc::new(Shared { guests: Mutex::new(0), woken: Condvar::new() });
    let seen = Arc::clone(&shared);
    let run = move || {
        loop {
            let guests = seen.guests.lock().unwrap_or_else(PoisonError::into_inner);
            drop(seen.woken.wait_while(guests, |count| *count == 0).unwrap_or_else(PoisonError::into_inner));
            std::thread::sleep(TICK);
            engine.increment_epoch();
        }
    };
    if let Err(error) = std::thread::Builder::new().name("chitin-epoch".to_owned()).spawn(run) {
        // Without ticks a guest is still ended by the timeout around its call; it is only noticed later.
        tracing::warn!(%error, "cannot start the epoch thread");
    }
    shared
}
