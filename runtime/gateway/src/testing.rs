//! What does a test of the gateway need? One gateway with everything behind it, and a way to send requests.
//!
//! The agent is the real one; only what stands behind its ports is made up.

mod fakes;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, header::HOST},
};
use chitin_agent::{Agent, Board, Ports, Settings};
use chitin_ports::{Answer, Approve as _, AuditEntry, AuditKind, Clock as _, Question};
use chitin_types::Digest;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::{sync::Notify, task::JoinHandle};
use tower::ServiceExt as _;

use self::fakes::{Channels, Counter, Model, NoTools, Shelf};
pub(crate) use self::fakes::{Ledger, ManualClock, Script, out};
use crate::{Gateway, GatewayParts, Metrics, TokenFile, routes};

/// The port of the TCP door where no listener is open.
pub(crate) const PORT: u16 = 4747;
/// The owner's token.
pub(crate) const TOKEN: &str = "chitin-Test-token-0123456789abcdef";

/// One gateway and everything behind it.
pub(crate) struct World {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) audit: Arc<Ledger>,
    pub(crate) model: Arc<Model>,
    pub(crate) history: Arc<Shelf>,
    pub(crate) channels: Arc<Channels>,
    pub(crate) board: Arc<Board>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) delivered: Arc<Notify>,
    pub(crate) token: TokenFile,
    _dir: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let token = TokenFile { path: dir.path().join("token") };
        std::fs::write(&token.path, TokenFile::hash(TOKEN)).expect("a token file");
        let (audit, clock) = (Arc::new(Ledger::default()), Arc::new(ManualClock::default()));
        let (model, history) = (Arc::new(Model::default()), Arc::new(Shelf::default()));
        let (channels, delivered) = (Arc::new(Channels::default()), Arc::new(Notify::new()));
        let board = Arc::new(Board::new(clock.clone()));
        let ports = Ports {
            provider: model.clone(),
            history: history.clone(),
            audit: audit.clone(),
            toolbox: Arc::new(NoTools),
            invoke: Arc::new(NoTools),
            approve: board.clone(),
            clock: clock.clone(),
            ids: Arc::new(Counter::default()),
            recall: None,
        };
        let gateway = Arc::new(Gateway::new(GatewayParts {
            agent: Arc::new(Agent::new(ports, Settings::default())),
            board: board.clone(),
            channels: channels.clone(),
            audit: audit.clone(),
            clock: clock.clone(),
            token: token.clone(),
            status: Arc::new(|| serde_json::json!({ "schema": "chitin/status/v1" })),
            metrics: Arc::new(Metrics::default()),
            delivered: delivered.clone(),
        }));
        Self { gateway, audit, model, history, channels, board, clock, delivered, token, _dir: dir }
    }

    /// The door for programs, as if it listened on [`PORT`].
    pub(crate) fn tcp(&self) -> Router {
        routes::tcp(&self.gateway, PORT)
    }

    /// The owner's door.
    pub(crate) fn owner(&self) -> Router {
        routes::owner(&self.gateway)
    }

    /// The rules of the refusals in the audit, in order.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let refused = |entry: &AuditEntry| entry.kind == AuditKind::Auth && entry.verdict == "deny";
        self.audit.entries().into_iter().filter(refused).filter_map(|entry| entry.rule).collect()
    }

    /// An open question with this id, and the answer to it once there is one.
    pub(crate) async fn ask(&self, id: &str) -> JoinHandle<Answer> {
        let question = Question {
            id: id.to_owned(),
            digest: Digest::of(id.as_bytes()),
            title: "acme/box write".to_owned(),
            arguments: "{}".to_owned(),
            rule: "call:write".to_owned(),
            session: None,
            covers_session: false,
            expires_at_ms: self.clock.now_ms() + 1000,
        };
        let board = Arc::clone(&self.board);
        let asked = tokio::spawn(async move { board.ask(&question).await });
        until(|| self.board.pending().iter().any(|open| open.id == id)).await;
        asked
    }
}

/// Waits until it is true; what is waited for happens in another task and takes no time to speak of.
pub(crate) async fn until(mut is_true: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if is_true() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("it did not become true");
}

/// A request with the right host and the right token.
pub(crate) fn request(method: &str, path: &str, body: impl Into<Body>) -> Request<Body> {
    let mut request = bare(method, path, body);
    request.headers_mut().insert("authorization", format!("Bearer {TOKEN}").parse().expect("a header"));
    request
}

/// A request with the right host and no token.
pub(crate) fn bare(method: &str, path: &str, body: impl Into<Body>) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, format!("127.0.0.1:{PORT}"))
        .header("content-type", "application/json")
        .body(body.into())
        .expect("a request")
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}

pub(crate) async fn send(router: &Router, request: Request<Body>) -> Reply {
    let response = router.clone().oneshot(request).await.expect("a router never fails");
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    let body = String::from_utf8(body.to_vec()).expect("text");
    Reply { status: parts.status.as_u16(), headers: parts.headers, body }
}
