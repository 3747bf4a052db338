//! What can a component do with a grant, and what without? Each refusal has a twin that differs in one line of the grant.

use std::time::{Duration, Instant};

use chitin_policy::{FsGrant, Grant, HttpGrant};
use chitin_testkit::{
    hosting::Kit,
    server::{Reply, Server},
};
use chitin_types::{FsMode, HostPattern, Part, PathPattern, Scheme, ToolOutcome};
use serde_json::{Value, json};

const PROBE: &str = "chitin_probe.wasm";

fn data(outcome: &ToolOutcome) -> Value {
    match outcome {
        ToolOutcome::Done(parts) => match parts.first() {
            Some(Part::Data(value)) => value.clone(),
            Some(Part::Text(text)) => Value::String(text.clone()),
            other => panic!("no part to look at: {other:?}"),
        },
        other => panic!("the probe did not answer: {other:?}"),
    }
}

fn with_workspace(mut grant: Grant, mode: FsMode) -> Grant {
    grant.fs.push(FsGrant { at: "/workspace".to_owned(), from: "workspace:default".to_owned(), mode });
    grant
}

fn with_server(mut grant: Grant, port: u16, method: &str) -> Grant {
    grant.http.push(HttpGrant {
        id: "server".to_owned(),
        host: HostPattern::parse("127.0.0.1").expect("a host"),
        scheme: vec![Scheme::Http],
        ports: vec![port],
        methods: vec![method.to_owned()],
        paths: vec![PathPattern::parse("/**").expect("a pattern")],
        secret: None,
        inject: None,
    });
    grant
}

fn limited(outcome: &ToolOutcome, by: &str) {
    assert!(matches!(outcome, ToolOutcome::Limited(limit) if limit.starts_with(by)), "{by}: {outcome:?}");
}

#[tokio::test]
async fn a_call_goes_in_and_an_answer_comes_out() {
    let kit = Kit::new(PROBE);
    let outcome = kit.call(&kit.grant(), "echo", json!({"text": "hello"})).await;
    assert!(outcome.text_for_model().contains("hello"), "{outcome:?}");
}

#[tokio::test]
async fn files_are_written_only_below_a_root_granted_for_writing() {
    let kit = Kit::new(PROBE);
    let args = json!({"path": "/workspace/canary.txt", "text": "written"});
    let canary = kit.workspace.join("canary.txt");
    let nothing = kit.call(&kit.grant(), "open_write", args.clone()).await;
    assert!(!canary.exists(), "written without a grant: {nothing:?}");
    let read_only = kit.call(&with_workspace(kit.grant(), FsMode::Ro), "open_write", args.clone()).await;
    assert!(!canary.exists(), "written under a read-only grant: {read_only:?}");
    let denials = kit.audit.entries().into_iter().filter(|e| e.verdict == "deny").count();
    assert_eq!(denials, 2, "each refusal is in the audit: {:?}", kit.audit.entries());
    let allowed = kit.call(&with_workspace(kit.grant(), FsMode::Rw), "open_write", args).await;
    assert_eq!(std::fs::read_to_string(&canary).expect("the twin writes"), "written", "{allowed:?}");
    let effect = kit.audit.entries().into_iter().find(|e| e.rule.as_deref() == Some("fs:/workspace"));
    assert_eq!(effect.expect("the write is in the audit").detail["path"], "/workspace/canary.txt");
}

#[tokio::test]
async fn a_write_that_cannot_be_written_down_does_not_happen() {
    let kit = Kit::new(PROBE);
    let args = json!({"path": "/workspace/canary.txt", "text": "written"});
    let grant = with_workspace(kit.grant(), FsMode::Rw);
    kit.audit.broken.store(true, std::sync::atomic::Ordering::SeqCst);
    kit.call(&grant, "open_write", args.clone()).await;
    assert!(!kit.workspace.join("canary.txt").exists());
    kit.audit.broken.store(false, std::sync::atomic::Ordering::SeqCst);
    kit.call(&grant, "open_write", args).await;
    assert!(kit.workspace.join("canary.txt").exists());
}

