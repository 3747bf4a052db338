//! How is a running daemon used from outside? It is a child of the test, spoken to over real sockets and killed like any
//! other process.

use std::{process::Stdio, time::Duration};

use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use http_body_util::{BodyExt, Full};
use hyper::{Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use sha2::Sha256;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpStream,
    process::Child,
    time::{sleep, timeout},
};

use crate::chitin::Chitin;

/// A daemon on the home of a [`Chitin`].
pub struct Daemon {
    child: Child,
    address: String,
    /// The bearer token.
    pub token: String,
}

/// What the daemon answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Lower-case names.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Panics
    /// It is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("no JSON ({e}): {self:?}"))
    }
}

/// The longest that anything here may take; a test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(30);

impl Daemon {
    /// Starts a daemon on a free port and waits until it is ready. The home must be onboarded; a new token is made.
    ///
    /// # Panics
    /// It does not start.
    pub async fn start(chitin: &Chitin) -> Self {
        let ran = chitin.run(&["-y", "--json", "onboard", "--new-token"]).await;
        assert_eq!(ran.code, 0, "onboard: {ran:?}");
        let token = ran.json()["token"].as_str().expect("a token").to_owned();
        Self::start_with(chitin, token).await
    }

    /// Starts a daemon that knows this token already.
    ///
    /// # Panics
    /// It does not start.
    pub async fn start_with(chitin: &Chitin, token: String) -> Self {
        let mut command = chitin.command(&["--json", "daemon", "--listen", "127.0.0.1:0"]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("the daemon's program starts");
        let stdout = child.stdout.take().expect("a pipe");
        let mut lines = BufReader::new(stdout).lines();
        let first = timeout(PATIENCE, lines.next_line()).await.expect("the daemon says where it listens");
        let first = first.expect("its output").expect("the daemon ended at once");
        let said: Value = serde_json::from_str(&first).expect("a JSON line");
        let daemon = Self { child, address: said["listen"].as_str().expect("an address").to_owned(), token };
        for _ in 0..500 {
            if daemon.get("/readyz").await.status == 200 {
                return daemon;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("the daemon is not ready");
    }

    /// `127.0.0.1:<port>`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Process id.
    ///
    /// # Panics
    /// It has ended.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("the daemon runs")
    }

    /// Whether the process still lives.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// A GET with the token.
    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[("authorization", &self.bearer())], b"").await
    }

    /// A POST of JSON with the token.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        let headers = [("authorization", &*self.bearer()), ("content-type", "application/json")];
        self.send("POST", path, &headers, body.to_string().as_bytes()).await
    }

    /// One message through `/api/chat`; the answer's text.
    ///
    /// # Panics
    /// There is none.
    pub async fn chat(&self, message: &str) -> String {
        let answer = self.post("/api/chat", &serde_json::json!({ "message": message })).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["text"].as_str().expect("a text").to_owned()
    }

    /// A webhook of the recipe that `chitin/webhook` has, signed with `secret` at `at_s`.
    pub async fn webhook(&self, channel: &str, secret: &str, at_s: u64, body: &Value) -> Answer {
        let text = body.to_string();
        let time = at_s.to_string();
        let signature = sign(secret, &time, text.as_bytes());
        let headers = [
            ("content-type", "application/json"),
            ("x-chitin-timestamp", time.as_str()),
            ("x-chitin-signature", signature.as_str()),
        ];
        self.send("POST", &format!("/webhook/{channel}"), &headers, text.as_bytes()).await
    }

    /// One request as it is; `host` is set unless given.
    ///
    /// # Panics
    /// The daemon does not answer.
    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        timeout(PATIENCE, self.exchange(method, path, headers, body)).await.expect("the daemon answers in time")
    }

    /// Kills it at once, as a power loss would.
    ///
    /// # Panics
    /// It cannot be killed.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("the daemon is killed");
    }

    /// Asks it to stop, and waits.
    ///
    /// # Panics
    /// It does not end.
    pub async fn stop(mut self) -> Option<i32> {
        let pid = self.pid().to_string();
        let asked = std::process::Command::new("/bin/kill").args(["-TERM", &pid]).status();
        assert!(asked.expect("kill runs").success());
        timeout(PATIENCE, self.child.wait()).await.expect("the daemon ends").expect("its status").code()
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    async fn exchange(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let stream = TcpStream::connect(&self.address).await.expect("the daemon listens");
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("HTTP");
        drop(tokio::spawn(connection));
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request = request.header("host", &self.address);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::copy_from_slice(body))).expect("a request");
        let response = sender.send_request(request).await.expect("an answer");
        let status = response.status().as_u16();
        let headers = response
            .headers()
            .iter()
            .map(|(n, v)| (n.to_string(), String::from_utf8_lossy(v.as_bytes()).into_owned()))
            .collect();
        let body = response.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        Answer { status, headers, body: String::from_utf8_lossy(&body).into_owned() }
    }
}

/// The signature of a webhook: HMAC-SHA256 over `<time>.<body>`, as hexadecimal digits after `sha256=`.
///
/// # Panics
/// Never: HMAC takes a key of any length.
pub fn sign(secret: &str, time: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length");
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

/// Seconds since 1970.
pub fn now_s() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    since.as_secs()
}
