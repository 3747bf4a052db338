//! What is left after a kill? A chat is killed at a random moment; everything that it acknowledged is still there.
//!
//! ```text
//!   start ─→ some messages, answered ─→ one more ─ 0 to 150 ms ─→ SIGKILL ─┬─→ history, files, audit
//!     ↑                                                                    └─→ the next start answers
//!     └──────────────────── the same home, the same session ←──────────────────────┘
//! ```
//!
//! A message is acknowledged when its answer was read as a whole line: text without its end is only on its way.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::process::ExitStatusExt,
    process::Stdio,
    time::{Duration, Instant},
};

use chitin_testkit::{chitin::Chitin, rows};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
    process::{Child, ChildStdin, ChildStdout},
    time::{sleep, timeout},
};

#[tokio::test]
async fn nothing_acknowledged_is_lost_by_a_kill() {
    let mut rng = StdRng::seed_from_u64(SEED);
    let kills: usize = if rows::full() { 200 } else { 20 };
    let mut world = World::new().await;
    let mut slowest = Duration::ZERO;
    for kill in 0..kills {
        let mut chat = Chat::start(&world.chitin);
        // With none before it, the last message meets a chat that has not finished starting.
        for _ in 0..rng.random_range(0..=2) {
            let note = world.next_note();
            chat.send(&note).await;
            let line = chat.line().await.expect("the chat goes on");
            world.acknowledge(&note, &line);
        }
        let last = world.next_note();
        chat.send(&last).await;
        sleep(Duration::from_millis(rng.random_range(0..=DELAY_MS_MAX))).await;
        if let Some(line) = chat.kill().await {
            world.acknowledge(&last, &line);
        }
        // Every other time the next start comes first: looking must not be what repairs.
        if kill.is_multiple_of(2) {
            world.assert_nothing_lost(&format!("kill {kill}")).await;
        }
        slowest = slowest.max(world.next_start_answers(&["--json", "chat", "-m"]).await);
        world.assert_nothing_lost(&format!("start after kill {kill}")).await;
    }
    println!("{kills} kills, {} messages acknowledged, slowest start {slowest:?}", world.acknowledged.len());
    rows::ran("kills", kills);
}