#[tokio::test]
async fn nothing_outside_of_a_root_can_be_read() {
    let kit = Kit::new(PROBE);
    let outside = kit.workspace.parent().expect("a parent").join("secret.txt");
    std::fs::write(&outside, "top secret").expect("a file outside");
    std::fs::write(kit.workspace.join("inside.txt"), "plain").expect("a file inside");
    std::os::unix::fs::symlink(&outside, kit.workspace.join("link")).expect("a link out");
    std::os::unix::fs::symlink("..", kit.workspace.join("up")).expect("a link up");
    let grant = with_workspace(kit.grant(), FsMode::Ro);
    let host_path = outside.to_str().expect("a plain path").to_owned();
    for path in [
        "/workspace/../secret.txt",
        "/workspace/./../secret.txt",
        "/workspace/link",
        "/workspace/link/",
        "/workspace/up/secret.txt",
        "/workspace/sub/../../secret.txt",
        "../secret.txt",
        "/secret.txt",
        "/etc/passwd",
        "/proc/self/environ",
        "//etc/passwd",
        host_path.as_str(),
    ] {
        let outcome = kit.call(&grant, "open_read", json!({"path": path})).await;
        let text = format!("{outcome:?}");
        assert!(!text.contains("top secret") && !text.contains("root:"), "{path}: {text}");
    }
    let inside = kit.call(&grant, "open_read", json!({"path": "/workspace/inside.txt"})).await;
    assert!(inside.text_for_model().contains("plain"), "{inside:?}");
}

#[tokio::test]
async fn a_pipe_in_the_workspace_blocks_nobody() {
    let kit = Kit::new(PROBE);
    let made = std::process::Command::new("mkfifo").arg(kit.workspace.join("pipe")).status().expect("mkfifo runs");
    assert!(made.success());
    let grant = with_workspace(kit.grant(), FsMode::Rw);
    let began = Instant::now();
    let outcome = kit.call(&grant, "open_read", json!({"path": "/workspace/pipe"})).await;
    assert!(began.elapsed() < Duration::from_secs(5), "{outcome:?}");
    assert!(kit.audit.entries().iter().any(|e| e.rule.as_deref() == Some("fs:special")), "{outcome:?}");
    std::fs::write(kit.workspace.join("plain"), "text").expect("a file");
    let twin = kit.call(&grant, "open_read", json!({"path": "/workspace/plain"})).await;
    assert!(twin.text_for_model().contains("text"), "{twin:?}");
}

#[tokio::test]
async fn requests_reach_only_the_granted_host_port_method_and_path() {
    let server = Server::start(|_| Reply::ok("text/plain", "served")).await;
    let kit = Kit::new(PROBE);
    let get = |path: &str| json!({"method": "GET", "url": format!("{}{path}", server.origin())});
    kit.call(&kit.grant(), "fetch", get("/a")).await;
    kit.call(&with_server(kit.grant(), server.port() ^ 1, "GET"), "fetch", get("/a")).await;
    kit.call(&with_server(kit.grant(), server.port(), "POST"), "fetch", get("/a")).await;
    let mut narrow = with_server(kit.grant(), server.port(), "GET");
    narrow.http[0].paths = vec![PathPattern::parse("/b").expect("a pattern")];
    kit.call(&narrow, "fetch", get("/a")).await;
    assert_eq!(server.connections(), 0, "a refused request opened a connection");
    let denied = kit.audit.entries().iter().filter(|e| e.rule.as_deref() == Some("grant:http")).count();
    assert_eq!(denied, 4);
    let outcome = kit.call(&with_server(kit.grant(), server.port(), "GET"), "fetch", get("/a?q=1")).await;
    assert!(outcome.text_for_model().contains("served"), "{outcome:?}");
    let seen = server.seen();
    assert_eq!(seen.iter().map(|s| s.target.as_str()).collect::<Vec<_>>(), ["/a?q=1"]);
}

