//! `GET /ws/chat`: one socket, messages in, the events of their turns out.
//!
//! ```text
//!   client:  message │ stop │ approve                        text frames, JSON, `type` says which
//!   server:  chunk │ tool_call │ tool_result │ approval_request │ notice │ done │ error
//!
//!   message ─→ queue ─→ turn (one at a time) ─→ its events ─→ done or error ─→ the next of the queue
//! ```
//!
//! Each message has exactly one `done` or `error`, in the order of the messages. A message that is not taken waits in
//! the queue, too, so that its `error` is not mistaken for the end of the turn before it.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{
        State, WebSocketUpgrade,
        ws::{CloseFrame, Message, WebSocket, rejection::WebSocketUpgradeRejection},
    },
    http::StatusCode,
    response::Response,
};
use chitin_agent::{AnswerError, Inbound};
use chitin_ports::{Delivery, SessionKey};
use chitin_types::Event;
use serde::Deserialize;
use tokio::time::{Instant, interval_at, sleep, timeout};

use crate::{
    Gateway,
    door::Pass,
    problem::Problem,
    serve::{DRAIN_MAX, closed},
    session, sse,
    turns::{Step, Turn, last_event},
};

/// Opens a socket.
pub(crate) async fn open(
    State(gateway): State<Arc<Gateway>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    Extension(pass): Extension<Pass>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(|rejection| Problem::new(rejection.status(), rejection.body_text()))?;
    let full = || Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many sockets are open").retry_after(1);
    let place = Arc::clone(&gateway.sockets).try_acquire_owned().map_err(|_| full())?;
    let upgrade = upgrade.protocols([PROTOCOL]).max_message_size(FRAME_BYTES_MAX).max_frame_size(FRAME_BYTES_MAX);
    Ok(upgrade.on_upgrade(move |socket| async move {
        serve(socket, gateway, pass).await;
        drop(place);
    }))
}

async fn serve(mut socket: WebSocket, gateway: Arc<Gateway>, pass: Pass) {
    let mut talk = Talk { gateway: Arc::clone(&gateway), pass, running: None, queue: VecDeque::new() };
    let end = tokio::select! {
        biased;
        // Beside the talk, so that a client who does not read what we send cannot keep it from being seen.
        () = pass.revoked(Arc::clone(&gateway)) => Some(close(POLICY, "the token was revoked")),
        () = drained(&gateway) => Some(close(AWAY, "the daemon stops")),
        end = talk.run(&mut socket) => end,
    };
    // Ends the turn that still runs.
    drop(talk);
    let Some(frame) = end else { return };
    let farewell = async {
        if socket.send(Message::Close(Some(frame))).await.is_ok() {
            // Until the other side has read it and hung up; whatever it still sends is nothing to us.
            while let Some(Ok(_)) = socket.recv().await {}
        }
    };
    // A client that does not hang up is dropped.
    let _ = timeout(FAREWELL_MAX, farewell).await;
}

async fn drained(gateway: &Gateway) {
    closed(&mut gateway.closing.subscribe()).await;
    sleep(DRAIN_MAX).await;
}

/// What a client says.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Said {
    Message { text: String, session: Option<String> },
    Stop {},
    Approve { id: String, allow: bool },
}

enum Job {
    Run(Inbound),
    /// The sentence that its `error` will have.
    Refuse(String),
}

struct Running {
    turn: Turn,
    key: SessionKey,
}

struct Talk {
    gateway: Arc<Gateway>,
    pass: Pass,
    running: Option<Running>,
    queue: VecDeque<Job>,
}

impl Talk {
    /// Goes on until one side ends it; the frame to close with, where the other side is still there.
    async fn run(&mut self, socket: &mut WebSocket) -> Option<CloseFrame> {
        let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        let mut closing = self.gateway.closing.subscribe();
        let mut leaving = false;
        let mut heard = Instant::now();
        loop {
            tokio::select! {
                frame = socket.recv() => {
                    let Some(Ok(frame)) = frame else { return None };
                    heard = Instant::now();
                    if let Some(end) = self.hear(frame, socket).await {
                        return end.frame();
                    }
                }
                step = next_of(self.running.as_ref()) => {
                    if let Err(end) = self.show(step, socket).await {
                        return end.frame();
                    }
                }
                _ = ping.tick() => {
                    if heard.elapsed() > SILENCE_MAX {
                        return None;
                    }
                    socket.send(Message::Ping(bytes::Bytes::new())).await.ok()?;
                }
                () = closed(&mut closing), if !leaving => leaving = true,
            }
            if leaving && self.running.is_none() {
                return Some(close(AWAY, "the daemon stops"));
            }
        }
    }

