//! What did a request really look like? A real HTTP server on loopback with a log of what reached it.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures::StreamExt;
use http_body_util::{BodyExt, StreamBody, combinators::BoxBody};
use hyper::{Request, Response, body::Frame, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;

/// One request that arrived.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers, lower-case names.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What to answer.
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The content type.
    pub content_type: &'static str,
    /// The pieces of the body, each written by itself.
    pub pieces: Vec<Vec<u8>>,
}

impl Reply {
    /// A 200 with this body at once.
    pub fn ok(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, content_type, pieces: vec![body.into()] }
    }

    /// A 404.
    pub fn not_found() -> Self {
        Self { status: 404, content_type: "text/plain", pieces: vec![b"not found".to_vec()] }
    }
}

/// How long a server takes for each answer.
#[derive(Clone)]
pub enum Pace {
    /// No time.
    AtOnce,
    /// This long.
    After(Duration),
    /// As long as this is true.
    While(Arc<AtomicBool>),
}

impl Pace {
    async fn wait(&self) {
        match self {
            Self::AtOnce => {}
            Self::After(time) => tokio::time::sleep(*time).await,
            Self::While(thinks) => {
                while thinks.load(Ordering::SeqCst) {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        }
    }
}

/// A running server; ends when dropped.
pub struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<Mutex<usize>>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Starts on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// Loopback cannot be bound.
    pub async fn start(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_paced(Pace::AtOnce, answer).await
    }

    /// The same, with a wait before each answer that holds up nobody else.
    ///
    /// # Panics
    /// Loopback cannot be bound.
    pub async fn start_paced(pace: Pace, answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback can be bound");
        let address = listener.local_addr().expect("a bound socket has an address");
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let connections: Arc<Mutex<usize>> = Arc::default();
        let (log, count, answer) = (Arc::clone(&seen), Arc::clone(&connections), Arc::new(answer));
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                *count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                let (log, answer, pace) = (Arc::clone(&log), Arc::clone(&answer), pace.clone());
                let service =
                    service_fn(move |request| handle(request, pace.clone(), Arc::clone(&log), Arc::clone(&answer)));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
            }
        });
        Self { address, seen, connections, task }
    }

    /// `http://127.0.0.1:<port>`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Everything that arrived, in order.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many connections were opened, whether or not a request came through them.
    pub fn connections(&self) -> usize {
        *self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn handle<F: Fn(&Seen) -> Reply>(
    request: Request<Incoming>,
    pace: Pace,
    log: Arc<Mutex<Vec<Seen>>>,
    answer: Arc<F>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|b| b.to_bytes().to_vec()).unwrap_or_default();
    let headers =
        parts.headers.iter().map(|(n, v)| (n.to_string(), String::from_utf8_lossy(v.as_bytes()).into_owned()));
    let target = parts.uri.path_and_query().map_or_else(|| parts.uri.to_string(), ToString::to_string);
    let one = Seen { method: parts.method.to_string(), target, headers: headers.collect(), body };
    log.lock().unwrap_or_else(PoisonError::into_inner).push(one.clone());
    pace.wait().await;
    let reply = answer(&one);
    let pieces = futures::stream::iter(reply.pieces).then(|piece| async move {
        // Lets the piece before this one leave on its own, as a slow model's would.
        tokio::task::yield_now().await;
        Ok::<_, Infallible>(Frame::data(Bytes::from(piece)))
    });
    let mut response = Response::new(BodyExt::boxed(StreamBody::new(pieces)));
    *response.status_mut() = hyper::StatusCode::from_u16(reply.status).unwrap_or(hyper::StatusCode::OK);
    let content_type = hyper::header::HeaderValue::from_static(reply.content_type);
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, content_type);
    Ok(response)
}
