//! How does a command speak to a running daemon? Over the Unix socket in the home, which only its owner can enter; no
//! token is needed and none is kept in clear.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Request, body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixStream;

use crate::error::{CliError, Exit};

/// The way to one daemon.
pub(crate) struct Client {
    socket: PathBuf,
}

/// Where the daemon of a home listens.
pub(crate) fn socket(home: &Path) -> PathBuf {
    home.join("run/daemon.sock")
}

impl Client {
    /// The daemon of this home, if one answers.
    pub(crate) async fn find(home: &Path) -> Option<Self> {
        let socket = socket(home);
        UnixStream::connect(&socket).await.ok().map(|_| Self { socket })
    }

    /// The daemon of this home.
    ///
    /// # Errors
    /// None runs.
    pub(crate) async fn of(home: &Path) -> Result<Self, CliError> {
        let message = format!("no daemon runs for the home {}", home.display());
        Self::find(home).await.ok_or_else(|| CliError::new(Exit::Daemon, message).help("chitin daemon"))
    }

    /// One request whose whole answer is JSON.
    ///
    /// # Errors
    /// The daemon went away, or answered with a problem, which becomes the message.
    pub(crate) async fn json(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, CliError> {
        let response = self.send(method, path, body, "application/json").await?;
        let status = response.status();
        let bytes = Limited::new(response.into_body(), ANSWER_BYTES_MAX)
            .collect()
            .await
            .map_err(|error| unreachable(&error))?
            .to_bytes();
        let value: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        if status.is_success() {
            return Ok(value);
        }
        let detail = value.get("detail").and_then(Value::as_str).unwrap_or("the daemon refused").to_owned();
        let exit = if status.as_u16() == 404 { Exit::NotFound } else { Exit::Failed };
        Err(CliError::new(exit, detail))
    }

    /// One request whose answer is a stream of events.
    ///
    /// # Errors
    /// The daemon went away, or did not begin a stream.
    pub(crate) async fn events(&self, path: &str, body: &Value) -> Result<Events, CliError> {
        let response = self.send("POST", path, Some(body), "text/event-stream").await?;
        if !response.status().is_success() {
            let status = response.status();
            let bytes = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
            let bytes = bytes.map_err(|error| unreachable(&error))?.to_bytes();
            let value: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            let detail = value.get("detail").and_then(Value::as_str).unwrap_or("the daemon refused");
            return Err(CliError::failed(format!("{detail} (HTTP {status})")));
        }
        Ok(Events { body: response.into_body(), held: String::new() })
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        accept: &str,
    ) -> Result<hyper::Response<Incoming>, CliError> {
        let stream = UnixStream::connect(&self.socket).await.map_err(|error| unreachable(&error))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| unreachable(&error))?;
        // Ends with the answer; what goes wrong there is seen by whoever reads the body.
        drop(tokio::spawn(connection));
        let bytes = body.map_or_else(Bytes::new, |value| Bytes::from(value.to_string()));
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("accept", accept)
            .header("content-type", "application/json")
            .body(Full::new(bytes))
            .map_err(|error| CliError::failed(format!("make the request: {error}")))?;
        sender.send_request(request).await.map_err(|error| unreachable(&error))
    }
}

/// Events of one turn, as they come.
pub(crate) struct Events {
    body: Incoming,
    held: String,
}

impl Events {
    /// The data of the next event; nothing after the last.
    ///
    /// # Errors
    /// The daemon went away, or sent what is no event.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>, CliError> {
        loop {
            if let Some(end) = self.held.find("\n\n") {
                let block: String = self.held.drain(..end + 2).collect();
                let data: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("data:")).collect();
                if data.is_empty() {
                    // A comment that keeps the connection alive.
                    continue;
                }
                let text = data.iter().map(|line| line.trim_start()).collect::<Vec<_>>().join("\n");
                return serde_json::from_str(&text)
                    .map(Some)
                    .map_err(|error| CliError::failed(format!("read the daemon's event: {error}")));
            }
            if self.held.len() > ANSWER_BYTES_MAX {
                return Err(CliError::failed("the daemon's event is too large"));
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(unreachable(&error)),
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        self.held.push_str(&String::from_utf8_lossy(&bytes));
                    }
                }
            }
        }
    }
}

fn unreachable(error: &dyn std::fmt::Display) -> CliError {
    CliError::new(Exit::Daemon, format!("the daemon cannot be reached: {error}")).help("chitin status")
}

/// One whole answer or one event; more is not from our daemon.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
