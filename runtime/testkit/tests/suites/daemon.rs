//! Does the daemon do what it promises, seen from outside? Real sockets, real components, a scripted model; bad input has
//! a clear status, no effect, and an entry in the audit, and its twin goes through.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use chitin_testkit::{
    chitin::Chitin,
    daemon::{Daemon, now_s, sign},
    daemon_story::{self, HOOK_SECRET, configure, replies_to, reply_to},
    guests::artifact,
    model::{self, Say},
    server::{Reply, Server},
};
use serde_json::{Value, json};

fn silent(_: &str) {}

/// A home with a webhook and a model that repeats what it was told.
struct World {
    chitin: Chitin,
    model: Server,
    replies: Server,
}

impl World {
    async fn new() -> Self {
        let model = model::start(|messages| {
            let last = messages.last().and_then(|m| m["content"].as_str()).unwrap_or("").to_owned();
            let asked = last.rsplit("[/Memory context]").next().unwrap_or("").trim().to_owned();
            match asked.split_once(' ') {
                Some(("spin", _)) if messages.last().is_some_and(|m| m["role"] == "user") => {
                    Say::Call("probe__spin", json!({}))
                }
                Some(("shell", command)) if messages.last().is_some_and(|m| m["role"] == "user") => {
                    Say::Call("shell__run", json!({ "command": command }))
                }
                Some(("fetch", url)) if messages.last().is_some_and(|m| m["role"] == "user") => {
                    Say::Call("http__web_fetch", json!({ "url": url }))
                }
                _ => Say::Text(format!("you said: {asked}")),
            }
        })
        .await;
        let replies = Server::start(|_| Reply::ok("text/plain", "ok")).await;
        let chitin = Chitin::onboarded().await;
        configure(&chitin, &model, &replies, &silent).await.expect("the home is configured");
        Self { chitin, model, replies }
    }

    async fn audited(&self, rule: &str) -> bool {
        let ran = self.chitin.run(&["--json", "audit", "tail", "-n", "200"]).await;
        ran.json()["records"].as_array().is_some_and(|all| all.iter().any(|r| r["rule"] == rule))
    }

