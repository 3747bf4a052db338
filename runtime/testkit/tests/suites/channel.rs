//! What can a channel's component do to the daemon, and what can a stranger do to the channel? Each refusal has a twin that is
//! let in and differs in one thing.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use chitin_host::channel::{Backoff, ChannelConfig, ChannelParts, Channels};
use chitin_package::{ChannelAsk, Manifest};
use chitin_policy::{Defaults, FsGrant, Grant, Grants};
use chitin_ports::{
    Audit, ChannelDoor, ChannelError, ChannelSource, ChannelState, ChannelTool, Clock, HttpIn, HttpOut, Ids, Inbound,
    Inbox, Letter, Outbound, PortError, Secrets, Waiting,
};
use chitin_testkit::hosting::{Kit, everything};
use chitin_types::{CallId, FsMode, Secret, SessionId, ToolName, TurnId};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::sync::Notify;

const ROGUE: &str = "chitin_rogue.wasm";
const NOW_S: u64 = 1_700_000_000;
const KEY: &str = "top secret";

/// A channel `desk` around the rogue guest.
struct Scene {
    kit: Kit,
    channels: Arc<Channels>,
    source: Arc<Source>,
    inbox: Arc<Memory>,
    wake: Arc<Notify>,
}

struct Source(Mutex<ChannelTool>);

#[async_trait]
impl ChannelSource for Source {
    async fn channel(&self, _tool: &ToolName) -> Result<ChannelTool, PortError> {
        Ok(self.0.lock().expect("nobody panicked with it").clone())
    }
}

#[derive(Default)]
struct Memory {
    messages: Mutex<Vec<(String, Inbound)>>,
    seen: Mutex<BTreeSet<(String, String)>>,
    cursor: Mutex<Option<String>>,
}

#[async_trait]
impl Inbox for Memory {
    async fn emit(&self, channel: &str, messages: &[Inbound], cursor: Option<&str>) -> Result<usize, PortError> {
        let mut new = 0;
        for message in messages {
            if self.seen.lock().expect("nobody panicked with it").insert((channel.to_owned(), message.id.clone())) {
                self.messages.lock().expect("nobody panicked with it").push((channel.to_owned(), message.clone()));
                new += 1;
            }
        }
        if let Some(cursor) = cursor {
            *self.cursor.lock().expect("nobody panicked with it") = Some(cursor.to_owned());
        }
        Ok(new)
    }
    async fn cursor(&self, _channel: &str) -> Result<Option<String>, PortError> {
        Ok(self.cursor.lock().expect("nobody panicked with it").clone())
    }
    async fn waiting(&self, _max: usize) -> Result<Vec<Waiting>, PortError> {
        Ok(vec![])
    }
    async fn answer(&self, _number: i64, _text: &str) -> Result<(), PortError> {
        Ok(())
    }
    async fn undelivered(&self, _max: usize) -> Result<Vec<Letter>, PortError> {
        Ok(vec![])
    }
    async fn attempt_failed(&self, _number: i64) -> Result<(), PortError> {
        Ok(())
    }
    async fn delivered(&self, _number: i64, _receipt: Option<&str>) -> Result<(), PortError> {
        Ok(())
    }
}

struct OneSecret;

#[async_trait]
impl Secrets for OneSecret {
    async fn reveal(&self, name: &str) -> Result<Option<Secret>, PortError> {
        Ok((name == "desk").then(|| Secret::new(KEY)))
    }
    async fn set(&self, _name: &str, _secret: &Secret) -> Result<(), PortError> {
        Ok(())
    }
    async fn remove(&self, _name: &str) -> Result<bool, PortError> {
        Ok(false)
    }
    async fn names(&self) -> Result<Vec<(String, u64)>, PortError> {
        Ok(vec![])
    }
}

struct Fixed;

impl Clock for Fixed {
    fn now_ms(&self) -> u64 {
        NOW_S * 1_000
    }
}

#[derive(Default)]
struct Counting(AtomicU64);

