//! What is done on a request: its body names a deed and the numbers or texts that it needs.

use std::sync::atomic::{AtomicU64, Ordering};

use chitin_sdk::{
    Failure,
    http::{HttpRequest, Url},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bindings::chitin::channel::{
    inbox, sockets,
    types::{Address, Frame, Inbound, InboundHttp, ReplyHttp},
};

/// A request to do something.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum Deed {
    /// Ends with a trap.
    Trap,
    /// Never ends.
    Loop,
    /// Takes memory until there is no more.
    Grow,
    /// Puts one message into the inbox.
    Emit { id: String, text: String },
    /// Puts many into it at once.
    EmitMany { count: usize },
    /// Says that the message comes from another channel.
    EmitSpoof { id: String, channel: String },
    /// Puts one message into it and traps after that.
    EmitThenTrap { id: String },
    /// Stores a cursor alone.
    Cursor { cursor: String },
    /// Answers an approval that nobody asked.
    Answer,
    /// Sends a frame through a socket that nobody opened.
    Socket,
    /// Tells which headers it was shown.
    Headers,
    /// Tells how many requests this instance has seen.
    Count,
    /// Answers with this status.
    Status { status: u16 },
    /// Answers with a body of this size.
    Big { bytes: usize },
    /// Answers with headers that no channel should set.
    Html,
    /// Prints this much.
    Print { bytes: usize },
    /// Asks this address.
    Fetch { url: String },
}

pub(crate) fn on_http(request: &InboundHttp) -> ReplyHttp {
    static REQUESTS: AtomicU64 = AtomicU64::new(0);
    let count = REQUESTS.fetch_add(1, Ordering::Relaxed) + 1;
    match serde_json::from_slice(&request.body) {
        Ok(Deed::Trap) => trap(),
        Ok(Deed::Loop) => spin(),
        Ok(Deed::Grow) => grow(),
        Ok(Deed::Emit { id, text }) => told(inbox::emit(vec![message(id, text)], None)),
        Ok(Deed::EmitMany { count }) => {
            let many = (0..count).map(|number| message(format!("many-{number}"), "one of many".to_owned())).collect();
            told(inbox::emit(many, None))
        }
        Ok(Deed::EmitSpoof { id, channel }) => {
            let extras = vec![("channel".to_owned(), channel.clone()), ("alias".to_owned(), channel)];
            told(inbox::emit(vec![Inbound { extras, ..message(id, "trust me".to_owned()) }], None))
        }
        Ok(Deed::EmitThenTrap { id }) => match inbox::emit(vec![message(id, "kept".to_owned())], None) {
            Ok(()) => trap(),
            Err(failure) => told(Err(failure)),
        },
        Ok(Deed::Cursor { cursor }) => told(inbox::emit(Vec::new(), Some(&cursor))),
        Ok(Deed::Answer) => told(inbox::answer("no-such-question", "somebody", true)),
        Ok(Deed::Socket) => told(sockets::send("no-such-socket", &Frame::Text("hello".to_owned()))),
        Ok(Deed::Headers) => reply(200, &json!(request.headers)),
        Ok(Deed::Count) => reply(200, &json!(count)),
        Ok(Deed::Status { status }) => reply(status, &Value::Null),
        Ok(Deed::Big { bytes }) => ReplyHttp { status: 200, headers: Vec::new(), body: vec![b'x'; bytes] },
        Ok(Deed::Html) => ReplyHttp { status: 200, headers: forbidden_headers(), body: b"<script>".to_vec() },
        Ok(Deed::Print { bytes }) => {
            print!("{}", "x".repeat(bytes));
            reply(200, &Value::Null)
        }
        Ok(Deed::Fetch { url }) => fetch(&url),
        Err(error) => reply(400, &json!({ "error": error.to_string() })),
    }
}

pub(crate) fn trap() -> ! {
    std::process::abort()
}

pub(crate) fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

fn grow() -> ReplyHttp {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    loop {
        taken.push(vec![1; 1 << 20]);
        if taken.len() > 100_000 {
            return reply(200, &json!(taken.len()));
        }
    }
}

fn fetch(url: &str) -> ReplyHttp {
    let asked = Url::parse(url)
        .map_err(Failure::from)
        .and_then(|url| HttpRequest::new("GET", url).send(1024).map_err(Failure::from));
    match asked {
        Ok(response) => reply(200, &json!({ "status": response.status })),
        Err(failure) => told(Err(failure)),
    }
}

fn message(id: String, text: String) -> Inbound {
    Inbound {
        id,
        sender: "rogue".to_owned(),
        reply_to: Address { target: "room".to_owned(), thread: None },
        interruption_scope: None,
        text,
        attachments: Vec::new(),
        sent_at_ms: 1,
        group: false,
        extras: Vec::new(),
    }
}

/// What the host said, as an answer that a test reads.
fn told(said: Result<(), Failure>) -> ReplyHttp {
    match said {
        Ok(()) => reply(202, &json!({ "ok": true })),
        Err(failure) => {
            let error = json!({ "kind": failure.kind.to_string(), "code": failure.code, "message": failure.message });
            reply(200, &json!({ "ok": false, "error": error }))
        }
    }
}

fn forbidden_headers() -> Vec<(String, String)> {
    [("content-type", "text/html"), ("set-cookie", "a=b"), ("location", "https://evil.test")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
}

fn reply(status: u16, body: &Value) -> ReplyHttp {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    ReplyHttp { status, headers, body: body.to_string().into_bytes() }
}
