//! What is asked, and what came back.

use std::time::Duration;

use super::{BadUrl, HttpError, Url, wire};

/// One request, built up and then sent.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub(super) method: String,
    pub(super) url: Url,
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) timeout: Option<Duration>,
}

/// The answer of the server, whatever its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// 100 to 599.
    pub status: u16,
    /// Lower-case names, in the order in which they came; bytes that are not UTF-8 are replaced.
    pub headers: Vec<(String, String)>,
    /// At most the number of bytes that the caller asked for.
    pub body: Vec<u8>,
    /// True when the server had more than that.
    pub body_was_cut: bool,
}

impl HttpRequest {
    /// A request without headers and body. The method is taken as it is; servers expect capitals.
    pub fn new(method: &str, url: Url) -> Self {
        Self { method: method.to_owned(), url, headers: Vec::new(), body: None, timeout: None }
    }

    /// A `GET`.
    ///
    /// # Errors
    ///
    /// When the text is not an absolute address.
    pub fn get(url: &str) -> Result<Self, BadUrl> {
        Ok(Self::new("GET", Url::parse(url)?))
    }

    /// Adds a header; a name may come more than once.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.as_bytes().to_vec()));
        self
    }

    /// Sets the body. Its length is sent as `content-length`.
    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.body = Some(bytes.into());
        self
    }

    /// The longest wait for the connection, for the first byte, and between bytes. Without it the call's own limit ends it.
    pub fn timeout(mut self, longest_wait: Duration) -> Self {
        self.timeout = Some(longest_wait);
        self
    }

    /// Sends the request and reads the answer, of whose body at most `body_bytes_max` are kept.
    ///
    /// # Errors
    ///
    /// When there is no answer: refused by a rule, not reachable, or broken on the way. A status like 404 is an answer.
    pub fn send(&self, body_bytes_max: usize) -> Result<HttpResponse, HttpError> {
        wire::send(self, body_bytes_max)
    }
}

impl HttpResponse {
    /// The first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}
