//! Who sees a secret that is put in at egress? The server, and nothing else: after a run that uses it in every way there is,
//! no byte of the home, no line of output, no answer holds it in any spelling.

use std::{fs, path::Path};

use chitin_testkit::{
    chitin::Chitin,
    daemon::{Daemon, now_s},
    daemon_story::{HOOK_SECRET, configure, reply_to, set_secret},
    model::{self, Say},
    server::{Reply, Server},
};
use serde_json::json;

const TOKEN: &str = "canary-Zq8mT4x-secret-token/+77";

/// The text, and what is commonly made of it.
fn spellings(secret: &str) -> Vec<String> {
    use std::fmt::Write;
    let mut hex = String::new();
    for byte in secret.bytes() {
        write!(hex, "{byte:02x}").expect("a text takes everything");
    }
    let reversed: String = secret.chars().rev().collect();
    let percent = secret.replace('/', "%2F").replace('+', "%2B");
    vec![secret.to_owned(), hex.clone(), hex.to_uppercase(), reversed, percent, base64(secret.as_bytes())]
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for piece in bytes.chunks(3) {
        let word = piece.iter().fold(0_u32, |word, byte| (word << 8) | u32::from(*byte)) << (8 * (3 - piece.len()));
        for at in 0..=piece.len() {
            out.push(char::from(DIGITS[usize::try_from((word >> (18 - 6 * at)) & 63).unwrap_or(0)]));
        }
    }
    out
}

fn holds(bytes: &[u8], needle: &str) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
}

fn sweep(folder: &Path, needles: &[String], found: &mut Vec<String>, files: &mut usize) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let kind = fs::symlink_metadata(&path).expect("what it is");
        if kind.is_dir() {
            sweep(&path, needles, found, files);
        } else if kind.is_file() {
            *files += 1;
            let bytes = fs::read(&path).expect("a file");
            for needle in needles.iter().filter(|needle| holds(&bytes, needle)) {
                found.push(format!("{} holds {needle}", path.display()));
            }
        }
    }
}

#[tokio::test]
async fn a_secret_is_seen_by_the_server_and_by_nothing_else() {
    // runs: chitin secret set
    // runs: chitin secret list
    // It answers with everything it was sent, as an echo service or an error page does.
    let api = Server::start(|seen| {
        let headers: Vec<String> = seen.headers.iter().map(|(n, v)| format!("{n}: {v}")).collect();
        Reply::ok("text/plain", headers.join("\n"))
    })
    .await;
    let url = format!("{}/me", api.origin());
    let model = model::start(move |messages| {
        let last = messages.last().cloned().unwrap_or_default();
        if last["role"] == "user" {
            Say::Call("http__http_request", json!({ "method": "GET", "url": url }))
        } else {
            Say::Text(format!("the server said: {}", last["content"].as_str().unwrap_or("")))
        }
    })
    .await;
    let replies = Server::start(|_| Reply::ok("text/plain", "ok")).await;
    let chitin = Chitin::onboarded().await;
    let mut output = String::new();
    configure(&chitin, &model, &replies, &|_| ()).await.expect("the home is configured");
    set_secret(&chitin, "github", TOKEN).await.expect("the secret is set");
    let origin = api.origin();
    for args in [
        vec!["tool", "grant", "chitin/http", "net", &origin],
        vec!["tool", "grant", "chitin/http", "secret", "127-0-0-1", "github"],
        vec!["tool", "inspect", "chitin/http"],
        vec!["policy", "explain", "chitin/http"],
        vec!["secret", "list"],
        vec!["-vv", "--json", "tool", "call", "chitin/http", "http_request", "method=GET", &format!("url={origin}/me")],
        vec!["-vv", "run", "-p", "ask the server"],
    ] {
        let ran = chitin.run(&args).await;
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        output.push_str(&ran.out);
        output.push_str(&ran.err);
    }
    let daemon = Daemon::start(&chitin).await;
    output.push_str(&daemon.chat("ask the server").await);
    let hook = json!({ "id": "s1", "from": "alice", "text": "ask the server" });
    assert_eq!(daemon.webhook("hook", HOOK_SECRET, now_s(), &hook).await.status, 202);
    output.push_str(&reply_to(&replies, "s1").await.expect("a reply").to_string());
    for path in ["/api/status", "/metrics"] {
        output.push_str(&daemon.get(path).await.body);
    }
    assert_eq!(daemon.stop().await, Some(0));
    for args in [vec!["--json", "audit", "tail", "-n", "500"], vec!["--json", "session", "list"]] {
        output.push_str(&chitin.run(&args).await.out);
    }

    let arrived = api
        .seen()
        .iter()
        .filter(|s| s.headers.contains(&("authorization".to_owned(), format!("Bearer {TOKEN}"))))
        .count();
    assert!(arrived >= 4, "the server saw the secret {arrived} times");
    assert!(output.contains("[redacted]"), "the server's echo was not cleaned: {output}");
    look_everywhere(&chitin, &output, &[("the model's requests", &model), ("the replies", &replies)]);
}

/// Nothing on disk, printed or sent elsewhere holds the secret.
fn look_everywhere(chitin: &Chitin, output: &str, servers: &[(&str, &Server)]) {
    let mut needles = spellings(TOKEN);
    needles.push(HOOK_SECRET.to_owned());
    let mut found = Vec::new();
    let mut files = 0;
    sweep(chitin.outside(), &needles, &mut found, &mut files);
    assert!(files > 20, "found nothing to sweep: {files} files");
    assert!(found.is_empty(), "{found:#?}");
    let sent = servers.iter().flat_map(|(what, server)| server.seen().into_iter().map(move |seen| (*what, seen.body)));
    for (what, text) in std::iter::once(("the output", output.as_bytes().to_vec())).chain(sent) {
        for needle in &needles {
            assert!(!holds(&text, needle), "{what} holds {needle}");
        }
    }
    // The sweep finds what is there: a planted copy is seen.
    fs::write(chitin.outside().join("planted"), format!("xx{}xx", base64(TOKEN.as_bytes()))).expect("written");
    sweep(chitin.outside(), &needles, &mut found, &mut files);
    assert_eq!(found.len(), 1, "{found:?}");
}
