//! One exchange with a server: the request goes out through egress, and the reply comes back in time, in bounds, or not
//! at all.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use chitin_egress::{Body, Egress, EgressError, Endpoint, Request, Response};
use chitin_ports::{ChatReply, ChatRequest, Delivery, Provider, ProviderError, TextSink};
use chitin_types::Secret;
use futures::{StreamExt, stream::BoxStream};
use serde_json::Value;
use tokio::time::timeout;

use super::{refusal, request, stream::Stream, whole};

/// Where a server is and what it is asked for.
#[derive(Debug, Clone)]
pub struct OpenAiConfig {
    /// Up to but without `/chat/completions`, for example `https://api.openai.com/v1`. Writing it down is the
    /// permission to talk to it.
    pub base_url: String,
    /// The model, as the server names it, where a session asks for no other.
    pub model: String,
    /// Sent as a bearer token; local servers want none.
    pub api_key: Option<Secret>,
    /// Whether the server knows tools. If not, none are sent, and the agent reads calls from the text; a server that
    /// knows none and is sent some refuses the request or leaves them out in silence.
    pub native_tools: bool,
}

/// A server that speaks the "chat completions" wire.
#[derive(Clone)]
pub struct OpenAiChat {
    endpoint: Endpoint,
    url: String,
    model: String,
    api_key: Option<Secret>,
    native_tools: bool,
    egress: Egress,
}

impl OpenAiChat {
    /// Nothing is sent before the first request.
    ///
    /// # Errors
    /// The base URL is none.
    pub fn new(config: OpenAiConfig, egress: Egress) -> Result<Self, EgressError> {
        let OpenAiConfig { base_url, model, api_key, native_tools } = config;
        let endpoint = Endpoint::parse(&base_url)?;
        let url = format!("{}/chat/completions", base_url.trim_end_matches('/'));
        Ok(Self { endpoint, url, model, api_key, native_tools, egress })
    }

    async fn exchange(&self, request: &ChatRequest, sink: &dyn TextSink) -> Result<ChatReply, ProviderError> {
        let response = self.send(request).await?;
        if !(200..300).contains(&response.status) {
            let (status, retry_after) = (response.status, header(&response, "retry-after"));
            let body = beginning(Pieces::of(response)).await;
            return Err(refusal::of_status(status, retry_after.as_deref(), &body));
        }
        let sink = match request.delivery {
            Delivery::Streamed => Some(sink),
            Delivery::Whole => None,
        };
        // What the server says counts: some answer at once although a stream was asked for.
        let kind = header(&response, "content-type").unwrap_or_default().to_ascii_lowercase();
        if kind.contains("event-stream") || (sink.is_some() && !kind.contains("json")) {
            return streamed(Pieces::of(response), Stream::new(sink)).await;
        }
        let reply = whole::reply(&all(Pieces::of(response)).await?)?;
        if let Some(sink) = sink
            && !reply.text.is_empty()
        {
            sink.text(&reply.text);
        }
        Ok(reply)
    }

    fn body(&self, request: &ChatRequest) -> Value {
        let model = request.model.as_deref().unwrap_or(&self.model);
        let tools = if self.native_tools { request.tools.as_slice() } else { &[] };
        request::body(model, tools, request)
    }

    async fn send(&self, request: &ChatRequest) -> Result<Response, ProviderError> {
        let accept = match request.delivery {
            Delivery::Streamed => "text/event-stream",
            Delivery::Whole => "application/json",
        };
        let mut headers =
            vec![("content-type".to_owned(), "application/json".to_owned()), ("accept".to_owned(), accept.to_owned())];
        if let Some(key) = &self.api_key {
            headers.push(("authorization".to_owned(), format!("Bearer {}", key.expose())));
        }
        let body = Body::Full(Bytes::from(self.body(request).to_string()));
        let outgoing = Request { method: "POST".to_owned(), url: self.url.clone(), headers, body };
        let permit =
            self.egress.authorize_endpoint(&self.endpoint, &outgoing).map_err(|error| refusal::of_egress(&error))?;
        match timeout(FIRST_BYTE_MAX, self.egress.send(permit, outgoing)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(refusal::of_egress(&error)),
            Err(_) => Err(silence(FIRST_BYTE_MAX)),
        }
    }
}

#[async_trait]
impl Provider for OpenAiChat {
    fn name(&self) -> String {
        format!("openai-chat {}", self.model)
    }

    fn notice(&self) -> Option<String> {
        None
    }

    fn native_tools(&self) -> bool {
        self.native_tools
    }

    async fn complete(&self, request: &ChatRequest, sink: &dyn TextSink) -> Result<ChatReply, ProviderError> {
        self.exchange(request, sink).await.map_err(|error| refusal::scrub(error, self.api_key.as_ref()))
    }
}

fn header(response: &Response, name: &str) -> Option<String> {
    response.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

/// A body, piece by piece, in time and in bounds.
struct Pieces {
    body: BoxStream<'static, Result<Bytes, EgressError>>,
    wait: Duration,
    bytes_left: usize,
}

impl Pieces {
    fn of(response: Response) -> Self {
        Self { body: response.body, wait: FIRST_BYTE_MAX, bytes_left: REPLY_BYTES_MAX }
    }

    async fn next(&mut self) -> Result<Option<Bytes>, ProviderError> {
        let piece = match timeout(self.wait, self.body.next()).await {
            Ok(None) => return Ok(None),
            Ok(Some(Ok(piece))) => piece,
            Ok(Some(Err(error))) => return Err(refusal::of_egress(&error)),
            Err(_) => return Err(silence(self.wait)),
        };
        self.wait = IDLE_MAX;
        let Some(bytes_left) = self.bytes_left.checked_sub(piece.len()) else {
            let size = REPLY_BYTES_MAX / (1024 * 1024);
            return Err(ProviderError::BadAnswer(format!("it is larger than {size} MiB")));
        };
        self.bytes_left = bytes_left;
        Ok(Some(piece))
    }
}

async fn streamed(mut pieces: Pieces, mut stream: Stream<'_>) -> Result<ChatReply, ProviderError> {
    while !stream.is_done() {
        match pieces.next().await {
            Ok(Some(piece)) => stream.feed(&piece)?,
            Ok(None) => break,
            // Only the figures are missing.
            Err(_) if stream.is_finished() => break,
            Err(error) => return Err(error),
        }
    }
    stream.finish()
}

async fn all(mut pieces: Pieces) -> Result<Vec<u8>, ProviderError> {
    let mut body = Vec::new();
    while let Some(piece) = pieces.next().await? {
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

// Enough for a message. What goes wrong while it is read does not matter: the status is known.
async fn beginning(mut pieces: Pieces) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < REFUSAL_BYTES_MAX
        && let Ok(Some(piece)) = pieces.next().await
    {
        body.extend_from_slice(&piece);
    }
    body.truncate(REFUSAL_BYTES_MAX);
    body
}

fn silence(wait: Duration) -> ProviderError {
    ProviderError::Unreachable(format!("nothing came for {} s", wait.as_secs()))
}

/// From the request to the first byte: large models think long before they speak.
const FIRST_BYTE_MAX: Duration = Duration::from_secs(120);
/// Between two pieces: a server that died in the middle must not hold a turn for ever.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// One reply; far above the longest output of any model.
const REPLY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// What is read of a refusal.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
