//! Who changes the home now? One at a time: a lock on `run/registry.lock` is held while anything is written.
//!
//! The system gives the lock back when the process ends, however it ends, so there is no stale lock to clean up.

use std::{fs::File, io, time::Duration};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock, open},
    io::Errno,
};

use crate::{Home, RegistryError, Said};

/// The right to write below the home, until it is dropped.
#[derive(Debug)]
pub(crate) struct Writer {
    _lock: File,
}

impl Writer {
    /// Waits a while for whoever writes now.
    ///
    /// # Errors
    /// [`RegistryError::Busy`] when the other one takes longer than a change takes.
    pub(crate) async fn take(home: &Home) -> Result<Self, RegistryError> {
        let path = home.run().join("registry.lock");
        let doing = || format!("lock {}", path.display());
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(io::Error::from);
        let file = File::from(file.map_err(RegistryError::io(doing()))?);
        for _ in 0..TRIES_MAX {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _lock: file }),
                Err(error) if error == Errno::WOULDBLOCK => tokio::time::sleep(BETWEEN_TRIES).await,
                Err(error) => return Err(RegistryError::io(doing())(error.into())),
            }
        }
        let message = "another chitin process is changing tools, keys or grants";
        Err(RegistryError::Busy(Said::new(message).help("wait until it has finished, then try again")))
    }
}

/// A change takes well below a second; ten seconds are a slow disk, and more is somebody who hangs.
const TRIES_MAX: u32 = 200;
const BETWEEN_TRIES: Duration = Duration::from_millis(50);