#[tokio::test]
async fn what_is_linked_and_not_granted_says_denied() {
    let kit = Kit::new(PROBE);
    for (function, args) in [
        ("use_secret", json!({"name": "github"})),
        ("remember", json!({"text": "x"})),
        ("subcall", json!({"alias": "search"})),
        ("schedule_add", json!({})),
        ("kv_get", json!({"key": "x"})),
    ] {
        let before = kit.audit.entries().len();
        let outcome = kit.call(&kit.grant(), function, args).await;
        let denied = kit.audit.entries()[before..].iter().any(|e| e.verdict == "deny");
        assert!(denied, "{function}: {outcome:?}");
    }
}

#[tokio::test]
async fn sockets_reach_nothing() {
    let server = Server::start(|_| Reply::ok("text/plain", "served")).await;
    let kit = Kit::new(PROBE);
    let outcome = kit.call(&kit.grant(), "socket", json!({"addr": format!("127.0.0.1:{}", server.port())})).await;
    assert_eq!(server.connections(), 0, "{outcome:?}");
    // The twin: the same listener is reachable from outside of the sandbox.
    tokio::net::TcpStream::connect(("127.0.0.1", server.port())).await.expect("the listener answers");
}

#[tokio::test]
async fn the_guest_sees_no_environment() {
    let kit = Kit::new(PROBE);
    let seen = data(&kit.call(&kit.grant(), "env", json!({})).await).to_string();
    assert!(!seen.contains("PATH") && !seen.contains("CARGO") && !seen.contains("/home"), "{seen}");
}

#[tokio::test]
async fn each_limit_bites_and_the_next_call_works() {
    let kit = Kit::new(PROBE);
    let mut small = kit.grant();
    small.limits.wall_ms = 300;
    small.limits.cpu_ms = 200;
    small.limits.memory_mib = 16;
    small.limits.output_kib = 4;
    small.limits.host_calls = 50;
    let began = Instant::now();
    limited(&kit.call(&small, "spin", json!({})).await, "processor time");
    let took = began.elapsed();
    println!("runaway guest with 200 ms of processor time ended after {} ms", took.as_millis());
    assert!(took < Duration::from_secs(2), "ten times the promise: {took:?}");
    limited(&kit.call(&small, "sleep", json!({"ms": 5_000})).await, "wall time");
    limited(&kit.call(&small, "eat_memory", json!({"mib": 64})).await, "memory");
    limited(&kit.call(&small, "recurse", json!({})).await, "stack");
    let many = json!({"n": 100});
    limited(&kit.call(&with_workspace(small.clone(), FsMode::Rw), "many_files", many.clone()).await, "host calls");
    limited(&kit.call(&small, "echo", json!({"text": "x".repeat(8 * 1024)})).await, "output");
    let ok = kit.call(&small, "echo", json!({"text": "still here"})).await;
    assert!(ok.is_done(), "{ok:?}");
    // The twins: with the usual limits the same work is done.
    for (function, args) in [
        ("eat_memory", json!({"mib": 32})),
        ("sleep", json!({"ms": 10})),
        ("echo", json!({"text": "x".repeat(8 * 1024)})),
    ] {
        let outcome = kit.call(&kit.grant(), function, args).await;
        assert!(outcome.is_done(), "{function}: {outcome:?}");
    }
    assert!(kit.call(&with_workspace(kit.grant(), FsMode::Rw), "many_files", many).await.is_done());
}

#[tokio::test]
async fn a_guest_that_breaks_is_one_clean_outcome() {
    let kit = Kit::new(PROBE);
    for (function, args, code) in
        [("panic", json!({}), "trap-unreachable"), ("exit", json!({"code": 3}), "exit-"), ("panic", json!({}), "trap")]
    {
        let outcome = kit.call(&kit.grant(), function, args).await;
        assert!(matches!(&outcome, ToolOutcome::Broke(got) if got.starts_with(code)), "{function}: {outcome:?}");
    }
    assert!(kit.call(&kit.grant(), "echo", json!({"text": "a"})).await.is_done());
}

