//! A blocking HTTP client over `wasi:http/outgoing-handler`: one request, one answer, both bounded.
//!
//! It holds no rules. Which hosts, methods and paths are reachable is decided by the host for each request, so following
//! a redirect is left to the tool: every hop is a new request that is judged again.
//!
//! In reading order: [`Url`] is parsed, [`HttpRequest`] is built and sent, [`HttpError`] says why nothing came back.

mod bindings;
mod error;
mod request;
mod url;
mod wire;

pub use error::HttpError;
pub use request::{HttpRequest, HttpResponse};
pub use url::{BadUrl, Url};
