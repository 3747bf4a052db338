//! Does the shell tool do what its grant says and no more, and does `explain` prove what it claims?

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use chitin_jail::{Choice, Jail, JailConfig, Shell, explain};
use chitin_policy::{Approval, Authorized, Call, Defaults, Grant, Grants, Pin, Verdict, authorize};
use chitin_ports::{Audit, AuditEntry, AuditKind, Invocation, Invoke, PortError, Receipt};
use chitin_types::{CallId, Digest, FunctionName, Limits, Part, ToolName, ToolOutcome};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;

use super::fixture::{BOTH, helper};

#[derive(Default)]
struct Log {
    entries: Mutex<Vec<AuditEntry>>,
    broken: bool,
}

impl Audit for Log {
    fn append(&self, entry: AuditEntry) -> Receipt {
        self.entries.lock().expect("whole").push(entry);
        let (sender, receipt) = Receipt::pair();
        let result = if self.broken { Err(PortError("write the audit: the disk is full".to_owned())) } else { Ok(()) };
        sender.send(result).expect("the receipt is there");
        receipt
    }
}

struct Desk {
    shell: Shell,
    log: Arc<Log>,
    grants: Arc<Grants>,
    work: PathBuf,
    home: TempDir,
}

const POLICY: &str = include_str!("../../../../policies/chitin-shell.toml");

fn jail(home: &TempDir, choice: Choice) -> Jail {
    Jail::new(JailConfig { helper: helper(), scratch: home.path().join("scratch"), choice })
}

impl Desk {
    fn new(choice: Choice) -> Self {
        Self::with(choice, Log::default(), |_| ())
    }

    fn with(choice: Choice, log: Log, change: impl FnOnce(&mut Grant)) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let work = home.path().canonicalize().expect("its name").join("work");
        fs::create_dir(&work).expect("made");
        let mut grant = Grant::parse("chitin-shell.toml", POLICY).expect("the shipped policy is a grant");
        grant.pin = Some(Pin { component: Shell::identity(), accept: chitin_policy::Accept::default() });
        change(&mut grant);
        let wide =
            Limits { wall_ms: 600_000, cpu_ms: 600_000, memory_mib: 4_096, output_kib: 4_096, ..Limits::default() };
        let defaults = Defaults { limits: wide, ..Defaults::default() };
        let grants = Arc::new(Grants::intersect(Shell::requests(), grant, Shell::requests(), &defaults));
        let log = Arc::new(log);
        let roots = BTreeMap::from([("default".to_owned(), work.clone())]);
        let audit: Arc<dyn Audit> = Arc::clone(&log) as Arc<dyn Audit>;
        Self { shell: Shell::new(Arc::new(jail(&home, choice)), audit, roots), log, grants, work, home }
    }

    fn permit(&self, args: &Value) -> Authorized {
        let spec = Shell::spec();
        let call = Call {
            id: CallId::parse("c1").expect("an id"),
            component: Shell::identity(),
            function: spec.function,
            args: args.clone(),
            effects: spec.effects,
        };
        match authorize(&self.grants, &call, &BTreeSet::new()) {
            Verdict::Allow(permit) => permit,
            Verdict::Ask(pending) => {
                pending.approve(Approval { digest: call.digest(), expires_at_ms: 1 }, 0).expect("the person said yes")
            }
            Verdict::Deny(denial) => unreachable!("{denial:?}"),
        }
    }

    fn invocation(args: &Value) -> Invocation {
        Invocation {
            tool: ToolName::parse("chitin/shell").expect("a name"),
            component: Shell::identity(),
            function: FunctionName::parse("run").expect("a name"),
            args: args.clone(),
            session: None,
            cancelled: watch::channel(false).1,
            progress: None,
        }
    }

    async fn call(&self, args: Value) -> ToolOutcome {
        self.shell.invoke(self.permit(&args), Self::invocation(&args)).await
    }
}

