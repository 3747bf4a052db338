//! Do the listeners serve whom they should, with their limits? Over real sockets.

use std::{net::SocketAddr, time::Instant};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    task::JoinHandle,
};

use super::*;
use crate::testing::{Script, TOKEN, World, until};

/// A gateway that listens.
pub(crate) struct Served {
    pub(crate) world: World,
    pub(crate) address: SocketAddr,
    stop: watch::Sender<bool>,
    ended: JoinHandle<Result<(), GatewayError>>,
}

impl Served {
    pub(crate) async fn new(world: World) -> Self {
        Self::with(world, None).await
    }

    async fn with(world: World, unix: Option<UnixListener>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let address = listener.local_addr().expect("an address");
        let (stop, stopping) = watch::channel(false);
        let ended = tokio::spawn(Arc::clone(&world.gateway).serve(listener, unix, stopping));
        Self { world, address, stop, ended }
    }

    async fn dial(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("a connection")
    }

    /// A request as bytes, after which the connection closes.
    fn chat(&self, body: &str) -> Vec<u8> {
        let (address, length) = (self.address, body.len());
        let head = format!(
            "POST /api/chat HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        [head.as_bytes(), body.as_bytes()].concat()
    }
}

/// Sends everything and reads what comes back to the end, or until the other side resets what it refused to read.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &[u8]) -> String {
    stream.write_all(bytes).await.expect("sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).expect("text")
}

#[tokio::test]
async fn only_the_loopback_address_is_served() {
    let world = World::new();
    let listener = TcpListener::bind("0.0.0.0:0").await.expect("a listener");
    let (_stop, stopping) = watch::channel(false);
    let refused = Arc::clone(&world.gateway).serve(listener, None, stopping).await.expect_err("refused");
    assert!(refused.to_string().contains("this machine only"), "{refused}");
}

#[tokio::test]
async fn a_program_is_answered_and_the_connection_is_kept() {
    let served = Served::new(World::new()).await;
    let answer = exchange(served.dial().await, &served.chat(r#"{"message":"hi"}"#)).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("\"hello there\""), "{answer}");
    let health = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", served.address);
    let last = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", served.address);
    let answer = exchange(served.dial().await, format!("{health}{health}{last}").as_bytes()).await;
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 3, "{answer}");
}

#[tokio::test]
async fn a_body_that_is_too_large_gets_its_answer() {
    let served = Served::new(World::new()).await;
    let large = format!(r#"{{"message":"{}"}}"#, "x".repeat(2 * 1024 * 1024));
    let answer = exchange(served.dial().await, &served.chat(&large)).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer:.200}");
    assert!(served.world.model.asked().is_empty());
}

#[tokio::test]
async fn what_is_not_http_is_not_answered_as_a_request() {
    let served = Served::new(World::new()).await;
    let host = served.address;
    for odd in [
        format!("POST /api/chat HTTP/1.1\r\nhost: {host}\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx"),
        format!("POST /api/chat HTTP/1.1\r\nhost: {host}\r\ncontent-length: -1\r\n\r\n"),
        format!("GET /healthz HTTP/1.1\r\nhost : {host}\r\n\r\n"),
        format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\nx: {}\r\n\r\n", "x".repeat(HEAD_BYTES_MAX)),
        format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\n{}\r\n", "x: y\r\n".repeat(HEADERS_MAX)),
        "\0\r\n\r\n".to_owned(),
    ] {
        let answer = exchange(served.dial().await, odd.as_bytes()).await;
        assert!(!answer.contains("200 OK"), "{odd:.100} {answer}");
    }
    assert!(served.world.model.asked().is_empty());
}

#[tokio::test]
async fn idle_connections_keep_nobody_out() {
    let served = Served::new(World::new()).await;
    let mut idle = Vec::new();
    for _ in 0..300 {
        idle.push(served.dial().await);
    }
    let before = Instant::now();
    let answer = exchange(served.dial().await, &served.chat(r#"{"message":"hi"}"#)).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(before.elapsed() < HEAD_MAX / 2, "it did not wait for anybody's time to be over");
}

#[tokio::test]
async fn the_owner_comes_in_through_the_socket_without_a_token() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("sock");
    let served = Served::with(World::new(), Some(UnixListener::bind(&path).expect("a socket"))).await;
    let body = r#"{"message":"hi"}"#;
    let length = body.len();
    let request = format!(
        "POST /api/chat HTTP/1.1\r\nhost: chitin\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    let stream = UnixStream::connect(&path).await.expect("a connection");
    let answer = exchange(stream, request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert_eq!(served.world.history.keys()[0].channel, "terminal");
    let answer = exchange(served.dial().await, request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "the same bytes at the other door: {answer}");
}

#[tokio::test]
async fn what_is_being_answered_is_answered_before_the_end() {
    let world = World::new();
    let permits = Arc::new(tokio::sync::Semaphore::new(0));
    world.channels.wait_for(&permits);
    let served = Served::new(world).await;
    let _idle = served.dial().await;
    let hook = format!(
        "POST /webhook/hook HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx",
        served.address
    );
    let stream = served.dial().await;
    let waiting = tokio::spawn(async move { exchange(stream, hook.as_bytes()).await });
    until(|| served.world.channels.requests().len() == 1).await;
    served.stop.send_replace(true);
    permits.add_permits(1);
    assert!(waiting.await.expect("no panic").starts_with("HTTP/1.1 200 OK"));
    served.ended.await.expect("no panic").expect("served");
    assert!(TcpStream::connect(served.address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_its_turn() {
    let world = World::new();
    world.model.will([Script::Hangs]);
    let served = Served::new(world).await;
    let mut stream = served.dial().await;
    stream.write_all(&served.chat(r#"{"message":"hi"}"#)).await.expect("sent");
    until(|| served.world.model.asked().len() == 1).await;
    drop(stream);
    until(|| served.world.model.gone() == 1).await;
}