impl Ids for Counting {
    fn session(&self) -> SessionId {
        SessionId::parse("test-session").expect("an id")
    }
    fn turn(&self) -> TurnId {
        TurnId::parse("test-turn").expect("an id")
    }
    fn call(&self) -> CallId {
        CallId::parse(format!("callback-{}", self.0.fetch_add(1, Ordering::SeqCst))).expect("an id")
    }
}

fn ask() -> ChannelAsk {
    let path = chitin_testkit::guests::repository().join("runtime/testkit/guests/rogue/component.toml");
    let text = std::fs::read_to_string(path).expect("the manifest");
    Manifest::parse("component.toml", &text).expect("it is good").channel.expect("it is a channel")
}

fn tool(kit: &Kit, change: impl FnOnce(&mut Grant)) -> ChannelTool {
    let mut grant = Grant::nothing(ToolName::parse("test/rogue").expect("a name"), kit.component);
    grant.limits.wall_ms = 2_000;
    grant.limits.cpu_ms = 1_000;
    change(&mut grant);
    let grants = Arc::new(Grants::intersect(everything(), grant, everything(), &Defaults::default()));
    ChannelTool { component: kit.component, grants, ask: ask() }
}

impl Scene {
    fn new(secret: Option<&str>) -> Self {
        Self::with(secret, |_| {})
    }

    fn with(secret: Option<&str>, change: impl FnOnce(&mut Grant)) -> Self {
        let kit = Kit::new(ROGUE);
        let source = Arc::new(Source(Mutex::new(tool(&kit, change))));
        let (inbox, wake) = (Arc::new(Memory::default()), Arc::new(Notify::new()));
        let parts = ChannelParts {
            host: Arc::clone(&kit.host),
            source: source.clone(),
            inbox: inbox.clone(),
            secrets: Arc::new(OneSecret),
            audit: Arc::clone(&kit.audit) as Arc<dyn Audit>,
            clock: Arc::new(Fixed),
            ids: Arc::new(Counting::default()),
            wake: Arc::clone(&wake),
        };
        let tool = ToolName::parse("test/rogue").expect("a name");
        let config = ChannelConfig { name: "desk".to_owned(), tool, secret: secret.map(str::to_owned) };
        let backoff = Backoff { first_ms: 200, max_ms: 800, healthy_ms: 60_000 };
        let channels = Channels::start_with(parts, vec![config], backoff).expect("channels start");
        Self { kit, channels, source, inbox, wake }
    }

    async fn post(&self, deed: Value) -> Result<HttpOut, ChannelError> {
        self.channels.on_http("desk", signed(&deed.to_string(), NOW_S)).await
    }

    async fn answer(&self, deed: Value) -> Value {
        let reply = self.post(deed).await.expect("it answers");
        serde_json::from_slice(&reply.body).expect("the rogue answers in JSON")
    }

    fn state(&self) -> ChannelState {
        self.channels.status()[0].state
    }