fn parts(code: i32, texts: &[&str]) -> ToolOutcome {
    let texts = texts.iter().map(|text| Part::Text((*text).to_owned()));
    let data = Part::Data(json!({"exit_code": code, "signal": null, "dropped_bytes": 0}));
    ToolOutcome::Done(texts.chain([data]).collect())
}

#[tokio::test]
async fn a_person_is_asked_before_a_command_by_default() {
    let desk = Desk::new(Choice::Detect);
    let spec = Shell::spec();
    let call = |effects| Call {
        id: CallId::parse("c1").expect("an id"),
        component: Shell::identity(),
        function: spec.function.clone(),
        args: json!({"command": "true"}),
        effects,
    };
    assert!(matches!(authorize(&desk.grants, &call(spec.effects), &BTreeSet::new()), Verdict::Ask(_)));
    // Also without the line of the policy: the function claims that it destroys.
    let silent = Desk::with(Choice::Detect, Log::default(), |grant| grant.call.clear());
    assert!(matches!(authorize(&silent.grants, &call(spec.effects), &BTreeSet::new()), Verdict::Ask(_)));
}

#[tokio::test]
async fn a_command_works_in_the_granted_directory() {
    for choice in BOTH {
        let desk = Desk::new(choice);
        assert_eq!(
            desk.call(json!({"command": "mkdir sub && echo hello > sub/f && echo oops >&2 && cat sub/f"})).await,
            parts(0, &["exit code 0", "stdout:\nhello\n", "stderr:\noops\n"]),
            "{choice:?}"
        );
        assert_eq!(fs::read_to_string(desk.work.join("sub/f")).expect("there"), "hello\n");
        assert_eq!(
            desk.call(json!({"argv": ["cat", "f"], "cwd": "sub"})).await,
            parts(0, &["exit code 0", "stdout:\nhello\n"])
        );
        assert_eq!(desk.call(json!({"command": "exit 3"})).await, parts(3, &["exit code 3"]));
        let words: Vec<_> =
            desk.log.entries.lock().expect("whole").iter().map(|e| (e.kind, e.verdict.clone())).collect();
        let one = [(AuditKind::Spawn, "start".to_owned()), (AuditKind::Spawn, "done".to_owned())];
        assert_eq!(words, [one.clone(), one.clone(), one].concat());
    }
}

#[tokio::test]
async fn what_was_put_aside_is_told_and_what_could_not_be_looked_at_is_a_failure() {
    for choice in BOTH {
        let desk = Desk::new(choice);
        let hook = "git init -q x && printf '#!/bin/sh\\n' > x/.git/hooks/post-checkout";
        let text = desk.call(json!({"command": hook})).await.text_for_model();
        assert!(text.starts_with("exit code 0"), "{choice:?} {text}");
        let told = "x/.git/hooks/post-checkout was put aside as post-checkout.blocked: it would run later on the host";
        assert!(text.contains(told), "{choice:?} {text}");
        let nest = "i=0; while [ $i -lt 300 ]; do mkdir d && cd d || exit 1; i=$((i+1)); done";
        let outcome = desk.call(json!({"command": nest})).await;
        let ToolOutcome::Failed(failure) = &outcome else {
            panic!("{choice:?} {outcome:?}");
        };
        assert!(failure.message.contains("left as they are") && failure.message.contains("more files"), "{outcome:?}");
        assert!(desk.work.join("d/d").exists(), "{choice:?}");
    }
}

#[tokio::test]
async fn with_namespaces_the_workspace_stands_where_the_grant_says() {
    let desk = Desk::new(Choice::Bubblewrap);
    assert_eq!(desk.call(json!({"command": "pwd"})).await, parts(0, &["exit code 0", "stdout:\n/workspace\n"]));
    let desk = Desk::new(Choice::Landlock);
    let own = format!("stdout:\n{}\n", desk.work.display());
    assert_eq!(desk.call(json!({"command": "pwd"})).await, parts(0, &["exit code 0", &own]));
}

