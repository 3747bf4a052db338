//! What does every part of one running turn share? Made when the turn begins, dropped when it ends.

use std::pin::pin;

use chitin_ports::{Delivery, PortError};
use chitin_types::{Event, Message, SessionId, TurnId};
use futures::future::{Either, select};
use tokio::sync::watch;

use crate::{EventSink, Ports, Settings};

/// One running turn.
pub(crate) struct Scope<'a> {
    /// The doors.
    pub(crate) ports: &'a Ports,
    /// The limits.
    pub(crate) settings: &'a Settings,
    /// Its session.
    pub(crate) session: SessionId,
    /// Itself.
    pub(crate) turn: TurnId,
    /// Whether text is shown as it comes.
    pub(crate) delivery: Delivery,
    /// Becomes true once somebody asks to stop.
    pub(crate) cancelled: watch::Receiver<bool>,
    /// Who waits.
    pub(crate) sink: &'a dyn EventSink,
}

impl Scope<'_> {
    /// Tells the person something that is not part of the answer.
    pub(crate) fn notice(&self, text: impl Into<String>) {
        self.sink.event(Event::Notice { text: text.into() });
    }

    /// Appends to the turn in the history; when this returns, it survives a power loss.
    ///
    /// # Errors
    /// The store failed.
    pub(crate) async fn append(&self, messages: &[Message]) -> Result<(), PortError> {
        self.ports.history.append(&self.session, &self.turn, messages).await
    }

    /// Whether somebody asked to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        *self.cancelled.borrow()
    }

    /// Runs `work` until it ends or somebody asks to stop; then it is dropped and there is nothing.
    pub(crate) async fn unless_stopped<F: Future>(&self, work: F) -> Option<F::Output> {
        let mut cancelled = self.cancelled.clone();
        let stopped = pin!(async move {
            let nobody_can = cancelled.wait_for(|stopped| *stopped).await.is_err();
            if nobody_can {
                std::future::pending::<()>().await;
            }
        });
        let work = pin!(work);
        match select(stopped, work).await {
            Either::Left(((), _)) => None,
            Either::Right((output, _)) => Some(output),
        }
    }
}