    async fn until(&self, what: &str, is: impl Fn(&Self) -> bool) {
        for _ in 0..3_000 {
            if is(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{what} did not come: {:?}", self.channels.status());
    }

    fn verdicts(&self) -> Vec<String> {
        self.kit.audit.entries().into_iter().map(|e| e.rule.unwrap_or(e.verdict)).collect()
    }
}

fn signed(body: &str, time_s: u64) -> HttpIn {
    let mut mac = Hmac::<Sha256>::new_from_slice(KEY.as_bytes()).expect("any key");
    mac.update(format!("{time_s}.{body}").as_bytes());
    let signature = hex::encode(mac.finalize().into_bytes());
    let headers = [
        ("x-chitin-signature", format!("sha256={signature}")),
        ("x-chitin-timestamp", time_s.to_string()),
        ("authorization", "Bearer of-somebody".to_owned()),
        ("x-request-id", "7".to_owned()),
    ];
    HttpIn {
        route: "in".to_owned(),
        method: "POST".to_owned(),
        path: "/webhook/desk".to_owned(),
        query: None,
        headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        body: body.as_bytes().to_vec(),
    }
}

#[tokio::test]
async fn a_signed_message_is_in_the_inbox_before_its_sender_hears_of_it() {
    let scene = Scene::new(Some("desk"));
    let reply = scene.post(json!({"do": "emit", "id": "m-1", "text": "hello"})).await.expect("it is taken");
    assert_eq!(reply.status, 202);
    let kept = scene.inbox.messages.lock().expect("nobody panicked with it").clone();
    assert_eq!((kept[0].0.as_str(), kept[0].1.id.as_str(), kept[0].1.text.as_str()), ("desk", "m-1", "hello"));
    tokio::time::timeout(Duration::from_secs(1), scene.wake.notified()).await.expect("somebody is woken");
}

#[tokio::test]
async fn a_request_by_a_stranger_has_no_effect_and_is_in_the_audit() {
    let scene = Scene::new(Some("desk"));
    let body = json!({"do": "emit", "id": "m-1", "text": "hello"}).to_string();
    let check = async |change: fn(&mut HttpIn), expected: ChannelError, rule: &str| {
        let mut request = signed(&body, NOW_S);
        change(&mut request);
        assert_eq!(scene.channels.on_http("desk", request).await, Err(expected), "{rule}");
        assert!(scene.inbox.messages.lock().expect("nobody panicked with it").is_empty(), "{rule} had an effect");
        assert!(scene.verdicts().iter().any(|seen| seen == rule), "{rule}: {:?}", scene.verdicts());
    };
    check(|r| r.body.push(b' '), ChannelError::BadSignature, "webhook:signature").await;
    check(|r| r.headers.clear(), ChannelError::BadSignature, "webhook:signature").await;
    check(|r| r.method = "GET".to_owned(), ChannelError::NoRoute, "webhook:route").await;
    check(|r| *r = signed("{}", NOW_S - 301), ChannelError::Replay, "webhook:replay").await;
    check(|r| r.body = vec![0; 65_537], ChannelError::TooLarge { bytes_max: 65_536 }, "webhook:size").await;
    assert_eq!(scene.channels.on_http("desks", signed(&body, NOW_S)).await, Err(ChannelError::NoRoute));
    assert_eq!(scene.channels.on_http("desk", signed(&body, NOW_S)).await.expect("the twin").status, 202);
    assert_eq!(scene.channels.on_http("desk", signed(&body, NOW_S)).await, Err(ChannelError::Replay));
    assert_eq!(scene.inbox.messages.lock().expect("nobody panicked with it").len(), 1);
}

#[tokio::test]
async fn a_request_that_was_not_taken_may_come_again_as_it_is() {
    let scene = Scene::new(Some("desk"));
    let deed = json!({"do": "status", "status": 503});
    assert_eq!(scene.post(deed.clone()).await.expect("it answers").status, 503);
    assert_eq!(scene.post(deed).await.expect("it is no replay").status, 503);
}

#[tokio::test]
async fn the_instance_stays_warm_and_sees_no_credentials() {
    let scene = Scene::new(Some("desk"));
    let first = scene.answer(json!({"do": "count", "n": 1})).await;
    let second = scene.answer(json!({"do": "count", "n": 2})).await;
    assert_eq!((first, second), (json!(1), json!(2)));
    assert_eq!(scene.answer(json!({"do": "headers"})).await, json!([["x-request-id", "7"]]));
}

#[tokio::test]
async fn a_component_cannot_speak_for_another_channel() {
    let scene = Scene::new(Some("desk"));
    scene.post(json!({"do": "emit-spoof", "id": "m-1", "channel": "owner"})).await.expect("it answers");
    let kept = scene.inbox.messages.lock().expect("nobody panicked with it").clone();
    assert_eq!(kept.iter().map(|(channel, _)| channel.as_str()).collect::<Vec<_>>(), ["desk"]);
}

#[tokio::test]
async fn what_cannot_be_emitted_is_told_to_the_guest() {
    let scene = Scene::new(Some("desk"));
    for (deed, code) in [
        (json!({"do": "emit-many", "count": 101}), "bad-message"),
        (json!({"do": "emit", "id": "", "text": "x"}), "bad-message"),
        (json!({"do": "cursor", "cursor": "{"}), "bad-message"),
        (json!({"do": "answer"}), "no-such-approval"),
        (json!({"do": "socket"}), "request-sockets"),
    ] {
        assert_eq!(scene.answer(deed.clone()).await["error"]["code"], code, "{deed}");
    }
    assert!(scene.inbox.messages.lock().expect("nobody panicked with it").is_empty());
    scene.post(json!({"do": "emit-many", "count": 100})).await.expect("the twin");
    assert_eq!(scene.inbox.messages.lock().expect("nobody panicked with it").len(), 100);
}

#[tokio::test]
async fn answers_to_requests_are_bounded() {
    let scene = Scene::new(Some("desk"));
    for deed in [json!({"do": "status", "status": 99}), json!({"do": "big", "bytes": 262_145})] {
        assert!(matches!(scene.post(deed.clone()).await, Err(ChannelError::Refused(_))), "{deed}");
    }
    assert_eq!(scene.post(json!({"do": "big", "bytes": 262_144})).await.expect("the twin").body.len(), 262_144);
    assert_eq!(scene.post(json!({"do": "html"})).await.expect("it answers").headers, vec![]);
    assert_eq!(scene.state(), ChannelState::Running);
}

#[tokio::test]
async fn a_component_that_breaks_is_backed_off_and_comes_back_and_nothing_is_lost() {
    for deed in ["trap", "loop", "grow"] {
        let scene = Scene::new(Some("desk"));
        let broke = scene.post(json!({"do": deed})).await;
        assert!(matches!(broke, Err(ChannelError::NotReady { retry_after_ms: 200, .. })), "{deed}: {broke:?}");
        assert!(matches!(scene.state(), ChannelState::BackedOff { .. }), "{deed}: {:?}", scene.state());
        let emit = json!({"do": "emit", "id": "m-1", "text": "hello"});
        assert!(matches!(scene.post(emit.clone()).await, Err(ChannelError::NotReady { .. })), "{deed}");
        scene.until("the next start", |scene| scene.state() == ChannelState::Running).await;
        assert_eq!(scene.post(emit).await.expect("it runs again").status, 202, "{deed}");
        let status = &scene.channels.status()[0];
        assert_eq!(status.restarts, 1, "{deed}");
        assert!(status.last_error.is_some(), "{deed}");
        for verdict in ["started", "broke", "backed-off"] {
            assert!(scene.verdicts().iter().any(|seen| seen == verdict), "{deed}: {verdict}");
        }
    }
}

#[tokio::test]
async fn what_was_emitted_before_a_trap_is_kept() {
    let scene = Scene::new(Some("desk"));
    scene.post(json!({"do": "emit-then-trap", "id": "m-1"})).await.expect_err("it traps");
    assert_eq!(scene.inbox.messages.lock().expect("nobody panicked with it").len(), 1);
}

#[tokio::test]
async fn printing_for_days_breaks_nothing() {
    let scene = Scene::new(Some("desk"));
    for round in 0..4 {
        let printed = scene.post(json!({"do": "print", "bytes": 50_000, "round": round})).await;
        assert_eq!(printed.expect("it prints").status, 200);
    }
    assert_eq!(scene.answer(json!({"do": "count"})).await, json!(5), "it is still the same instance");
}

#[tokio::test]
async fn answers_are_sent_and_a_no_is_told_from_a_later() {
    let scene = Scene::new(Some("desk"));
    let send = async |text: &str| {
        let message = Outbound {
            target: "room".to_owned(),
            thread: None,
            text: text.to_owned(),
            in_reply_to: Some("m-1".to_owned()),
        };
        scene.channels.send("desk", message).await
    };
    assert_eq!(send("hello").await, Ok("r-m-1".to_owned()));
    assert_eq!(send("refuse").await, Err(ChannelError::Refused("the platform knows no such room".to_owned())));
    let later = ChannelError::NotReady { reason: "the platform is down".to_owned(), retry_after_ms: 1_234 };
    assert_eq!(send("later").await, Err(later));
    assert_eq!(scene.state(), ChannelState::Running, "a no breaks nothing");
    assert!(matches!(send("trap").await, Err(ChannelError::NotReady { .. })));
}

#[tokio::test]
async fn ticks_come_with_the_cursor_that_was_kept_last() {
    let scene = Scene::new(Some("desk"));
    scene
        .until("the third tick", |scene| {
            scene.inbox.cursor.lock().expect("nobody panicked with it").as_deref() == Some("3")
        })
        .await;
}

#[tokio::test]
async fn without_its_secret_a_channel_stands_still_and_says_so() {
    for secret in [None, Some("another")] {
        let scene = Scene::new(secret);
        scene.until("a reason", |scene| scene.channels.status()[0].last_error.is_some()).await;
        assert_eq!(scene.state(), ChannelState::Stopped);
        let refused = scene.post(json!({"do": "emit", "id": "m-1", "text": "x"})).await;
        assert!(
            matches!(&refused, Err(ChannelError::NotReady { reason, .. }) if !reason.contains("secret")),
            "{refused:?}"
        );
        assert!(scene.inbox.messages.lock().expect("nobody panicked with it").is_empty());
    }
}

#[tokio::test]
async fn a_start_that_fails_is_tried_again_with_longer_waits() {
    for word in ["trap", "refuse", "loop"] {
        let mounted = |grant: &mut Grant| {
            grant.fs.push(FsGrant {
                at: "/workspace".to_owned(),
                from: "workspace:default".to_owned(),
                mode: FsMode::Ro,
            });
        };
        let scene = Scene::with(Some("desk"), mounted);
        scene.until("the first start", |scene| scene.state() == ChannelState::Running).await;
        std::fs::write(scene.kit.workspace.join("start"), word).expect("a file");
        scene.post(json!({"do": "trap"})).await.expect_err("it traps");
        scene
            .until("a failed start", |scene| {
                scene.channels.status()[0].last_error.as_deref().is_some_and(|e| e.contains("does not start"))
            })
            .await;
        std::fs::remove_file(scene.kit.workspace.join("start")).expect("the file was there");
        scene.until("the next start", |scene| scene.state() == ChannelState::Running).await;
    }
}

#[tokio::test]
async fn another_grant_replaces_the_instance_before_the_next_callback() {
    let scene = Scene::new(Some("desk"));
    assert_eq!(scene.answer(json!({"do": "count", "n": 1})).await, json!(1));
    assert_eq!(scene.answer(json!({"do": "count", "n": 2})).await, json!(2));
    *scene.source.0.lock().expect("nobody panicked with it") = tool(&scene.kit, |grant| grant.limits.wall_ms = 3_000);
    assert_eq!(scene.answer(json!({"do": "count", "n": 3})).await, json!(1));
    assert_eq!(scene.channels.status()[0].restarts, 1);
}

#[tokio::test]
async fn a_shutdown_ends_a_callback_that_never_would() {
    let scene = Scene::with(Some("desk"), |grant| (grant.limits.wall_ms, grant.limits.cpu_ms) = (30_000, 30_000));
    scene.until("the first start", |scene| scene.state() == ChannelState::Running).await;
    let channels = Arc::clone(&scene.channels);
    let stuck = tokio::spawn(async move { channels.on_http("desk", signed(r#"{"do":"loop"}"#, NOW_S)).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    tokio::time::timeout(Duration::from_secs(10), scene.channels.shutdown()).await.expect("it ends");
    assert!(matches!(stuck.await.expect("no panic"), Err(ChannelError::NotReady { .. })));
}
