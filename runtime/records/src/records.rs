//! Where do the records begin and end? A path and the home key go in; a handle comes out that everyone shares, and
//! whose last drop writes what waits and closes the database.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
};

use chitin_ports::{Clock, PortError};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::{
    RecordsError,
    anchor::Anchor,
    chain::Keys,
    open,
    writer::{Command, Done, Work, Writer},
};

/// The records of one home. Clones share one database.
#[derive(Clone)]
pub struct Records {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    keys: Keys,
    anchor: Anchor,
    clock: Arc<dyn Clock>,
    orders: mpsc::Sender<Option<Command>>,
    waiting: Arc<AtomicUsize>,
    writer: Mutex<Option<JoinHandle<Result<(), RecordsError>>>>,
    reader: Mutex<Option<Connection>>,
}

impl Records {
    /// Opens the database at `path`, and makes it where there is none; its folder must exist. `home_key` is the secret
    /// of the home, from which the keys of the audit chain are derived.
    ///
    /// # Errors
    /// The file cannot be used, is not ours, is newer than this program, or was damaged.
    pub fn open(path: &Path, home_key: [u8; 32], clock: Arc<dyn Clock>) -> Result<Self, RecordsError> {
        let opened = open::open_writer(path)?;
        let (keys, anchor) = (Keys::derive(&home_key), Anchor::beside(path));
        let (orders, queue) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let writer = Writer::new(opened, keys.clone(), anchor.clone(), queue, Arc::clone(&waiting));
        let thread = thread::Builder::new()
            .name("chitin-records".to_owned())
            .spawn(move || writer.run())
            .map_err(|cause| RecordsError::File { path: path.to_owned(), cause })?;
        let (writer, reader) = (Mutex::new(Some(thread)), Mutex::new(None));
        let path = path.to_owned();
        Ok(Self { inner: Arc::new(Inner { path, keys, anchor, clock, orders, waiting, writer, reader }) })
    }

    /// Waits until everything that was handed in before is on disk.
    ///
    /// # Errors
    /// The writer has stopped.
    pub async fn flush(&self) -> Result<(), RecordsError> {
        let (done, finished) = oneshot::channel();
        self.post(Work::Flush, Done::Unit(done));
        match finished.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(RecordsError::Stopped),
        }
    }

    /// Writes what waits and closes the database. Blocks for as long as that takes, a few milliseconds; whatever is
    /// handed in afterwards, through any clone, fails. A second call does nothing.
    ///
    /// # Errors
    /// The database could not be closed properly.
    pub fn close(&self) -> Result<(), RecordsError> {
        self.inner.close()
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        self.inner.clock.now_ms()
    }

    /// The keys of the audit chain, and its anchor.
    pub(crate) fn chain(&self) -> (Keys, Anchor) {
        (self.inner.keys.clone(), self.inner.anchor.clone())
    }

    /// Hands work to the writer without waiting. A full queue answers at once: blocking here would stop a worker of the
    /// daemon, and a record that is silently lost is worse than a call that does not happen.
    pub(crate) fn post(&self, work: Work, done: Done) {
        let Inner { orders, waiting, .. } = &*self.inner;
        if waiting.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX {
            waiting.fetch_sub(1, Ordering::Relaxed);
            let full = format!("write the record: {WAITING_MAX} others wait for the disk already");
            done.complete(Err(PortError(full)));
        } else if let Err(mpsc::SendError(Some(command))) = orders.send(Some(Command { work, done })) {
            command.done.complete(Err(RecordsError::Stopped.into()));
        }
    }

    /// Hands a change to the writer, and gives its answer once it is on disk.
    ///
    /// # Errors
    /// The inner error of the change is about it alone and undoes nothing. The outer one is the database's, and fails
    /// everything that shares the transaction.
    pub(crate) async fn change<T, E, F>(&self, change: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<PortError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<Result<T, E>, rusqlite::Error> + Send + 'static,
    {
        let (keep, mut kept) = oneshot::channel();
        let (done, on_disk) = oneshot::channel();
        let work = Work::Change(Box::new(move |connection: &Connection| -> Result<(), rusqlite::Error> {
            // Nobody receives it when the caller has gone; the change is made all the same.
            drop(keep.send(change(connection)?));
            Ok(())
        }));
        self.post(work, Done::Unit(done));
        on_disk.await.map_err(|_| PortError::from(RecordsError::Stopped))??;
        kept.try_recv().map_err(|_| PortError::from(RecordsError::Stopped))?
    }

    /// Runs a query on the read connection, off the async threads.
    pub(crate) async fn read<T, F>(&self, query: F) -> Result<T, RecordsError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, RecordsError> + Send + 'static,
    {
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || inner.read(query)).await.map_err(|_| RecordsError::Stopped)?
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

impl Inner {
    fn read<T>(&self, query: impl FnOnce(&Connection) -> Result<T, RecordsError>) -> Result<T, RecordsError> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match reader.take() {
            Some(connection) => connection,
            None => open::open_reader(&self.path)?,
        };
        // Put back even after an error; a panic in the query drops the connection, and the next read opens another.
        let result = query(&connection);
        *reader = Some(connection);
        result
    }

    fn close(&self) -> Result<(), RecordsError> {
        let thread = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return Ok(()) };
        // First, so that the writer is the last to close and moves the whole log into the database.
        drop(self.reader.lock().unwrap_or_else(PoisonError::into_inner).take());
        // Fails only when the writer is gone already, and then there is nothing to stop.
        drop(self.orders.send(None));
        // The writer never waits for anything of an async runtime, so joining it here cannot deadlock one.
        thread.join().unwrap_or(Err(RecordsError::Stopped))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::warn!(%error, "the records could not be closed properly");
        }
    }
}

/// Commands that wait, some megabytes at the most, so that a disk that stands still cannot fill the memory.
const WAITING_MAX: usize = 16_384;

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;