#[tokio::test]
async fn a_stop_reaches_a_guest_that_computes_and_one_that_waits() {
    let kit = Kit::new(PROBE);
    for (function, args) in [("spin", json!({})), ("sleep", json!({"ms": 60_000}))] {
        let (stop, cancelled) = tokio::sync::watch::channel(false);
        let grant = kit.grant();
        let call = kit.call_cancellable(&grant, function, args, cancelled);
        let began = Instant::now();
        let (outcome, ()) = tokio::join!(call, async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            stop.send(true).expect("somebody listens");
        });
        assert_eq!(outcome, ToolOutcome::Cancelled, "{function}");
        println!("{function} stopped {} ms after the call began", began.elapsed().as_millis());
        assert!(began.elapsed() < Duration::from_secs(2), "{function}");
    }
}

#[tokio::test]
async fn a_permit_for_other_arguments_runs_nothing() {
    let kit = Kit::new(PROBE);
    let permit = kit.permit(
        &with_workspace(kit.grant(), FsMode::Rw),
        "open_write",
        &json!({"path": "/workspace/a", "text": "x"}),
    );
    let (_keep, cancelled) = tokio::sync::watch::channel(false);
    let call = chitin_ports::Invocation {
        tool: kit.grant().tool,
        component: kit.component,
        function: chitin_types::FunctionName::parse("open_write").expect("a name"),
        args: json!({"path": "/workspace/b", "text": "x"}),
        session: None,
        cancelled,
        progress: None,
    };
    let outcome = chitin_ports::Invoke::invoke(kit.host.as_ref(), permit, call).await;
    assert!(matches!(&outcome, ToolOutcome::Denied(denial) if denial.rule == "permit:digest"), "{outcome:?}");
    assert!(!kit.workspace.join("b").exists() && !kit.workspace.join("a").exists());
}

#[tokio::test]
async fn compiled_code_that_was_touched_is_never_run() {
    let cache = tempfile::tempdir().expect("a directory");
    let call = async || {
        let kit = Kit::with_cache("chitin_time.wasm", cache.path());
        let outcome = kit.call(&kit.grant(), "now", json!({})).await;
        assert!(outcome.is_done(), "{outcome:?}");
    };
    call().await;
    let find = |extension: &str| {
        let mut entries = std::fs::read_dir(cache.path()).expect("the cache").map(|e| e.expect("an entry").path());
        entries.find(|p| p.extension().is_some_and(|e| e == extension)).expect("a compiled file")
    };
    let (code, mac) = (find("cwasm"), find("mac"));
    let (good, seal) = (std::fs::read(&code).expect("the code"), std::fs::read(&mac).expect("its seal"));
    let replace = |path: &std::path::Path, bytes: &[u8]| {
        std::fs::remove_file(path).expect("the file is there");
        std::fs::write(path, bytes).expect("another file in its place");
    };
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    for bad in [flipped.as_slice(), &good[..good.len() / 2], &[]] {
        replace(&code, bad);
        call().await;
        assert_eq!(std::fs::read(&code).expect("the code"), good, "compiled again and replaced");
    }
    replace(&mac, &[0; 32]);
    call().await;
    assert_eq!(std::fs::read(&mac).expect("the seal"), seal);
    // A link to good code is not followed: what it leads to may change.
    let elsewhere = cache.path().join("elsewhere");
    std::fs::rename(&code, &elsewhere).expect("moved");
    std::os::unix::fs::symlink(&elsewhere, &code).expect("a link");
    call().await;
    assert!(!std::fs::symlink_metadata(&code).expect("the code").is_symlink());
}

#[tokio::test]
async fn describe_tells_the_functions_and_needs_no_grant() {
    let kit = Kit::new(PROBE);
    let bytes = chitin_testkit::guests::bytes(PROBE);
    let pack = chitin_ports::Describe::describe(kit.host.as_ref(), &bytes).await.expect("the probe describes itself");
    assert!(pack.functions.iter().any(|f| f.name.as_str() == "echo"));
    assert!(pack.imports.iter().any(|i| i.starts_with("wasi:http/outgoing-handler")), "{:?}", pack.imports);
    let error = chitin_ports::Describe::describe(kit.host.as_ref(), b"\0asm\x01\0\0\0").await;
    assert!(error.is_err(), "a core module is no component");
}
