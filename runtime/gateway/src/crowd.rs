//! Who has to go when there are too many connections? The idle one that came first; if all are at work, the newcomer.
//!
//! Ten thousand sockets that say nothing therefore cost nobody else their answer.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    task::{AbortHandle, JoinError, JoinSet},
    time::timeout,
};

use crate::serve::DRAIN_MAX;

/// The connections of one listener.
#[derive(Default)]
pub(crate) struct Crowd {
    tasks: JoinSet<()>,
    guests: Vec<Guest>,
}

/// How many requests of a connection are being answered.
#[derive(Clone, Default)]
pub(crate) struct Activity(Arc<AtomicUsize>);

/// One request that is being answered, until its answer is sent.
pub(crate) struct Work(Activity);

struct Guest {
    task: AbortHandle,
    activity: Activity,
}

impl Crowd {
    /// Takes a connection in, if there is room or if room can be made. False when it was turned away.
    pub(crate) fn welcome<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        connection: impl FnOnce(Activity) -> F,
    ) -> bool {
        if self.guests.len() >= CONNECTIONS_MAX {
            let Some(idle) = self.guests.iter().position(|guest| guest.activity.is_idle()) else { return false };
            self.guests.remove(idle).task.abort();
        }
        let activity = Activity::default();
        let task = self.tasks.spawn(connection(activity.clone()));
        self.guests.push(Guest { task, activity });
        true
    }

    /// Waits until a connection ends; for ever when there is none.
    pub(crate) async fn part(&mut self) {
        let Some(ended) = self.tasks.join_next_with_id().await else { return std::future::pending().await };
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, ())| *id);
        self.guests.retain(|guest| guest.task.id() != id);
        if let Err(error) = ended
            && error.is_panic()
        {
            tracing::warn!(%error, "a connection broke");
        }
    }

    /// Waits a little for those who are at work, then sends everyone home.
    pub(crate) async fn leave(mut self) {
        let all_gone = async { while self.tasks.join_next().await.is_some() {} };
        // Whoever is not done by then is broken off.
        let _ = timeout(DRAIN_MAX, all_gone).await;
        self.tasks.shutdown().await;
    }
}

impl Activity {
    /// Begins to answer a request.
    pub(crate) fn begin(&self) -> Work {
        self.0.fetch_add(1, Ordering::Relaxed);
        Work(self.clone())
    }

    fn is_idle(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Connections of one listener at once. More would take descriptors that the rest of the daemon needs.
const CONNECTIONS_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn the_oldest_idle_connection_goes_and_one_at_work_never() {
        let mut crowd = Crowd::default();
        let mut at_work = Vec::new();
        for number in 0..CONNECTIONS_MAX {
            let welcomed = crowd.welcome(|activity| {
                if number != 3 {
                    at_work.push(activity.begin());
                }
                pending()
            });
            assert!(welcomed, "{number}");
        }
        let idle = crowd.guests[3].task.clone();
        assert!(crowd.welcome(|activity| {
            at_work.push(activity.begin());
            pending()
        }));
        crowd.part().await;
        assert!(idle.is_finished());
        assert_eq!(crowd.guests.len(), CONNECTIONS_MAX);
        assert!(!crowd.welcome(|_| pending()), "all are at work");
        at_work.pop();
        assert!(crowd.welcome(|_| pending()), "one is idle again");
    }

    #[tokio::test]
    async fn a_connection_that_panics_is_forgotten() {
        let mut crowd = Crowd::default();
        assert!(crowd.welcome(|_| async {
            panic!("a handler broke");
        }));
        crowd.part().await;
        assert!(crowd.guests.is_empty());
    }
}
