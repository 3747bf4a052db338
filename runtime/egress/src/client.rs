//! How is a permitted request sent? A permit goes in, a response with bounded parts comes out.
//!
//! One client for each (owner, rule), so that no connection of one tool is ever used for another. System proxies,
//! redirects, referers and transparent decompression are off: each would do something that nobody decided.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use chitin_policy::Grants;
use chitin_ports::Secrets;
use futures::{StreamExt, stream::BoxStream};

use crate::{
    EgressError, Endpoint, Permit, address,
    permit::{self, Reach},
    secret::Injected,
};

/// One request. `method` is in upper case, `url` absolute.
pub struct Request {
    /// The method.
    pub method: String,
    /// The URL as the asker wrote it.
    pub url: String,
    /// Headers; `host`, `content-length` and hop-by-hop headers are refused, egress sets them.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body,
}

/// A request's body.
pub enum Body {
    /// None.
    Empty,
    /// Known bytes.
    Full(Bytes),
    /// Bytes as they come; an error ends the request.
    Stream(BoxStream<'static, Result<Bytes, EgressError>>),
}

/// A response. The body ends with [`EgressError::TooLarge`] when it passes the bound.
pub struct Response {
    /// The status.
    pub status: u16,
    /// Lower-case names.
    pub headers: Vec<(String, String)>,
    /// The body as it comes.
    pub body: BoxStream<'static, Result<Bytes, EgressError>>,
}

/// The outbound client. Cheap to clone; opens nothing until the first request.
#[derive(Clone, Default)]
pub struct Egress {
    clients: Arc<Mutex<HashMap<ClientKey, reqwest::Client>>>,
    secrets: Option<Arc<dyn Secrets>>,
}

type ClientKey = (String, String, Reach);

/// A server that does not accept in this time is down or is being scanned for.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Silence longer than this, before or inside an answer, ends the request: models think, sockets hang.
const READ_TIMEOUT: Duration = Duration::from_secs(120);
/// Largest response body in bytes; an endless body would fill memory.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Clients kept before all are dropped; each holds a connection pool.
const CLIENTS_MAX: usize = 256;
/// Headers that a caller may not set: they frame the message or choose the server.
const OWN_HEADERS: [&str; 9] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "trailer",
    "proxy-authorization",
    "keep-alive",
];

impl Egress {
    /// A client that can put secrets into requests. The default one cannot, and refuses a rule that names one.
    pub fn with_secrets(secrets: Arc<dyn Secrets>) -> Self {
        Self { clients: Arc::default(), secrets: Some(secrets) }
    }

    /// Decides about a tool's request; see [`permit::authorize`].
    ///
    /// # Errors
    /// The request is refused; no socket was opened.
    pub fn authorize(&self, grants: &Grants, request: &Request) -> Result<Permit, EgressError> {
        permit::authorize(grants, request)
    }

    /// Decides about a request to a configured endpoint.
    ///
    /// # Errors
    /// The request does not lie below the endpoint.
    pub fn authorize_endpoint(&self, endpoint: &Endpoint, request: &Request) -> Result<Permit, EgressError> {
        endpoint.authorize(request)
    }

    /// Sends a permitted request. The URL and method are those of the permit, not of the request.
    ///
    /// # Errors
    /// No answer came, or a checked address turned out to be another one.
    pub async fn send(&self, permit: Permit, request: Request) -> Result<Response, EgressError> {
        let Permit { url, method, rule, owner, reach, injection } = permit;
        let injected = match injection {
            Some(injection) => Some(Injected::reveal(self.secrets.as_deref(), &injection, &request.headers).await?),
            None => None,
        };
        let client = self.client((owner, rule, reach))?;
        let method = reqwest::Method::from_bytes(method.as_bytes())
            .map_err(|_| EgressError::BadUrl(format!("method {method:?} is not accepted")))?;
        let mut outgoing = client.request(method, url);
        for (name, value) in request.headers {
            outgoing = outgoing.header(plain_name(&name)?, plain_value(&name, &value)?);
        }
        if let Some(injected) = &injected {
            outgoing = injected.put_into(outgoing);
        }
        outgoing = match request.body {
            Body::Empty => outgoing,
            Body::Full(bytes) => outgoing.body(bytes),
            Body::Stream(stream) => outgoing.body(reqwest::Body::wrap_stream(stream)),
        };
        let incoming = outgoing.send().await.map_err(|e| failure(&e))?;
        check_peer(incoming.remote_addr(), reach)?;
        let headers: Vec<(String, String)> = incoming
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        let status = incoming.status().as_u16();
        let response = Response { status, headers, body: bounded(incoming.bytes_stream().boxed()) };
        match injected {
            Some(injected) => injected.take_out_of(response),
            None => Ok(response),
        }
    }

