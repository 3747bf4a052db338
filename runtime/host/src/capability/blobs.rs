//! Which files can a guest make and read? Bytes that it gives the host, without any path behind them.
//!
//! Grant: none is needed, since the bytes stay in the result of the call; they count as its output when they are written.
//! Linked: `chitin:host/blobs` and the `blob` of `chitin:types`. For one call: writers and files, in the table of handles.

use chitin_types::Attachment;
use wasmtime::component::Resource;

use super::{failure, plain::plain};
use crate::{
    state::CallState,
    wit::{
        chitin::host::blobs,
        wire::{self, Failure},
    },
};

/// A file that a guest holds.
pub struct Blob {
    file: Attachment,
    /// Bytes of it that were counted as output when they were written.
    counted_bytes: usize,
}

impl Blob {
    /// A file that the host gives to a guest. It counts as output only if the guest returns it.
    pub fn given(file: Attachment) -> Self {
        Self { file, counted_bytes: 0 }
    }

    /// The file, and how many bytes of it are still to be counted as output.
    pub fn into_file(self) -> (Attachment, usize) {
        let uncounted = self.file.bytes.len().saturating_sub(self.counted_bytes);
        (self.file, uncounted)
    }
}

/// A file that a guest is writing. Dropped, it leaves nothing behind.
pub struct BlobWriter(Attachment);

impl blobs::Host for CallState {
    async fn create(
        &mut self,
        name: Option<String>,
        media_type: Option<String>,
    ) -> wasmtime::Result<Result<Resource<BlobWriter>, Failure>> {
        self.call.charge()?;
        if let Some(wrong) = media_type.as_deref().filter(|text| !is_media_type(text)) {
            let shown = plain(wrong, MEDIA_TYPE_BYTES_MAX);
            return Ok(Err(failure::invalid(
                "bad-media-type",
                format!("{shown:?} is not a media type, such as image/png"),
            )));
        }
        let name = name.as_deref().and_then(display_name);
        let writer = BlobWriter(Attachment { name, media_type, bytes: Vec::new() });
        Ok(Ok(self.table.push(writer)?))
    }
}

impl blobs::HostBlobWriter for CallState {
    async fn write(&mut self, writer: Resource<BlobWriter>, bytes: Vec<u8>) -> wasmtime::Result<Result<(), Failure>> {
        self.call.charge()?;
        if bytes.len() > PIECE_BYTES_MAX {
            let message = format!("{} bytes at once; one write takes {PIECE_BYTES_MAX}", bytes.len());
            return Ok(Err(failure::limited("write-too-large", message)));
        }
        self.call.charge_output(bytes.len())?;
        self.table.get_mut(&writer)?.0.bytes.extend_from_slice(&bytes);
        Ok(Ok(()))
    }

    async fn finish(&mut self, writer: Resource<BlobWriter>) -> wasmtime::Result<Result<Resource<Blob>, Failure>> {
        self.call.charge()?;
        let BlobWriter(file) = self.table.delete(writer)?;
        let counted_bytes = file.bytes.len();
        Ok(Ok(self.table.push(Blob { file, counted_bytes })?))
    }

    async fn drop(&mut self, writer: Resource<BlobWriter>) -> wasmtime::Result<()> {
        self.table.delete(writer)?;
        Ok(())
    }
}

impl wire::Host for CallState {}

impl wire::HostBlob for CallState {
    async fn size(&mut self, blob: Resource<Blob>) -> wasmtime::Result<Option<u64>> {
        Ok(u64::try_from(self.table.get(&blob)?.file.bytes.len()).ok())
    }

    async fn media_type(&mut self, blob: Resource<Blob>) -> wasmtime::Result<Option<String>> {
        Ok(self.table.get(&blob)?.file.media_type.clone())
    }

    async fn name(&mut self, blob: Resource<Blob>) -> wasmtime::Result<Option<String>> {
        Ok(self.table.get(&blob)?.file.name.clone())
    }

    async fn read(
        &mut self,
        blob: Resource<Blob>,
        offset: u64,
        max: u32,
    ) -> wasmtime::Result<Result<Vec<u8>, Failure>> {
        self.call.charge()?;
        let bytes = &self.table.get(&blob)?.file.bytes;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let wanted = usize::try_from(max).unwrap_or(usize::MAX).min(PIECE_BYTES_MAX);
        let end = start.saturating_add(wanted).min(bytes.len());
        Ok(Ok(bytes.get(start..end).unwrap_or_default().to_vec()))
    }

    async fn drop(&mut self, blob: Resource<Blob>) -> wasmtime::Result<()> {
        self.table.delete(blob)?;
        Ok(())
    }
}

/// What is left of a name once it can be no path and steers no terminal; nothing for `.` and `..`.
fn display_name(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown = plain(last, NAME_BYTES_MAX);
    let shown = shown.trim();
    (!matches!(shown, "" | "." | "..")).then(|| shown.to_owned())
}

/// `type/subtype` with optional parameters, in visible ASCII: it may come to stand in a header.
fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    let token =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b));
    text.len() <= MEDIA_TYPE_BYTES_MAX
        && text.bytes().all(|b| matches!(b, b' '..=b'~'))
        && essence.split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype))
}

/// Bytes of one write and one read, from the WIT contract; each is copied between guest and host in one go.
const PIECE_BYTES_MAX: usize = 1 << 20;
/// Longest name in bytes; file systems take no longer one.
const NAME_BYTES_MAX: usize = 255;
/// Longest media type in bytes, against a header that outgrows its limit.
const MEDIA_TYPE_BYTES_MAX: usize = 127;

#[cfg(test)]
#[path = "blobs_tests.rs"]
mod tests;
