//! Does the other side still read? A connection goes in; the same comes out, but a write that stands still for too long
//! fails, and the connection with it.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// A connection whose writes do not wait for ever. Reads may: what is read has limits of its own.
pub(crate) struct Stall<Io> {
    io: Io,
    waits_max: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<Io: AsyncWrite + Unpin> Stall<Io> {
    pub(crate) fn new(io: Io) -> Self {
        Self { io, waits_max: STALL_MAX, waiting: None }
    }

    fn bounded<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let waits_max = self.waits_max;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(waits_max)));
        waiting.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<Io: AsyncRead + Unpin> AsyncRead for Stall<Io> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_read(cx, into)
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for Stall<Io> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.io).poll_write(cx, bytes);
        this.bounded(cx, polled)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.io).poll_write_vectored(cx, slices);
        this.bounded(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.io).poll_flush(cx);
        this.bounded(cx, polled)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.io).poll_shutdown(cx);
        this.bounded(cx, polled)
    }
}

/// Of one write. A client that asks and never reads would hold the connection and everything behind it.
const STALL_MAX: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn a_write_that_nobody_reads_fails_and_one_that_is_read_does_not() {
        let (ours, mut theirs) = tokio::io::duplex(8);
        let mut ours = Stall { waits_max: Duration::from_millis(20), ..Stall::new(ours) };
        ours.write_all(b"12345678").await.expect("it fits");
        let late = ours.write_all(b"9").await.expect_err("nobody reads");
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        let mut read = [0; 8];
        theirs.read_exact(&mut read).await.expect("read");
        ours.write_all(b"9").await.expect("there is room again");
    }
}
