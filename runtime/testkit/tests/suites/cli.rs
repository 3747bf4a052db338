//! What does a user see when something is wrong? Exit codes, one clear line, the next step; and the twin that works.

use std::{fs, process::Stdio};

use chitin_testkit::{
    chitin::{Chitin, Ran, binary},
    server::{Reply, Server},
};
use serde_json::Value;
use tokio::io::AsyncWriteExt;

fn one_error(ran: &Ran, code: i32, says: &str) {
    assert_eq!(ran.code, code, "{ran:?}");
    let errors: Vec<&str> = ran.err.lines().filter(|l| l.starts_with("error:")).collect();
    assert!(errors.len() == 1 && errors[0].contains(says), "{says}: {ran:?}");
    assert!(!ran.err.contains("panicked"), "{ran:?}");
}

fn grant_file(chitin: &Chitin, tool: &str) -> std::path::PathBuf {
    chitin.home().join("policies").join(format!("{}.toml", tool.replace('/', "__")))
}

#[tokio::test]
async fn without_a_home_the_next_step_is_onboard() {
    let chitin = Chitin::new();
    let ran = chitin.run(&["tool", "list"]).await;
    one_error(&ran, 4, "no home");
    assert_eq!(ran.offered(), ["chitin onboard"]);
    assert!(!chitin.home().exists(), "a look must not make a home");
}

