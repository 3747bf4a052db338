//! How do requests get in? Two listeners, one for programs of this machine and one for the owner; each connection is a
//! task of its own with limits on what it may cost.

use std::{
    convert::Infallible,
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes, HttpBody},
    extract::Request,
};
use hyper::{
    body::{Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::watch,
    time::{sleep, timeout},
};
use tower::ServiceExt as _;

use crate::{
    Gateway, GatewayError, SOCKETS_MAX,
    crowd::{Activity, Crowd, Work},
    routes,
    stall::Stall,
};

impl Gateway {
    /// Serves until `stop` becomes true or its sender is gone; requests that are being answered then get a few seconds.
    ///
    /// `unix` lies in a directory that only the owner can enter; whoever comes through it needs no token.
    ///
    /// # Errors
    /// The TCP listener can be reached from other machines, or does not say where it listens.
    pub async fn serve(
        self: Arc<Self>,
        tcp: TcpListener,
        unix: Option<UnixListener>,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(), GatewayError> {
        let address = tcp.local_addr().map_err(GatewayError::Listener)?;
        if !address.ip().is_loopback() {
            return Err(GatewayError::NotLoopback(address));
        }
        let stopped = async {
            closed(&mut stop).await;
            self.closing.send_replace(true);
        };
        let programs = accept(tcp, routes::tcp(&self, address.port()), self.closing.subscribe());
        let owner = async {
            if let Some(unix) = unix {
                accept(unix, routes::owner(&self), self.closing.subscribe()).await;
            }
        };
        tokio::join!(stopped, programs, owner);
        // Sockets are tasks of their own; they end themselves by then. The places are all free when none is left.
        let _ = timeout(DRAIN_MAX + Duration::from_secs(1), self.sockets.acquire_many(SOCKETS_MAX)).await;
        Ok(())
    }
}

/// Returns once it is true, or can no longer become true.
pub(crate) async fn closed(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone asks for the same thing.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Where connections come from.
trait Listen {
    type Io: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection; `None` for one that may not come in.
    fn next(&self) -> impl Future<Output = io::Result<Option<Self::Io>>> + Send;
}

impl Listen for TcpListener {
    type Io = TcpStream;

    async fn next(&self) -> io::Result<Option<TcpStream>> {
        let (stream, _) = self.accept().await?;
        // Events are small and somebody waits for each. A connection that is gone already ends by itself.
        let _ = stream.set_nodelay(true);
        Ok(Some(stream))
    }
}

impl Listen for UnixListener {
    type Io = UnixStream;

    async fn next(&self) -> io::Result<Option<UnixStream>> {
        let (stream, _) = self.accept().await?;
        // The directory keeps others out; this holds when its mode was changed.
        let ours = rustix::process::geteuid().as_raw();
        let known = stream.peer_cred().is_ok_and(|peer| peer.uid() == 0 || peer.uid() == ours);
        Ok(known.then_some(stream))
    }
}

async fn accept<L: Listen>(listener: L, router: Router, mut closing: watch::Receiver<bool>) {
    let mut crowd = Crowd::default();
    loop {
        let next = tokio::select! {
            () = closed(&mut closing) => break,
            () = crowd.part() => continue,
            next = listener.next() => next,
        };
        match next {
            Ok(Some(io)) => {
                if !crowd.welcome(|activity| connection(io, router.clone(), activity, closing.clone())) {
                    tracing::warn!("a connection was turned away: all others are at work");
                }
            }
            Ok(None) => tracing::warn!("another user's connection to the owner's socket was turned away"),
            // Whoever knocks and runs away must not make others wait.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) => {
            }
            Err(error) => {
                // Out of descriptors, most likely; the loop must live on, and not at full speed.
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    crowd.leave().await;
}

async fn connection<Io: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    io: Io,
    router: Router,
    activity: Activity,
    mut closing: watch::Receiver<bool>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (router, work) = (router.clone(), activity.begin());
        async move {
            let response = router.oneshot(request.map(Body::new)).await?;
            Ok::<_, Infallible>(response.map(|body| Answer { body, _work: work }))
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_headers(HEADERS_MAX)
        .max_header_size(HEAD_BYTES_MAX)
        .max_buf_size(BUFFER_BYTES_MAX);
    let mut served = pin!(http.serve_connection(TokioIo::new(Stall::new(io)), service).with_upgrades());
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = closed(&mut closing) => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// The body of an answer; its connection is at work until it is sent.
struct Answer {
    body: Body,
    _work: Work,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// For what is being answered when the daemon stops. More would let one client keep it from stopping.
pub(crate) const DRAIN_MAX: Duration = Duration::from_secs(5);
/// From the first byte of a request's head to its last, and of silence between two requests. A client that drips or
/// says nothing gives its place back.
const HEAD_MAX: Duration = Duration::from_secs(15);
/// Headers of one request; each costs a lookup in every check.
const HEADERS_MAX: usize = 100;
/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Bytes that are read ahead on one connection.
const BUFFER_BYTES_MAX: usize = 64 * 1024;
/// After a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
#[path = "serve_tests.rs"]
pub(crate) mod tests;
