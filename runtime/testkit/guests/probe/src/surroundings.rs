//! What a guest sees of the world through standard WASI: environment, files, clocks, random bytes, HTTP, sockets.

#[expect(clippy::pedantic, reason = "generated")]
mod preopens {
    wit_bindgen::generate!({
        inline: "
            package test:probe-imports;
            world preopens { import wasi:filesystem/preopens@0.2.12; import wasi:random/random@0.2.12; }
        ",
        path: [
            "../../../../wit/deps/io.wit",
            "../../../../wit/deps/clocks.wit",
            "../../../../wit/deps/random.wit",
            "../../../../wit/deps/filesystem.wit",
        ],
        world: "test:probe-imports/preopens",
        generate_all,
    });
}

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chitin_sdk::http::{HttpRequest, Url};
use chitin_sdk::{Call, Failure, Part};
use serde::Deserialize;
use serde_json::json;

use self::preopens::wasi::filesystem::preopens::get_directories;
use self::preopens::wasi::random::random::get_random_bytes;
use crate::report;

pub(crate) fn env() -> Result<Vec<Part>, Failure> {
    let variables: Vec<(String, String)> = std::env::vars().collect();
    let arguments: Vec<String> = std::env::args().collect();
    let directory = std::env::current_dir().map(|path| path.display().to_string());
    let roots: Vec<String> = get_directories().into_iter().map(|(_, path)| path).collect();
    report::value(json!({ "vars": variables, "args": arguments, "cwd": directory.ok(), "preopens": roots }))
}

#[derive(Deserialize)]
struct OpenRead {
    path: String,
}

pub(crate) fn open_read(call: &Call) -> Result<Vec<Part>, Failure> {
    let path = call.args::<OpenRead>()?.path;
    let mut bytes = Vec::new();
    let tried = std::fs::File::open(&path).and_then(|file| file.take(READ_BYTES_MAX).read_to_end(&mut bytes));
    report::outcome(tried.map(|read| json!({ "bytes": read, "text": String::from_utf8_lossy(&bytes) })))
}

#[derive(Deserialize)]
struct OpenWrite {
    path: String,
    text: String,
}

pub(crate) fn open_write(call: &Call) -> Result<Vec<Part>, Failure> {
    let wanted = call.args::<OpenWrite>()?;
    let tried = std::fs::File::create(&wanted.path).and_then(|mut file| file.write_all(wanted.text.as_bytes()));
    report::outcome(tried.map(|()| json!({ "bytes": wanted.text.len() })))
}

#[derive(Deserialize)]
struct Fetch {
    method: String,
    url: String,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
    body: Option<String>,
}

pub(crate) fn fetch(call: &Call) -> Result<Vec<Part>, Failure> {
    let wanted = call.args::<Fetch>()?;
    let mut request = HttpRequest::new(&wanted.method, Url::parse(&wanted.url)?);
    for (name, value) in &wanted.headers {
        request = request.header(name, value);
    }
    if let Some(body) = wanted.body {
        request = request.body(body);
    }
    let tried = request.send(FETCH_BYTES_MAX).map_err(Failure::from);
    report::answer(tried.map(|response| {
        json!({
            "status": response.status,
            "headers": response.headers,
            "body": String::from_utf8_lossy(&response.body),
            "cut": response.body_was_cut,
        })
    }))
}

#[derive(Deserialize)]
struct Sleep {
    ms: u64,
}

pub(crate) fn sleep(call: &Call) -> Result<Vec<Part>, Failure> {
    let wanted = Duration::from_millis(call.args::<Sleep>()?.ms);
    let start = Instant::now();
    std::thread::sleep(wanted);
    report::value(json!({ "slept_ms": millis(start.elapsed()) }))
}

#[derive(Deserialize)]
struct Random {
    bytes: u64,
}

pub(crate) fn random(call: &Call) -> Result<Vec<Part>, Failure> {
    let bytes = get_random_bytes(call.args::<Random>()?.bytes);
    let shown: Vec<u8> = bytes.iter().copied().take(SHOWN_BYTES).collect();
    report::value(json!({ "bytes": bytes.len(), "first": shown }))
}

pub(crate) fn clock() -> Result<Vec<Part>, Failure> {
    let start = Instant::now();
    let tried = SystemTime::now().duration_since(UNIX_EPOCH);
    let step_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    report::outcome(tried.map(|since| json!({ "unix_ms": millis(since), "step_ns": step_ns })))
}

#[derive(Deserialize)]
struct Socket {
    addr: String,
}

pub(crate) fn socket(call: &Call) -> Result<Vec<Part>, Failure> {
    let tried = TcpStream::connect(call.args::<Socket>()?.addr).and_then(|stream| stream.peer_addr());
    report::outcome(tried.map(|peer| json!({ "peer": peer.to_string() })))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A report is small; reading a whole device file would end in another limit than the one under test.
const READ_BYTES_MAX: u64 = 16 * 1024;
/// Above what the host's own limits allow by default, so that the host's limit is the one met first.
const FETCH_BYTES_MAX: usize = 32 * 1024 * 1024;
const SHOWN_BYTES: usize = 16;
