//! Pieces of a result: text for the model, data for programs, files for the user.

use serde::Serialize;

use crate::host::blobs;
use crate::{Failure, Part};

impl Part {
    /// Text that the model reads.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A JSON value.
    ///
    /// # Errors
    ///
    /// `internal` when the value has no form in JSON, as a map whose keys are not text.
    pub fn data(value: &impl Serialize) -> Result<Self, Failure> {
        serde_json::to_string(value)
            .map(Self::Data)
            .map_err(|error| Failure::internal(format!("the result is not JSON: {error}")))
    }

    /// A file made of bytes, with the name and the type that the user sees.
    ///
    /// # Errors
    ///
    /// What the host says, for example of a type that is none.
    pub fn file(name: &str, media_type: &str, bytes: &[u8]) -> Result<Self, Failure> {
        let writer = blobs::create(Some(name), Some(media_type))?;
        for piece in bytes.chunks(WRITE_BYTES) {
            writer.write(piece)?;
        }
        blobs::BlobWriter::finish(writer).map(Self::File)
    }
}

/// The most that the host takes in one write.
const WRITE_BYTES: usize = 1024 * 1024;
