//! Does the jail refuse instead of running with less? A missing wrapper, a fake one, a leftover, a wrong order.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

use chitin_jail::{Backend, Choice, HELPER_ARG, Jail, JailConfig};
use chitin_ports::{Spawn, SpawnError, SpawnMount};

use super::fixture::{BOTH, Bench, helper, order};

fn jail(choice: Choice, dir: &std::path::Path) -> Jail {
    Jail::new(JailConfig { helper: helper(), scratch: dir.join("scratch"), choice })
}

#[tokio::test]
async fn a_sandbox_that_is_asked_for_and_missing_is_an_error_and_never_less() {
    let dir = tempfile::tempdir().expect("a folder");
    let asked = jail(Choice::Bubblewrap, dir.path()).with_wrapper_at("/nonexistent/bwrap".into());
    let work = dir.path().canonicalize().expect("its name");
    let mount = SpawnMount { from: work.clone(), at: work, writable: false };
    let refused = asked.spawn(order("echo ran", mount.clone())).await;
    let Err(SpawnError::NoSandbox(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("not there") && why.contains("bubblewrap"), "{why}");
    assert_eq!(asked.verdict().await.backend, None);
    // The twin that may choose takes the next one and says why.
    let free = jail(Choice::Detect, dir.path()).with_wrapper_at("/nonexistent/bwrap".into());
    assert_eq!(free.spawn(order("echo ran", mount)).await.map(|ended| ended.out), Ok(b"ran\n".to_vec()));
    let verdict = free.verdict().await;
    assert_eq!(verdict.backend, Some(Backend::Landlock));
    assert_eq!(verdict.rejected.iter().map(|r| r.backend).collect::<Vec<_>>(), [Backend::Bubblewrap]);
}

#[tokio::test]
async fn a_wrapper_that_others_may_change_is_not_used() {
    let dir = tempfile::tempdir().expect("a folder");
    let fake = dir.path().join("bwrap");
    fs::write(&fake, "#!/bin/sh\nexit 0\n").expect("written");
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("set");
    let jail = jail(Choice::Bubblewrap, dir.path()).with_wrapper_at(fake);
    assert_eq!(jail.verdict().await.backend, None);
    let why = jail.verdict().await.reasons();
    assert!(why.contains("changed by others") || why.contains("does not belong to root"), "{why}");
}

#[tokio::test]
async fn a_wrapper_that_does_not_run_the_program_is_found_out() {
    let dir = tempfile::tempdir().expect("a folder");
    for (program, part) in [("/usr/bin/true", "before the program was started"), ("/usr/bin/false", "ended with 1")] {
        let jail = jail(Choice::Bubblewrap, dir.path()).with_wrapper_at(program.into());
        assert_eq!(jail.verdict().await.backend, None, "{program}");
        assert!(jail.verdict().await.reasons().contains(part), "{}", jail.verdict().await.reasons());
    }
}

#[tokio::test]
async fn a_helper_that_is_none_is_found_out() {
    let dir = tempfile::tempdir().expect("a folder");
    for choice in BOTH {
        let config = JailConfig { helper: "/usr/bin/true".into(), scratch: dir.path().join("scratch"), choice };
        let jail = Jail::new(config);
        assert_eq!(jail.verdict().await.backend, None, "{choice:?}");
        assert!(jail.verdict().await.reasons().contains("without a report"), "{}", jail.verdict().await.reasons());
    }
}

#[tokio::test]
async fn without_a_sandbox_only_by_hand() {
    let dir = tempfile::tempdir().expect("a folder");
    let work = dir.path().canonicalize().expect("its name").join("work");
    fs::create_dir(&work).expect("made");
    let jail = jail(Choice::None, dir.path());
    let mount = SpawnMount { from: work.clone(), at: work, writable: true };
    let ended = jail.spawn(order("ls /etc/hostname; env | grep -c CARGO", mount)).await.expect("runs");
    assert_eq!((ended.backend, ended.out.as_slice()), ("none", b"/etc/hostname\n0\n".as_slice()));
}

/// Starts the inner part of the helper directly, with a plan as the outer one would give it.
fn inner(leftover: &str, run: &[&str]) -> String {
    let dir = tempfile::tempdir().expect("a folder");
    let plan = serde_json::json!({
        "argv": ["/bin/echo", "ran"], "cwd": "/", "env": [], "places": [],
        "rules": [
            {"path": "/usr", "access": "run"}, {"path": "/lib", "access": "run"}, {"path": "/bin", "access": "run"},
            {"path": "/proc", "access": "read"}, {"path": "/dev/null", "access": "device"},
        ],
        "ceilings": {"cpu_s": 5, "memory_mib": 64, "processes": 4096, "file_mib": 1},
    });
    let (plan_path, report) = (dir.path().join("plan"), dir.path().join("report"));
    fs::write(&plan_path, plan.to_string()).expect("written");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("set");
    let line = format!(
        "for fd in /proc/$$/fd/*; do n=${{fd##*/}}; [ $n -gt 2 ] && eval \"exec $n>&-\"; done; \
         exec 8<{} 9>{} {leftover}; \
         mkfifo {0}.line; exec 6<>{0}.line; {} {} {HELPER_ARG} inside 8 9 6",
        plan_path.display(),
        report.display(),
        run.join(" "),
        helper().display()
    );
    let mut command = Command::new("bash");
    command.args(["-c", &line]).env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    let out = command.output().expect("bash runs");
    format!("{}{}", String::from_utf8_lossy(&out.stdout), fs::read_to_string(report).unwrap_or_default())
}

#[test]
fn a_child_with_something_left_over_does_not_become_the_program() {
    let ordinary: &[&str] = if rustix::process::geteuid().is_root() {
        assert!(inner("", &[]).contains("not_tight"), "root with all its capabilities: {}", inner("", &[]));
        let gid_root = inner("", &["setpriv", "--reuid=61000", "--clear-groups"]);
        assert!(gid_root.contains("not_tight") && !gid_root.contains("ran"), "the group of root: {gid_root}");
        &["setpriv", "--reuid=61000", "--regid=61000", "--clear-groups"]
    } else {
        &[]
    };
    let open = inner("7</etc/hostname", ordinary);
    assert!(open.contains("not_tight") && open.contains("descriptor 7"), "{open}");
    // The twin without the open file.
    let tight = inner("", ordinary);
    assert!(tight.starts_with("ran\n") && tight.contains("exited"), "{tight}");
}

#[tokio::test]
async fn an_order_that_cannot_run_says_why() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        let mut absent = bench.order("");
        absent.argv = vec!["no-such-program".to_owned()];
        let mut nowhere = bench.order("true");
        nowhere.cwd = bench.at().join("absent");
        for (order, part) in [(absent, "no-such-program"), (nowhere, "absent")] {
            let got = bench.jail.spawn(order).await;
            let Err(SpawnError::BadOrder(why)) = got else { panic!("{choice:?}: {got:?}") };
            assert!(why.contains(part), "{why}");
        }
    }
}

#[tokio::test]
async fn a_directory_that_is_granted_for_reading_is_not_written() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        fs::write(bench.outside.join("f"), "read me").expect("written");
        let at = if choice == Choice::Bubblewrap { "/reference".into() } else { bench.outside.clone() };
        let mut order = bench.order(&format!("cat {0}/f; echo x > {0}/g", at.display()));
        order.mounts.push(SpawnMount { from: bench.outside.clone(), at, writable: false });
        let ended = bench.jail.spawn(order).await.expect("runs");
        assert_eq!(ended.out, b"read me", "{choice:?}");
        assert_ne!(ended.code, Some(0), "{choice:?}");
        assert!(!bench.outside.join("g").exists(), "{choice:?}");
    }
}