#[tokio::test]
async fn a_directory_outside_the_workspace_is_refused_before_anything_runs() {
    let desk = Desk::new(Choice::Detect);
    for cwd in ["..", "/etc", "a/../../b"] {
        let outcome = desk.call(json!({"command": "pwd", "cwd": cwd})).await;
        assert!(matches!(&outcome, ToolOutcome::InvalidInput(why) if why.contains("outside")), "{cwd}: {outcome:?}");
    }
    assert_eq!(desk.log.entries.lock().expect("whole").len(), 0);
}

#[tokio::test]
async fn a_read_only_grant_gives_a_read_only_workspace() {
    for choice in BOTH {
        let desk = Desk::with(choice, Log::default(), |grant| grant.fs[0].mode = chitin_types::FsMode::Ro);
        fs::write(desk.work.join("f"), "read").expect("written");
        let outcome = desk.call(json!({"command": "cat f; echo x > g"})).await;
        let text = outcome.text_for_model();
        assert!(text.contains("read") && !text.starts_with("exit code 0"), "{choice:?} {text}");
        assert!(!desk.work.join("g").exists(), "{choice:?}");
    }
}

#[tokio::test]
async fn limits_and_wishes_end_a_command() {
    let desk = Desk::new(Choice::Detect);
    let slow = json!({"command": "sleep 60", "timeout_ms": 700});
    assert_eq!(desk.call(slow).await, ToolOutcome::Limited("wall time (700 ms)".to_owned()));
    let spin = Desk::with(Choice::Detect, Log::default(), |grant| grant.limits.cpu_ms = 1_000);
    let outcome = spin.call(json!({"argv": ["/usr/bin/python3", "-c", "while True: pass"]})).await;
    assert_eq!(outcome, ToolOutcome::Limited("processor time (1 s)".to_owned()));
    let capped = Desk::with(Choice::Detect, Log::default(), |grant| grant.limits.output_kib = 1);
    let text = capped.call(json!({"command": "head -c 5000 /dev/zero | tr '\\0' x"})).await.text_for_model();
    assert!(text.contains("[3976 more bytes of output were dropped at 1 KiB]"), "{text}");
    let (stop, cancelled) = watch::channel(false);
    let args = json!({"command": "sleep 60"});
    let mut invocation = Desk::invocation(&args);
    invocation.cancelled = cancelled;
    let stopping = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        stop.send(true).expect("heard");
    };
    let (outcome, ()) = tokio::join!(desk.shell.invoke(desk.permit(&args), invocation), stopping);
    assert_eq!(outcome, ToolOutcome::Cancelled);
}

#[tokio::test]
async fn lines_of_output_are_progress() {
    let desk = Desk::new(Choice::Detect);
    let args = json!({"command": "echo one; echo two >&2"});
    let lines = Arc::new(Mutex::new(BTreeSet::new()));
    let sink = Arc::clone(&lines);
    let mut invocation = Desk::invocation(&args);
    invocation.progress = Some(Arc::new(move |line| {
        sink.lock().expect("whole").insert(line);
    }));
    assert!(desk.shell.invoke(desk.permit(&args), invocation).await.is_done());
    assert_eq!(*lines.lock().expect("whole"), BTreeSet::from(["one".to_owned(), "two".to_owned()]));
}

#[tokio::test]
async fn without_a_sandbox_a_command_is_denied_and_the_help_says_where_to_look() {
    let home = tempfile::tempdir().expect("a folder");
    let none = Arc::new(jail(&home, Choice::Bubblewrap).with_wrapper_at("/nonexistent/bwrap".into()));
    let mut desk = Desk::new(Choice::Detect);
    let roots = BTreeMap::from([("default".to_owned(), desk.work.clone())]);
    desk.shell = Shell::new(none, Arc::clone(&desk.log) as Arc<dyn Audit>, roots);
    let ToolOutcome::Denied(denial) = desk.call(json!({"command": "true"})).await else { panic!("not denied") };
    assert_eq!((denial.rule.as_str(), denial.help.as_deref()), ("sandbox:none", Some("chitin sandbox explain")));
}