    fn client(&self, key: ClientKey) -> Result<reqwest::Client, EgressError> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        if clients.len() >= CLIENTS_MAX {
            clients.clear();
        }
        let client = build(key.2).map_err(|e| EgressError::Unreachable(format!("set up the client: {e}")))?;
        clients.insert(key, client.clone());
        Ok(client)
    }
}

fn build(reach: Reach) -> Result<reqwest::Client, reqwest::Error> {
    // A second installation fails and leaves the first in place, which is what is wanted.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .dns_resolver(CheckedResolver(reach))
        .build()
}

/// Gives the client checked addresses only, so that what was checked is what is connected to.
struct CheckedResolver(Reach);

impl reqwest::dns::Resolve for CheckedResolver {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let reach = self.0;
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if let Some((ip, range)) = found.iter().find_map(|a| refused(*a, reach)) {
                let reason = format!("{} resolves to {ip} ({range}), which is not public", name.as_str());
                return Err(EgressError::denied("egress:address", reason).into());
            }
            Ok(Box::new(found.into_iter()) as reqwest::dns::Addrs)
        })
    }
}

fn refused(address: SocketAddr, reach: Reach) -> Option<(std::net::IpAddr, &'static str)> {
    match reach {
        Reach::Any => None,
        Reach::Public => address::reserved(address.ip()).map(|range| (address.ip(), range)),
    }
}

fn check_peer(peer: Option<SocketAddr>, reach: Reach) -> Result<(), EgressError> {
    match peer.and_then(|address| refused(address, reach)) {
        None => Ok(()),
        Some((ip, range)) => {
            Err(EgressError::denied("egress:address", format!("the connection went to {ip} ({range})")))
        }
    }
}

fn bounded(body: BoxStream<'static, Result<Bytes, reqwest::Error>>) -> BoxStream<'static, Result<Bytes, EgressError>> {
    body.scan((0_usize, false), |(read, over), piece| {
        if *over {
            return futures::future::ready(None);
        }
        let piece = piece.map_err(|e| failure(&e)).and_then(|bytes| {
            *read = read.saturating_add(bytes.len());
            if *read > BODY_BYTES_MAX {
                *over = true;
                Err(EgressError::TooLarge(format!("the answer is larger than {} MiB", BODY_BYTES_MAX >> 20)))
            } else {
                Ok(bytes)
            }
        });
        futures::future::ready(Some(piece))
    })
    .boxed()
}

fn plain_name(name: &str) -> Result<http::HeaderName, EgressError> {
    let parsed = http::HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| EgressError::BadUrl(format!("header name {name:?} is not accepted")))?;
    if OWN_HEADERS.contains(&parsed.as_str()) {
        return Err(EgressError::BadUrl(format!("header {parsed} is set by the host")));
    }
    Ok(parsed)
}

fn plain_value(name: &str, value: &str) -> Result<http::HeaderValue, EgressError> {
    http::HeaderValue::from_str(value)
        .map_err(|_| EgressError::BadUrl(format!("the value of header {name} holds control characters")))
}

/// The innermost cause: reqwest's own text repeats the URL, which may hold a credential in its query.
fn failure(error: &reqwest::Error) -> EgressError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        if let Some(own) = next.downcast_ref::<EgressError>() {
            return own.clone();
        }
        cause = next;
    }
    if error.is_timeout() {
        EgressError::Timeout("no answer came in time".to_owned())
    } else {
        EgressError::Unreachable(cause.to_string())
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