    async fn adopt_probe(&self) {
        for line in [
            "chitin key new test".to_owned(),
            format!("chitin key export test --names 'test/*' --out {}", self.chitin.outside().join("t.toml").display()),
            format!("chitin -y key trust {}", self.chitin.outside().join("t.toml").display()),
        ] {
            let ran = self.chitin.run_line(&line).await;
            assert_eq!(ran.code, 0, "{line}: {ran:?}");
        }
        let copy = self.chitin.outside().join("probe.wasm");
        std::fs::copy(artifact("chitin_probe.wasm"), &copy).expect("a copy");
        let copy = copy.display();
        let line = format!("chitin -y tool adopt {copy} --name test/probe --key test");
        let ran = self.chitin.run_line(&line).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        let ran = self.chitin.run(&["tool", "grant", "test/probe"]).await;
        assert_eq!(ran.code, 0, "{ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_webhook_is_answered_once_across_a_kill() {
    let so_far = Mutex::new(String::new());
    let tell = |line: &str| {
        let mut text = so_far.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str(line);
        text.push('\n');
    };
    let nonce = format!("n{}x{}", std::process::id(), now_s());
    let told = daemon_story::whole(&nonce, &tell).await;
    let so_far = so_far.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Err(error) = told {
        panic!("{error:#}\n\nthe story so far:\n{so_far}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bad_webhooks_have_a_status_and_no_effect() {
    let world = World::new().await;
    let daemon = Daemon::start(&world.chitin).await;
    let body = |id: &str| json!({ "id": id, "from": "alice", "text": "hello" });
    let good = body("w0").to_string();
    let time = now_s().to_string();
    let signature = sign(HOOK_SECRET, &time, good.as_bytes());
    let old = (now_s() - 3_600).to_string();
    let stale = sign(HOOK_SECRET, &old, good.as_bytes());
    let wrong = sign("another secret", &time, good.as_bytes());
    let huge = "x".repeat(400 * 1024);
    let huge_signature = sign(HOOK_SECRET, &time, huge.as_bytes());
    let post = async |path: &str, time: &str, signature: &str, body: &str| {
        let headers = [("x-chitin-timestamp", time), ("x-chitin-signature", signature)];
        daemon.send("POST", path, &headers, body.as_bytes()).await.status
    };
    assert_eq!(post("/webhook/hook", &time, &wrong, &good).await, 401, "a wrong signature");
    assert_eq!(post("/webhook/hook", &time, "", &good).await, 401, "no signature");
    assert_eq!(post("/webhook/hook", &time, &signature, &good.replace("hello", "help!")).await, 401, "another body");
    assert_eq!(post("/webhook/hook", &old, &stale, &good).await, 409, "an old request");
    assert_eq!(post("/webhook/hook", &time, &huge_signature, &huge).await, 413, "a huge body");
    assert_eq!(post("/webhook/none", &time, &signature, &good).await, 404, "an unknown channel");
    let not_json = "{";
    let signed = sign(HOOK_SECRET, &time, not_json.as_bytes());
    assert_eq!(post("/webhook/hook", &time, &signed, not_json).await, 400, "no JSON");
    assert!(world.model.seen().is_empty(), "a refused webhook reached the model");
    // The twin, and then the same bytes once more.
    assert_eq!(post("/webhook/hook", &time, &signature, &good).await, 202);
    assert_eq!(post("/webhook/hook", &time, &signature, &good).await, 409, "a replay");
    reply_to(&world.replies, "w0").await.expect("the twin is answered");
    assert!(daemon.stop().await == Some(0));
    for rule in ["webhook:signature", "webhook:replay"] {
        assert!(world.audited(rule).await, "{rule} is not in the audit");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_unknown_sender_is_not_answered() {
    // runs: chitin config set
    // runs: chitin config check
    let world = World::new().await;
    let daemon = Daemon::start(&world.chitin).await;
    let from = |id: &str, who: &str| json!({ "id": id, "from": who, "text": "hello" });
    assert_eq!(daemon.webhook("hook", HOOK_SECRET, now_s(), &from("u1", "mallory")).await.status, 202);
    assert_eq!(daemon.webhook("hook", HOOK_SECRET, now_s(), &from("u2", "alice")).await.status, 202);
    reply_to(&world.replies, "u2").await.expect("alice is answered");
    assert!(replies_to(&world.replies, "u1").is_empty());
    assert_eq!(world.model.seen().len(), 1, "the model saw the unknown sender");
    assert!(world.audited("channel:sender").await);
    // Allowed without a restart.
    let ran = world.chitin.run(&["config", "set", "channels.hook.allow", "[\"alice\", \"mallory\"]"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(daemon.webhook("hook", HOOK_SECRET, now_s(), &from("u3", "mallory")).await.status, 202);
    reply_to(&world.replies, "u3").await.expect("mallory is answered now");
    assert!(daemon.stop().await == Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_is_answered_without_the_token() {
    let world = World::new().await;
    let daemon = Daemon::start(&world.chitin).await;
    let body = json!({ "message": "hello" }).to_string();
    let bearer = format!("Bearer {}", daemon.token);
    let post =
        async |headers: &[(&str, &str)], path: &str| daemon.send("POST", path, headers, body.as_bytes()).await.status;
    let json = ("content-type", "application/json");
    assert_eq!(post(&[json], "/api/chat").await, 401, "no token");
    assert_eq!(post(&[json, ("authorization", "Bearer chitin_00")], "/api/chat").await, 401, "a wrong token");
    assert_eq!(post(&[json, ("authorization", &bearer.to_uppercase())], "/api/chat").await, 401, "another case");
    assert_eq!(post(&[json], &format!("/api/chat?token={}", daemon.token)).await, 400, "a token in the query");
    let foreign = [json, ("authorization", bearer.as_str()), ("origin", "https://evil.test")];
    assert_eq!(post(&foreign, "/api/chat").await, 403, "a foreign origin");
    let host = [json, ("authorization", bearer.as_str()), ("host", "evil.test")];
    assert_eq!(post(&host, "/api/chat").await, 403, "a foreign host");
    assert!(world.model.seen().is_empty(), "a refused request reached the model");
    assert_eq!(post(&[json, ("authorization", &bearer)], "/api/chat").await, 200);
    assert_eq!(daemon.send("GET", "/healthz", &[], b"").await.status, 200);
    assert_eq!(daemon.send("GET", "/metrics", &[], b"").await.status, 401);
    assert_eq!(daemon.get("/metrics").await.status, 200);
    // A new token: the old one stops working at once.
    let ran = world.chitin.run(&["-y", "onboard", "--new-token"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(post(&[json, ("authorization", &bearer)], "/api/chat").await, 401, "a revoked token");
    assert!(world.audited("gateway:token").await && world.audited("gateway:origin").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_person_answers_from_another_terminal() {
    // runs: chitin approve list
    // runs: chitin approve allow
    // runs: chitin approve deny
    let world = World::new().await;
    let grant = world.chitin.home().join("policies/chitin__shell.toml");
    let text = std::fs::read_to_string(&grant).expect("the grant");
    std::fs::write(&grant, text.replace("ask = \"never\"", "ask = \"each\"")).expect("the grant is written");
    let daemon = Daemon::start(&world.chitin).await;
    for (word, file, there) in [("deny", "denied.txt", false), ("allow", "allowed.txt", true)] {
        let command = format!("shell touch /workspace/{file}");
        let asked = async { daemon.chat(&command).await };
        let answered = async {
            let mut id = String::new();
            for _ in 0..500 {
                let ran = world.chitin.run(&["--json", "approve", "list"]).await;
                if let Some(first) = ran.json()["approvals"].get(0) {
                    assert!(first["arguments"].as_str().is_some_and(|a| a.contains(file)), "{first}");
                    id = first["id"].as_str().expect("an id").to_owned();
                    break;
                }
            }
            let ran = world.chitin.run(&["approve", word, &id]).await;
            assert_eq!(ran.code, 0, "{ran:?}");
            // An answer counts once.
            assert_ne!(world.chitin.run(&["approve", word, &id]).await.code, 0);
        };
        tokio::join!(asked, answered);
        assert_eq!(world.chitin.workspace().join(file).exists(), there, "{word}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn policies_reload_and_a_broken_one_keeps_the_last_good() {
    let world = World::new().await;
    let page = Server::start(|_| Reply::ok("text/plain", "the page")).await;
    let daemon = Daemon::start(&world.chitin).await;
    let ask = format!("fetch {}/x", page.origin());
    daemon.chat(&ask).await;
    assert_eq!(page.connections(), 0, "nothing is granted yet");
    let ran = world.chitin.run(&["tool", "grant", "chitin/http", "net", &page.origin()]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    daemon.chat(&ask).await;
    assert_eq!(page.seen().len(), 1, "the grant holds without a restart");
    let grant = world.chitin.home().join("policies/chitin__http.toml");
    let good = std::fs::read_to_string(&grant).expect("the grant");
    std::fs::write(&grant, good.clone() + "\nsurprise = 1\n").expect("written");
    daemon.chat(&ask).await;
    assert_eq!(page.seen().len(), 2, "the last good grant stays in force");
    let status = world.chitin.run(&["status"]).await;
    assert!(status.out.contains("surprise") || status.out.contains("chitin__http.toml"), "{status:?}");
    std::fs::remove_file(&grant).expect("removed");
    daemon.chat(&ask).await;
    assert_eq!(page.seen().len(), 2, "a removed grant is a revocation");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn endless_loops_do_not_stop_the_others() {
    let world = World::new().await;
    world.adopt_probe().await;
    let daemon = Daemon::start(&world.chitin).await;
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let spin = async |session: usize| {
        let began = Instant::now();
        let body = json!({ "message": "spin now", "session": format!("s{session}") });
        let answer = daemon.post("/api/chat", &body).await;
        (answer.status, answer.body, began.elapsed())
    };
    let loops = futures::future::join_all((0..cores * 2).map(spin));
    let others = async {
        tokio::time::sleep(Duration::from_millis(1_000)).await;
        let mut slowest = Duration::ZERO;
        for _ in 0..5 {
            let began = Instant::now();
            assert_eq!(daemon.chat("hello").await, "you said: hello");
            slowest = slowest.max(began.elapsed());
        }
        slowest
    };
    let (ended, slowest) = tokio::join!(loops, others);
    println!("with {} loops running, /api/chat answered in at most {slowest:?}", cores * 2);
    assert!(slowest < Duration::from_secs(3), "the others waited {slowest:?}");
    for (status, body, took) in ended {
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("processor time") || body.contains("wall time"), "{body}");
        assert!(took < Duration::from_secs(60), "a loop ran for {took:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_channel_that_traps_backs_off_and_the_daemon_lives() {
    let world = World::new().await;
    for line in [
        "chitin key new test".to_owned(),
        format!("chitin key export test --names 'test/*' --out {}", world.chitin.outside().join("t.toml").display()),
        format!("chitin -y key trust {}", world.chitin.outside().join("t.toml").display()),
    ] {
        let ran = world.chitin.run_line(&line).await;
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
    }
    let copy = world.chitin.outside().join("chitin_rogue.wasm");
    std::fs::copy(artifact("chitin_rogue.wasm"), &copy).expect("a copy");
    let manifest = chitin_testkit::guests::repository().join("runtime/testkit/guests/rogue/component.toml");
    let copy = copy.display().to_string();
    let manifest = manifest.display().to_string();
    let ran = world.chitin.run(&["tool", "sign", &copy, "--manifest", &manifest, "--key", "test"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = world.chitin.run(&["-y", "tool", "install", &copy]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    for args in [
        vec!["tool", "grant", "test/rogue"],
        vec!["config", "set", "channels.wild.tool", "test/rogue"],
        vec!["config", "set", "channels.wild.secret", "hook"],
        vec!["config", "set", "channels.wild.allow", "[\"alice\"]"],
    ] {
        let ran = world.chitin.run(&args).await;
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    }
    let daemon = Daemon::start(&world.chitin).await;
    let calm = daemon.webhook("wild", HOOK_SECRET, now_s(), &json!({ "do": "count" })).await;
    assert!(calm.status < 300, "{calm:?}");
    let trap = daemon.webhook("wild", HOOK_SECRET, now_s(), &json!({ "do": "trap" })).await;
    assert_eq!(trap.status, 503, "{trap:?}");
    let status = world.chitin.run(&["--json", "status"]).await.json();
    let wild = status["channels"].as_array().and_then(|all| all.iter().find(|c| c["name"] == "wild").cloned());
    let wild = wild.expect("the channel is listed");
    assert!(wild["state"].as_str().is_some_and(|s| s.contains("backed off")), "{wild}");
    assert!(wild["last_error"].as_str().is_some_and(|e| !e.is_empty()), "{wild}");
    // The others go on, and the channel comes back.
    let hello = json!({ "id": "t1", "from": "alice", "text": "hello" });
    assert_eq!(daemon.webhook("hook", HOOK_SECRET, now_s(), &hello).await.status, 202);
    reply_to(&world.replies, "t1").await.expect("the other channel answers");
    let mut back = Value::Null;
    for _ in 0..200 {
        back = world.chitin.run(&["--json", "status"]).await.json();
        if back["channels"].as_array().is_some_and(|all| all.iter().all(|c| c["state"] == "running")) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(back["channels"].as_array().is_some_and(|all| all.iter().all(|c| c["state"] == "running")), "{back}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_chat_goes_through_the_daemon_when_one_runs() {
    // runs: chitin daemon
    // runs: chitin status
    let world = World::new().await;
    let daemon = Daemon::start(&world.chitin).await;
    let turns = async || {
        let text = daemon.get("/metrics").await.body;
        let line = text.lines().find(|l| l.starts_with("chitin_turns_total")).unwrap_or("").to_owned();
        line.split_whitespace().last().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0)
    };
    let before = turns().await;
    let ran = world.chitin.run(&["chat", "-m", "hello from here"]).await;
    assert_eq!((ran.code, ran.out.trim()), (0, "you said: hello from here"), "{ran:?}");
    assert!(turns().await > before, "the daemon did not see the message");
    assert_eq!(daemon.stop().await, Some(0));
    let ran = world.chitin.run(&["chat", "-m", "hello again"]).await;
    assert_eq!(ran.out.trim(), "you said: hello again", "{ran:?}");
    let ran = world.chitin.run(&["status"]).await;
    assert_eq!(ran.code, 8, "{ran:?}");
    assert_eq!(ran.offered(), ["chitin daemon"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_daemons_do_not_share_a_home() {
    let chitin = Chitin::onboarded().await;
    let mut daemon = Daemon::start(&chitin).await;
    let ran = chitin.run(&["daemon", "--listen", "127.0.0.1:0"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("runs for this home already"), "{ran:?}");
    assert!(daemon.is_alive());
}