#[tokio::test]
async fn what_cannot_be_audited_is_not_run() {
    let desk = Desk::with(Choice::Detect, Log { broken: true, ..Log::default() }, |_| ());
    let outcome = desk.call(json!({"command": "echo x > ran"})).await;
    assert!(matches!(&outcome, ToolOutcome::Broke(why) if why.contains("audit")), "{outcome:?}");
    assert!(!desk.work.join("ran").exists());
}

#[tokio::test]
async fn the_audit_holds_digests_and_never_the_command_or_its_output() {
    let desk = Desk::new(Choice::Detect);
    assert!(desk.call(json!({"command": "echo se''cret-canary"})).await.is_done());
    let text = serde_json::to_string(&*desk.log.entries.lock().expect("whole")).expect("json");
    assert!(text.contains("sha256:") && text.contains("exit_code") && text.contains("/workspace default rw"), "{text}");
    assert!(!text.contains("canary"), "{text}");
}

#[tokio::test]
async fn a_permit_for_another_call_or_tool_runs_nothing() {
    let desk = Desk::new(Choice::Detect);
    let (said, done) = (json!({"command": "true"}), json!({"command": "touch ran"}));
    let outcome = desk.shell.invoke(desk.permit(&said), Desk::invocation(&done)).await;
    assert!(matches!(&outcome, ToolOutcome::Denied(denial) if denial.rule == "permit:digest"), "{outcome:?}");
    let mut other = Desk::invocation(&said);
    other.component = Digest::of(b"another component");
    assert!(matches!(desk.shell.invoke(desk.permit(&said), other).await, ToolOutcome::Denied(_)));
    assert!(!desk.work.join("ran").exists());
}

#[tokio::test]
async fn a_root_that_the_configuration_does_not_name_is_a_denial() {
    let desk = Desk::new(Choice::Detect);
    desk.shell.set_roots(BTreeMap::new());
    let outcome = desk.call(json!({"command": "true"})).await;
    assert!(matches!(&outcome, ToolOutcome::Denied(denial) if denial.rule == "config:roots"), "{outcome:?}");
    desk.shell.set_roots(BTreeMap::from([("default".to_owned(), desk.work.clone())]));
    assert!(desk.call(json!({"command": "true"})).await.is_done());
}

#[tokio::test]
async fn explain_proves_itself_by_trying() {
    for choice in BOTH {
        let desk = Desk::new(choice);
        let jail = jail(&desk.home, choice);
        let explanation = explain(&jail).await;
        assert!(explanation.holds(), "{choice:?}\n{}", explanation.lines().join("\n"));
        assert_eq!(explanation.proofs.len(), 4);
        let json = serde_json::to_value(&explanation).expect("json");
        assert_eq!(json["schema"], "chitin/sandbox-explain/v1");
        assert!(json["verdict"]["landlock_abi"].as_u64().is_some_and(|abi| abi > 0));
        let left = fs::read_dir(desk.home.path().join("scratch")).expect("there").count();
        assert_eq!(left, 0, "{choice:?}: nothing stays in the scratch directory");
    }
}

#[tokio::test]
async fn explain_does_not_claim_what_is_not_there() {
    let home = tempfile::tempdir().expect("a folder");
    let missing = jail(&home, Choice::Bubblewrap).with_wrapper_at("/nonexistent/bwrap".into());
    let explanation = explain(&missing).await;
    assert!(!explanation.holds() && explanation.layers.is_empty() && explanation.proofs.is_empty());
    // Without walls every proof fails but that nothing outlives the call.
    let open = explain(&jail(&home, Choice::None)).await;
    let shown: Vec<bool> = open.proofs.iter().map(|proof| proof.ok).collect();
    assert_eq!((open.holds(), shown), (false, vec![false, false, true, true]), "{}", open.lines().join("\n"));
}
