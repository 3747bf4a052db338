//! The history port: changes go through the writer and come back when they are on disk, questions go to the reader.

use async_trait::async_trait;
use chitin_ports::{History, PortError, SessionKey, SessionSummary};
use chitin_types::{Message, SessionId, Turn, TurnId};
use tokio::sync::oneshot;

use crate::{
    Records, RecordsError, TranscriptMessage,
    dialogue::{self, Addition},
    writer::{Done, Work},
};

#[async_trait]
impl History for Records {
    async fn open(&self, key: &SessionKey, fresh: SessionId) -> Result<SessionId, PortError> {
        self.ask_for_session(Work::Open { key: key.clone(), fresh, at_ms: self.now_ms() }).await
    }

    async fn start(&self, key: &SessionKey, fresh: SessionId) -> Result<SessionId, PortError> {
        self.ask_for_session(Work::Start { key: key.clone(), fresh, at_ms: self.now_ms() }).await
    }

    async fn append(&self, session: &SessionId, turn: &TurnId, messages: &[Message]) -> Result<(), PortError> {
        if messages.is_empty() {
            return Ok(());
        }
        let addition = Addition::new(session, turn, messages, self.now_ms())?;
        let (done, stored) = oneshot::channel();
        self.post(Work::Append(addition), Done::Unit(done));
        stored.await.map_err(|_| RecordsError::Stopped)?
    }

    async fn recent(&self, session: &SessionId, turns_max: usize) -> Result<Vec<Turn>, PortError> {
        let session = session.clone();
        Ok(self.read(move |connection| dialogue::recent(connection, &session, turns_max)).await?)
    }

    async fn sessions(&self) -> Result<Vec<SessionSummary>, PortError> {
        Ok(self.read(dialogue::sessions).await?)
    }
}

impl Records {
    /// Everything that was said in a session, oldest first.
    ///
    /// # Errors
    /// There is no such session, or the database failed.
    pub async fn transcript(&self, session: &SessionId) -> Result<Vec<TranscriptMessage>, RecordsError> {
        let session = session.clone();
        self.read(move |connection| dialogue::transcript(connection, &session)).await
    }

    async fn ask_for_session(&self, work: Work) -> Result<SessionId, PortError> {
        let (done, session) = oneshot::channel();
        self.post(work, Done::Session(done));
        session.await.map_err(|_| RecordsError::Stopped)?
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
