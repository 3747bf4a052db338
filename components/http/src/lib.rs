//! The tool `chitin/http`: sends HTTP requests and reads web pages as text.
//!
//! `request` gives back what a server said, whatever it said. `fetch` is for reading: it follows redirects, takes an error
//! status as a failure, and turns a page into text with the help of `page` (HTML) and `charset` (bytes into text).
//!
//! Never: a rule about which servers may be asked. The host judges every request, each redirect anew.

mod charset;
mod fetch;
mod outline;
mod page;
mod request;

chitin_sdk::export_tools!(request::http_request, fetch::web_fetch);

/// What is read of an answer at most: larger ones are downloads, which do not fit into a conversation.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// What is given back at most: half of the output that a call may have by default.
const TEXT_BYTES_MAX: usize = 128 * 1024;
/// The longest wait for a connection and between bytes; less than a call may take by default, so that it can say so.
const WAIT_MAX: std::time::Duration = std::time::Duration::from_secs(20);