#[tokio::test]
async fn each_kind_of_failure_has_its_exit_code() {
    let chitin = Chitin::onboarded().await;
    for (args, code, says) in [
        (vec!["tool", "call", "chitin/tme", "now"], 4, "there is no tool chitin/tme"),
        (vec!["tool", "call", "chitin/time", "nowish"], 4, "has no function nowish"),
        (vec!["tool", "call", "evil/time", "now"], 4, "there is no tool evil/time"),
        (vec!["tool", "call", "time", "now"], 2, "tool name"),
        (vec!["tool", "call", "chitin/time", "now", "surprise=1"], 2, "surprise"),
        (vec!["tool", "call", "chitin/fs", "file_read"], 2, "path"),
        (vec!["tool", "call", "chitin/fs", "file_read", "{\"path\": 1}"], 2, "path"),
        (vec!["tool", "call", "chitin/fs", "file_read", "{\"path\""], 2, "JSON"),
        (vec!["tool", "call", "chitin/fs", "file_read", "path=/workspace/none"], 1, "none"),
        (vec!["tool", "call", "chitin/fs", "file_read", "path=/elsewhere/x"], 5, "grant:fs"),
        (vec!["tool", "inspect", "chitin/none"], 4, "chitin/none"),
        (vec!["tool", "remove", "chitin/none"], 4, "chitin/none"),
        (vec!["tool", "install", "/no/such.wasm", "-y"], 4, "such.wasm"),
        (vec!["tool", "grant", "chitin/fs", "fs", "/etc:ro"], 3, "/etc"),
        (vec!["tool", "grant", "chitin/fs", "fs", "/no/such/dir:ro"], 4, "/no/such/dir"),
        (vec!["tool", "grant", "chitin/fs", "fs", "/workspace"], 2, "PATH:ro"),
        (vec!["tool", "grant", "chitin/http", "net", "https://user@host.test"], 2, "not accepted"),
        (vec!["tool", "grant", "chitin/http", "net", "https://host.test/path"], 2, "path"),
        (vec!["tool", "grant", "chitin/http", "net", "https://host.test", "--method", "STEAL"], 3, "STEAL"),
        (vec!["tool", "grant", "chitin/http", "net", "https://host.test", "--path", "/a*"], 2, "path pattern"),
        (vec!["tool", "revoke", "chitin/http", "nothing"], 4, "nothing"),
        (vec!["session", "show", "none"], 4, "none"),
        (vec!["audit", "why", "none"], 4, "none"),
        (vec!["key", "trust", "/no/such.toml", "-y"], 4, "such.toml"),
        (vec!["key", "new", "../up"], 2, "../up"),
        (vec!["policy", "can", "chitin/fs", "fs", "/elsewhere:rw"], 5, "/elsewhere"),
    ] {
        let ran = chitin.run(&args).await;
        one_error(&ran, code, says);
    }
    let ran = chitin.run(&["tool", "call", "chitin/time", "now"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(chitin.run(&["tool", "call", "--nonsense"]).await.code, 2);
}

#[tokio::test]
async fn a_broken_document_is_refused_whole_with_its_place() {
    let chitin = Chitin::onboarded().await;
    let config = chitin.home().join("config.toml");
    let default = chitin.home().join("policies/default.toml");
    let trust = chitin.home().join("trust/chitin.toml");
    for (path, args) in [
        (config, vec!["tool", "call", "chitin/time", "now"]),
        (grant_file(&chitin, "chitin/time"), vec!["tool", "call", "chitin/time", "now"]),
        (default, vec!["policy", "check"]),
        (trust, vec!["policy", "check"]),
    ] {
        let good = fs::read_to_string(&path).expect("a document of the home");
        let name = path.file_name().expect("a name").to_string_lossy();
        let place = format!("{name}:{}:", good.lines().count() + 2);
        fs::write(&path, format!("{good}\nunknown_key = 1\n")).expect("a broken line");
        // A key after the last table belongs to that table, where it is unknown as well.
        let ran = chitin.run(&args).await;
        one_error(&ran, 3, &place);
        fs::write(&path, good).expect("the good document");
        let ran = chitin.run(&args).await;
        assert_eq!(ran.code, 0, "the twin: {ran:?}");
    }
}

#[tokio::test]
async fn a_grant_taken_back_and_given_again_decides_at_once() {
    let chitin = Chitin::onboarded().await;
    let call = ["tool", "call", "chitin/time", "now"];
    assert_eq!(chitin.run(&call).await.code, 0);
    assert_eq!(chitin.run(&["tool", "revoke", "chitin/time"]).await.code, 0);
    let ran = chitin.run(&call).await;
    one_error(&ran, 5, "grant:absent");
    let offered = ran.offered().pop().expect("the line that would allow it");
    assert_eq!(chitin.run_line(&offered).await.code, 0);
    assert_eq!(chitin.run(&call).await.code, 0);
}

#[tokio::test]
async fn a_limit_of_the_grant_ends_the_call_with_its_own_code() {
    let chitin = Chitin::onboarded().await;
    let path = grant_file(&chitin, "chitin/time");
    let good = fs::read_to_string(&path).expect("a grant");
    assert!(good.contains("memory_mib = 64"), "{good}");
    fs::write(&path, good.replace("memory_mib = 64", "memory_mib = 1")).expect("a smaller grant");
    one_error(&chitin.run(&["tool", "call", "chitin/time", "now"]).await, 9, "memory (1 MiB)");
    fs::write(&path, good).expect("the usual grant");
    assert_eq!(chitin.run(&["tool", "call", "chitin/time", "now"]).await.code, 0);
}

#[tokio::test]
async fn a_rule_that_asks_needs_a_person_who_says_yes() {
    let chitin = Chitin::onboarded().await;
    let path = grant_file(&chitin, "chitin/fs");
    let good = fs::read_to_string(&path).expect("a grant");
    fs::write(&path, format!("{good}\n[[call]]\nfunctions = [\"file_write\"]\nask = \"each\"\n"))
        .expect("a rule that asks");
    let canary = chitin.workspace().join("canary.txt");
    let call = ["tool", "call", "chitin/fs", "file_write", "path=canary.txt", "content=written"];
    one_error(&chitin.run(&call).await, 5, "nobody is at the terminal");
    assert!(!canary.exists());
    assert_ne!(at_terminal(&chitin, &call, "n\n").await.code, 0);
    assert!(!canary.exists(), "a no must stop the call");
    let ran = at_terminal(&chitin, &call, "y\n").await;
    assert!(canary.exists(), "a yes lets it through: {ran:?}");
    assert!(ran.out.contains("\"content\":\"written\"") || ran.out.contains("\"content\": \"written\""), "{ran:?}");
    let tail = chitin.run(&["--json", "audit", "tail", "-n", "100"]).await.json();
    let answers: Vec<&Value> =
        tail["records"].as_array().expect("records").iter().filter(|r| r["kind"] == "approval").collect();
    let words: Vec<&str> = answers.iter().filter_map(|a| a["verdict"].as_str()).collect();
    assert_eq!(words, ["no", "no", "yes"], "each answer is in the audit");
}

/// The same command with a terminal around it, at which somebody types.
async fn at_terminal(chitin: &Chitin, args: &[&str], typed: &str) -> Ran {
    let line = format!("{} --home {} {}", binary().display(), chitin.home().display(), args.join(" "));
    let mut child = tokio::process::Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("`script` (bsdutils) gives a terminal");
    let mut stdin = child.stdin.take().expect("a pipe");
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    stdin.write_all(typed.as_bytes()).await.expect("the terminal takes what is typed");
    let output = child.wait_with_output().await.expect("it ends");
    drop(stdin);
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[tokio::test]
async fn trust_is_never_taken_for_granted() {
    let chitin = Chitin::new();
    let shelf = binary().parent().expect("a folder").join("components");
    let publisher = shelf.join("publisher.toml").display().to_string();
    let ran = chitin.run(&["onboard"]).await;
    one_error(&ran, 5, "is not trusted");
    assert!(ran.err.contains("sha256:"), "the fingerprint is shown: {ran:?}");
    one_error(&chitin.run(&["key", "trust", &publisher]).await, 5, "is not trusted");
    let component = shelf.join("chitin_time.wasm").display().to_string();
    one_error(&chitin.run(&["tool", "install", &component, "-y"]).await, 6, "key");
    assert_eq!(chitin.run(&["key", "trust", &publisher, "-y"]).await.code, 0);
    one_error(&chitin.run(&["tool", "install", &component]).await, 5, "not installed");
    assert_eq!(chitin.run(&["tool", "install", &component, "-y"]).await.code, 0);
    // Installed without a grant it cannot be called.
    one_error(&chitin.run(&["tool", "call", "chitin/time", "now"]).await, 5, "grant:absent");
}

#[tokio::test]
async fn json_documents_are_versioned_and_the_audit_explains_a_call() {
    let chitin = Chitin::onboarded().await;
    chitin.run(&["tool", "call", "chitin/time", "now"]).await;
    // runs: chitin session show
    // runs: chitin audit why
    // runs: chitin chat
    // runs: chitin tool verify
    chitin.run(&["run", "-p", "what time is it"]).await;
    let sessions = chitin.run(&["--json", "session", "list"]).await.json();
    assert_eq!(sessions["schema"], "chitin/session-list/v1");
    let id = sessions["sessions"][0]["name"].as_str().expect("a session").to_owned();
    let session = chitin.run(&["--json", "session", "show", &id]).await.json();
    assert_eq!(session["schema"], "chitin/session/v1");
    let roles: Vec<&str> =
        session["messages"].as_array().expect("messages").iter().filter_map(|m| m["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    let tail = chitin.run(&["--json", "audit", "tail", "-n", "50"]).await.json();
    let call = tail["records"]
        .as_array()
        .expect("records")
        .iter()
        .rev()
        .find_map(|r| r["call"].as_str())
        .expect("a call")
        .to_owned();
    let why = chitin.run(&["--json", "audit", "why", &call]).await.json();
    let verdicts: Vec<&str> =
        why["records"].as_array().expect("records").iter().filter_map(|r| r["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["allow", "done"]);
    for (args, schema) in [
        (vec!["tool", "list"], "chitin/tool-list/v1"),
        (vec!["tool", "inspect", "chitin/fs"], "chitin/tool/v1"),
        (vec!["tool", "call", "chitin/time", "now"], "chitin/tool-result/v1"),
        (vec!["policy", "check"], "chitin/policy-list/v1"),
        (vec!["key", "list"], "chitin/key-list/v1"),
        (vec!["audit", "verify"], "chitin/audit-report/v1"),
        (vec!["doctor"], "chitin/finding-list/v1"),
    ] {
        let mut all = vec!["--json"];
        all.extend(args);
        assert_eq!(chitin.run(&all).await.json()["schema"], schema);
    }
    let error = chitin.run(&["--json", "tool", "call", "chitin/none", "x"]).await;
    let document: Value = serde_json::from_str(error.err.trim()).expect("one JSON document on standard error");
    assert_eq!((document["schema"].as_str(), document["code"].as_i64()), (Some("chitin/error/v1"), Some(4)));
}

#[tokio::test]
async fn a_chat_takes_lines_and_keeps_them() {
    let chitin = Chitin::onboarded().await;
    let mut child = chitin
        .command(&["chat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"write first to a.txt\nread a.txt\n/nonsense\n").await.expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().await.expect("it ends");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("first"), "{out}");
    assert_eq!(fs::read_to_string(chitin.workspace().join("a.txt")).expect("the file").trim(), "first");
    assert!(String::from_utf8_lossy(&output.stderr).contains("/new"), "an unknown command lists the known ones");
}

#[tokio::test]
async fn an_unreachable_model_is_one_clear_error_and_the_key_is_nowhere() {
    let chitin = Chitin::onboarded().await;
    let server = Server::start(|_| Reply {
        status: 401,
        content_type: "application/json",
        pieces: vec![br#"{"error":{"message":"bad key sk-canary-123"}}"#.to_vec()],
    })
    .await;
    let file = chitin.home().join("config.toml");
    let base = fs::read_to_string(&file).expect("the configuration");
    let provider = format!(
        "\n[provider]\nkind = \"openai-chat\"\nbase_url = \"{}/v1\"\nmodel = \"m\"\napi_key = {{ env = \"MODEL_KEY\" }}\n",
        server.origin()
    );
    fs::write(&file, base + &provider).expect("a provider");
    let missing = chitin.run(&["run", "-p", "hi"]).await;
    one_error(&missing, 3, "MODEL_KEY");
    let output = chitin
        .command(&["run", "-p", "hi"])
        .env("MODEL_KEY", "sk-canary-123")
        .output()
        .await
        .expect("the binary starts");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let seen = server.seen();
    assert!(seen[0].headers.iter().any(|(n, v)| n == "authorization" && v == "Bearer sk-canary-123"), "{seen:?}");
    let everything = [output.stdout, output.stderr].concat();
    assert!(!String::from_utf8_lossy(&everything).contains("sk-canary"), "the key is printed");
    for entry in fs::read_dir(chitin.home()).expect("the home") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let bytes = fs::read(&path).expect("a file of the home");
            assert!(!bytes.windows(9).any(|w| w == b"sk-canary"), "the key is in {}", path.display());
        }
    }
}

#[tokio::test]
async fn a_revoked_key_stops_its_tools_and_a_new_trust_keeps_the_ceiling() {
    // runs: chitin key revoke
    let chitin = Chitin::onboarded().await;
    assert_eq!(chitin.run(&["tool", "call", "chitin/time", "now"]).await.code, 0);
    let trust = chitin.home().join("trust/chitin.toml");
    let text = fs::read_to_string(&trust).expect("the trust file");
    // Its owner narrowed the ceiling by hand; the same file from outside must not widen it again.
    let narrow = text.split("[[ceiling").next().expect("the first part").to_owned();
    assert!(narrow.len() < text.len(), "the trust file has no ceiling: {text}");
    fs::write(&trust, &narrow).expect("written");
    let outside = chitin.outside().join("publisher.toml");
    fs::write(&outside, &text).expect("written");
    let ran = chitin.run(&["-y", "key", "trust", outside.to_str().expect("text")]).await;
    assert!(ran.code == 0 && ran.err.contains("ceiling stays"), "{ran:?}");
    let after = fs::read_to_string(&trust).expect("the trust file");
    assert!(!after.contains("[[ceiling.http]]") && !after.contains("kv"), "{after}");
    assert_eq!(chitin.run(&["key", "revoke", "chitin"]).await.code, 0);
    one_error(&chitin.run(&["tool", "call", "chitin/time", "now"]).await, 6, "not trusted");
    one_error(&chitin.run(&["key", "revoke", "chitin"]).await, 4, "chitin");
}

#[tokio::test]
async fn a_configuration_that_anyone_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let chitin = Chitin::onboarded().await;
    let config = chitin.home().join("config.toml");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o666)).expect("open to all");
    one_error(&chitin.run(&["tool", "call", "chitin/time", "now"]).await, 3, "anyone may write it");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).expect("closed");
    assert_eq!(chitin.run(&["tool", "call", "chitin/time", "now"]).await.code, 0);
}

#[tokio::test]
async fn secrets_and_settings_are_changed_by_command() {
    // runs: chitin config get
    // runs: chitin config check
    // runs: chitin secret rm
    // runs: chitin sandbox explain
    let chitin = Chitin::onboarded().await;
    let file = chitin.home().join("config.toml");
    let before = fs::read_to_string(&file).expect("the configuration");
    one_error(&chitin.run(&["config", "set", "gateway.listen", "0.0.0.0:1"]).await, 3, "loopback");
    one_error(&chitin.run(&["config", "set", "nonsense", "1"]).await, 3, "nonsense");
    assert_eq!(fs::read_to_string(&file).expect("the configuration"), before, "a refused change was written");
    assert_eq!(chitin.run(&["config", "set", "gateway.listen", "127.0.0.1:4999"]).await.code, 0);
    let ran = chitin.run(&["config", "get", "gateway.listen"]).await;
    assert_eq!(ran.out.trim(), "\"127.0.0.1:4999\"", "{ran:?}");
    assert!(fs::read_to_string(&file).expect("the configuration").contains("# Directories that grants may mount"));
    assert_eq!(chitin.run(&["config", "check"]).await.code, 0);
    one_error(&chitin.run(&["config", "get", "no.such"]).await, 4, "no.such");

    let mut command = chitin.command(&["secret", "set", "github"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    child.stdin.take().expect("a pipe").write_all(b"short").await.expect("written");
    assert_eq!(child.wait_with_output().await.expect("it ends").status.code(), Some(2), "a secret of five bytes");
    chitin_testkit::daemon_story::set_secret(&chitin, "github", "a long enough secret").await.expect("it is set");
    let ran = chitin.run(&["secret", "list"]).await;
    assert_eq!((ran.out.trim(), ran.code), ("github", 0), "{ran:?}");
    assert_eq!(chitin.run(&["secret", "rm", "github"]).await.code, 0);
    one_error(&chitin.run(&["secret", "rm", "github"]).await, 4, "github");
    one_error(&chitin.run(&["secret", "rm", "../up"]).await, 2, "../up");

    let ran = chitin.run(&["sandbox", "explain"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    for word in ["bubblewrap", "file outside the workspace", "listener", "process behind"] {
        assert!(ran.out.to_lowercase().contains(word), "{word}: {ran:?}");
    }
}
