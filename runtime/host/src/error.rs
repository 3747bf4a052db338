//! When does the host itself fail? A guest that misbehaves is an outcome; these are not about guests.

use chitin_ports::{CompileError, PortError};

/// The host cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The engine refused its configuration.
    #[error("start the wasm engine: {0}")]
    Engine(String),
    /// The bytes are no component of a world that is hosted here.
    #[error("{0}")]
    NotRunnable(String),
    /// A file of the compile cache could not be written.
    #[error("write the compile cache: {0}")]
    Cache(#[from] std::io::Error),
    /// Whoever compiles could not be started or gave nothing that can be used.
    #[error(transparent)]
    Compile(PortError),
    /// A named root cannot be opened.
    #[error("open root {name:?}: {why}")]
    Root {
        /// Its name.
        name: String,
        /// What the system said.
        why: String,
    },
}

impl From<CompileError> for HostError {
    fn from(error: CompileError) -> Self {
        match error {
            CompileError::Refused(why) => Self::NotRunnable(why),
            CompileError::Port(port) => Self::Compile(port),
        }
    }
}
