//! How long did the guest itself compute? The time spent inside `poll` of the call's future, and nothing else.
//!
//! Waiting in the host does not count, so a tool may wait for a slow server without using up its processor time. Epoch
//! ticks would over-count: they pass while a guest is parked.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Instant,
};

/// Nanoseconds of computing so far, readable from inside the computation.
#[derive(Debug, Clone)]
pub struct Meter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    base: Instant,
    finished_ns: AtomicU64,
    /// Nanoseconds from `base` to the beginning of the poll under way, plus one; 0 between polls.
    began_ns: AtomicU64,
}

impl Meter {
    /// A meter at zero.
    pub fn new() -> Self {
        Self(Arc::new(Inner { base: Instant::now(), finished_ns: AtomicU64::new(0), began_ns: AtomicU64::new(0) }))
    }

    /// Nanoseconds of computing so far, the poll under way included.
    pub fn used_ns(&self) -> u64 {
        let running = match self.0.began_ns.load(Ordering::Relaxed) {
            0 => 0,
            began => self.now_ns().saturating_sub(began - 1),
        };
        self.0.finished_ns.load(Ordering::Relaxed) + running
    }

    /// The same future, metered.
    pub fn meter<F: Future>(&self, future: F) -> Metered<F> {
        Metered { meter: self.clone(), future: Box::pin(future) }
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.0.base.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Default for Meter {
    fn default() -> Self {
        Self::new()
    }
}

/// A future whose polls are timed.
pub struct Metered<F> {
    meter: Meter,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Metered<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let began = self.meter.now_ns();
        self.meter.0.began_ns.store(began + 1, Ordering::Relaxed);
        let polled = self.future.as_mut().poll(cx);
        self.meter.0.began_ns.store(0, Ordering::Relaxed);
        self.meter.0.finished_ns.fetch_add(self.meter.now_ns().saturating_sub(began), Ordering::Relaxed);
        polled
    }
}