    async fn hear(&mut self, frame: Message, socket: &mut WebSocket) -> Option<End> {
        let text = match frame {
            Message::Text(text) => text,
            Message::Binary(_) => return Some(End::Close(close(UNSUPPORTED, "send text frames"))),
            Message::Close(_) => return Some(End::Gone),
            Message::Ping(_) | Message::Pong(_) => return None,
        };
        let said = match serde_json::from_str(text.as_str()) {
            Ok(Said::Message { text, session }) => self.take(self.job(text, session.as_deref()), socket).await,
            Ok(Said::Stop {}) => self.stop(socket).await,
            Ok(Said::Approve { id, allow }) => self.approve(&id, allow, socket).await,
            Err(error) => {
                let problem = Problem::new(StatusCode::BAD_REQUEST, format!("this frame is not understood: {error}"));
                self.take(Job::Refuse(problem.detail().to_owned()), socket).await
            }
        };
        said.err()
    }

    async fn take(&mut self, job: Job, socket: &mut WebSocket) -> Result<(), End> {
        if self.queue.len() >= QUEUE_MAX {
            return Err(End::Close(close(POLICY, "too many messages wait")));
        }
        self.queue.push_back(job);
        self.advance(socket).await
    }

    fn job(&self, text: String, session: Option<&str>) -> Job {
        if text.trim().is_empty() {
            return Job::Refuse("the message is empty".to_owned());
        }
        match session::key(self.pass.door, session) {
            Ok(key) => Job::Run(Inbound { key, text, delivery: Delivery::Streamed }),
            Err(problem) => Job::Refuse(problem.detail().to_owned()),
        }
    }

    /// Starts what waits, while nothing runs.
    async fn advance(&mut self, socket: &mut WebSocket) -> Result<(), End> {
        while self.running.is_none()
            && let Some(job) = self.queue.pop_front()
        {
            let begun = match job {
                Job::Run(inbound) => {
                    let key = inbound.key.clone();
                    Turn::begin(&self.gateway, inbound)
                        .map(|turn| Running { turn, key })
                        .map_err(|p| p.detail().to_owned())
                }
                Job::Refuse(text) => Err(text),
            };
            match begun {
                Ok(running) => self.running = Some(running),
                Err(text) => send(socket, &Event::Error { text }).await?,
            }
        }
        Ok(())
    }

    async fn show(&mut self, step: Step, socket: &mut WebSocket) -> Result<(), End> {
        match step {
            Step::Event(event) => send(socket, &event).await,
            Step::End(end) => {
                self.running = None;
                send(socket, &last_event(&end)).await?;
                self.advance(socket).await
            }
        }
    }

    async fn stop(&mut self, socket: &mut WebSocket) -> Result<(), End> {
        let Some(running) = &self.running else {
            return send(socket, &Event::Notice { text: "nothing is running".to_owned() }).await;
        };
        if !self.gateway.parts.agent.stop(&running.key) {
            // It was started and has not yet entered its lane, where the agent would find it.
            running.turn.abandon();
        }
        // The turn says itself that it ended.
        Ok(())
    }

    async fn approve(&mut self, id: &str, allow: bool, socket: &mut WebSocket) -> Result<(), End> {
        let text = match self.gateway.parts.board.answer(id, allow) {
            Ok(()) => return Ok(()),
            Err(AnswerError::Unknown) => "no such question is open",
            Err(AnswerError::Expired) => "the question has expired",
        };
        send(socket, &Event::Notice { text: text.to_owned() }).await
    }
}

/// Why nothing more is heard.
enum End {
    /// The other side is gone or going.
    Gone,
    /// It is told why.
    Close(CloseFrame),
}

impl End {
    fn frame(self) -> Option<CloseFrame> {
        match self {
            Self::Gone => None,
            Self::Close(frame) => Some(frame),
        }
    }
}

async fn next_of(running: Option<&Running>) -> Step {
    match running {
        Some(running) => running.turn.next().await,
        None => std::future::pending().await,
    }
}

async fn send(socket: &mut WebSocket, event: &Event) -> Result<(), End> {
    socket.send(Message::Text(sse::json(event).into())).await.map_err(|_| End::Gone)
}

fn close(code: u16, reason: &'static str) -> CloseFrame {
    CloseFrame { code, reason: reason.into() }
}

/// The subprotocol that a client may name.
const PROTOCOL: &str = "chitin.v1";
/// Going away, by RFC 6455.
const AWAY: u16 = 1001;
/// A kind of data that is not taken.
const UNSUPPORTED: u16 = 1003;
/// A rule was broken.
const POLICY: u16 = 1008;
/// One frame, and one message of several frames; a message to the agent is at most as long.
const FRAME_BYTES_MAX: usize = 1024 * 1024;
/// Messages that wait behind the one that runs. A client that sends on and on is hung up on before it fills the memory.
const QUEUE_MAX: usize = 16;
/// Between two pings.
const PING_EVERY: Duration = Duration::from_secs(30);
/// Without any frame, not even an answer to a ping; the other side is gone without a word, and its place is free again.
const SILENCE_MAX: Duration = Duration::from_secs(75);
/// For the other side to hang up after it was told to.
const FAREWELL_MAX: Duration = Duration::from_millis(500);

#[cfg(test)]
#[path = "ws_tests.rs"]
mod tests;