#[tokio::test]
async fn an_interrupted_turn_leaves_a_session_that_goes_on() {
    let mut world = World::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback can be bound");
    let origin = format!("http://{}", listener.local_addr().expect("a bound socket has an address"));
    let ran = world.chitin.run(&["tool", "grant", "chitin/http", "net", &origin]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let prompt = format!("fetch {origin}/never");
    let mut command = world.chitin.command(&["--json", "run", "--session", "one", "-p", &prompt]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    // The request has left the process and nobody answers it: this is the middle of the turn.
    let (unanswered, _) = timeout(ANSWER_MAX, listener.accept()).await.expect("the request comes").expect("a socket");
    interrupt(&child);
    let output = timeout(ANSWER_MAX, child.wait_with_output()).await.expect("it ends").expect("its output");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    drop(unanswered);
    world.assert_nothing_lost("an interrupted request").await;
    assert!(world.said().await.contains_key(&prompt), "the interrupted message is not in the session");
    world.next_start_answers(&["--json", "run", "--session", "one", "-p"]).await;
    world.assert_nothing_lost("a start after an interrupted request").await;
}

#[tokio::test]
async fn an_interrupt_at_any_moment_leaves_a_session_that_goes_on() {
    let mut rng = StdRng::seed_from_u64(SEED);
    let mut world = World::new().await;
    for _ in 0..INTERRUPTS {
        let note = world.next_note();
        let mut command = world.chitin.command(&["--json", "run", "--session", "one", "-p", &note.prompt()]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let delay_ms = rng.random_range(0..=DELAY_MS_MAX);
        sleep(Duration::from_millis(delay_ms)).await;
        interrupt(&child);
        let output = timeout(ANSWER_MAX, child.wait_with_output()).await.expect("it ends").expect("its output");
        let (code, signal) = (output.status.code(), output.status.signal());
        // Before the program listens for it, the signal ends the process by itself.
        let ended = matches!((code, signal), (Some(0 | 130), None) | (None, Some(SIGINT)));
        assert!(ended, "after {delay_ms} ms: {output:?}");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if let Some((line, _)) = printed.split_once('\n') {
            world.acknowledge(&note, line);
        }
        let when = format!("an interrupt after {delay_ms} ms");
        world.assert_nothing_lost(&when).await;
        world.next_start_answers(&["--json", "run", "--session", "one", "-p"]).await;
        world.assert_nothing_lost(&when).await;
    }
}

/// A home, and what it acknowledged so far.
struct World {
    chitin: Chitin,
    notes: usize,
    acknowledged: BTreeMap<Note, String>,
}

impl World {
    async fn new() -> Self {
        Self { chitin: Chitin::onboarded().await, notes: 0, acknowledged: BTreeMap::new() }
    }

    fn next_note(&mut self) -> Note {
        self.notes += 1;
        Note(self.notes)
    }

    /// `line` is one JSON document. Its text answers this note, and also one before it whose turn was cut off.
    fn acknowledge(&mut self, note: &Note, line: &str) {
        let document: Value = serde_json::from_str(line).unwrap_or_default();
        let text = document["text"].as_str().unwrap_or_default();
        assert!(text.contains(&format!(" to {}", note.file())), "{note:?} was answered with {line:?}");
        self.acknowledged.insert(note.clone(), text.to_owned());
    }

    /// Sends one message through a fresh process and tells how long it took from its start to its end.
    async fn next_start_answers(&mut self, command: &[&str]) -> Duration {
        let note = self.next_note();
        let began = Instant::now();
        let prompt = note.prompt();
        let args: Vec<&str> = command.iter().copied().chain([prompt.as_str()]).collect();
        let ran = self.chitin.run(&args).await;
        let took = began.elapsed();
        assert_eq!(ran.code, 0, "the next start: {ran:?}");
        assert!(took < RECOVERY_MAX, "the next start took {took:?}: {ran:?}");
        self.acknowledge(&note, ran.out.trim());
        took
    }

    async fn assert_nothing_lost(&self, after: &str) {
        let ran = self.chitin.run(&["audit", "verify"]).await;
        assert_eq!(ran.code, 0, "after {after}: {ran:?}");
        let said = self.said().await;
        for (note, line) in &self.acknowledged {
            let answer = said.get(&note.prompt()).and_then(Option::as_deref);
            assert_eq!(answer, Some(line.as_str()), "after {after}: {note:?} in the history");
            let written = fs::read_to_string(self.chitin.workspace().join(note.file())).unwrap_or_default();
            assert_eq!(written, note.content(), "after {after}: {note:?} on disk");
        }
    }

    /// Every message in the history, with its answer where it has one.
    async fn said(&self) -> BTreeMap<String, Option<String>> {
        let mut said = BTreeMap::new();
        for session in items(&self.json(&["session", "list"]).await, "sessions") {
            let id = session["name"].as_str().unwrap_or_default();
            let shown = self.json(&["session", "show", id]).await;
            let mut turns: BTreeMap<String, (String, Option<String>)> = BTreeMap::new();
            for message in items(&shown, "messages") {
                let text = message["text"].as_str().unwrap_or_default().to_owned();
                let turn = message["turn"].as_str().unwrap_or_default().to_owned();
                let role = message["role"].as_str().unwrap_or_default();
                assert!(["user", "assistant", "tool"].contains(&role), "a message by {role:?}: {shown}");
                if role == "user" {
                    let before = turns.insert(turn, (text, None));
                    assert!(before.is_none(), "a turn holds two messages of a person: {shown}");
                } else if role == "assistant" && !text.is_empty() {
                    turns.get_mut(&turn).expect("a turn begins with a person").1 = Some(text);
                }
            }
            for (prompt, answer) in turns.into_values() {
                let before = said.insert(prompt.clone(), answer);
                assert!(before.is_none(), "{prompt:?} was sent once and is stored twice");
            }
        }
        said
    }

    async fn json(&self, words: &[&str]) -> Value {
        let mut args = vec!["--json"];
        args.extend_from_slice(words);
        let ran = self.chitin.run(&args).await;
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        ran.json()
    }
}

/// One message: no two have the same words, the same file or the same content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Note(usize);

impl Note {
    fn prompt(&self) -> String {
        format!("write {} to {}", self.content(), self.file())
    }

    fn content(&self) -> String {
        format!("note-{}", self.0)
    }

    fn file(&self) -> String {
        format!("k{}.txt", self.0)
    }
}

/// A running `chitin chat`.
struct Chat {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Chat {
    fn start(chitin: &Chitin) -> Self {
        // Into a file, because a pipe that nobody reads would stop the chat one day.
        let log = File::create(chitin.outside().join("chat.log")).expect("a log file");
        let mut command = chitin.command(&["--json", "chat"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::from(log));
        let mut child = command.spawn().expect("the binary starts");
        let stdin = child.stdin.take().expect("its input is a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        Self { child, stdin, stdout }
    }

    async fn send(&mut self, note: &Note) {
        self.stdin.write_all(format!("{}\n", note.prompt()).as_bytes()).await.expect("the chat reads");
        self.stdin.flush().await.expect("the chat reads");
    }

    /// The next whole line; nothing when the output ended before one.
    async fn line(&mut self) -> Option<String> {
        let mut bytes = Vec::new();
        let read = timeout(ANSWER_MAX, self.stdout.read_until(b'\n', &mut bytes)).await;
        read.expect("the chat answers in time").expect("the pipe can be read");
        bytes.strip_suffix(b"\n").map(|line| String::from_utf8_lossy(line).into_owned())
    }

    /// Ends it, and gives the answer that it had written before.
    async fn kill(mut self) -> Option<String> {
        self.child.start_kill().expect("the chat still runs");
        let line = self.line().await;
        self.child.wait().await.expect("the chat is gone");
        line
    }
}

fn items(document: &Value, list: &str) -> Vec<Value> {
    document[list].as_array().expect("a list").clone()
}

/// What Ctrl-C does.
fn interrupt(child: &Child) {
    let pid = child.id().expect("the process was not waited for").to_string();
    let sent = std::process::Command::new("kill").args(["-INT", &pid]).status().expect("kill starts");
    assert!(sent.success(), "kill -INT {pid}: {sent}");
}

/// The same moments in every run, as far as a machine repeats itself.
const SEED: u64 = 0x0000_D1ED;
/// A turn of the offline provider with one call takes a few dozen milliseconds: kills fall before, into and after it.
const DELAY_MS_MAX: u64 = 150;
const INTERRUPTS: usize = 10;
/// SIGINT on every system that this runs on.
const SIGINT: i32 = 2;
/// Far longer than a loaded machine needs; without it a chat that hangs would hang the suite.
const ANSWER_MAX: Duration = Duration::from_secs(20);
/// Ten times the second that a start after a crash may take, for machines that do other things.
const RECOVERY_MAX: Duration = Duration::from_secs(10);
