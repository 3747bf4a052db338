//! Which orders are refused, each with a twin that is allowed and differs in one line.

use tokio::sync::watch;

use super::*;

fn order(mounts: Vec<SpawnMount>) -> Order {
    Order {
        argv: vec!["true".to_owned()],
        cwd: "/".into(),
        env: vec![("A".to_owned(), "b".to_owned())],
        stdin: vec![],
        mounts,
        wall_ms: 1_000,
        cpu_s: 1,
        memory_mib: 64,
        output_kib: 64,
        processes: 8,
        file_mib: 1,
        cancelled: watch::channel(false).1,
        outlet: None,
    }
}

fn frame(backend: Backend, call_dir: &Path) -> Frame {
    Frame { backend, wrapper: None, uid: None, helper: "/usr/bin/true".into(), call_dir: call_dir.to_path_buf() }
}

fn check(backend: Backend, change: impl Fn(&mut Order, &Path), expected: Option<&str>) {
    let dir = tempfile::tempdir().expect("a folder");
    let root = dir.path().canonicalize().expect("its name");
    for name in ["work", "home", ".git"] {
        fs::create_dir(root.join(name)).expect("made");
    }
    std::os::unix::fs::symlink(root.join("work"), root.join("link")).expect("linked");
    let work = SpawnMount { from: root.join("work"), at: root.join("work"), writable: true };
    let mut order = order(vec![work]);
    change(&mut order, &root);
    let got = plan(&order, frame(backend, &root.join("home/call-1")));
    match (expected, got) {
        (None, Ok(_)) => {}
        (Some(part), Err(SpawnError::BadOrder(why))) => assert!(why.contains(part), "{why}"),
        (expected, got) => panic!("expected {expected:?}, got {got:?}"),
    }
}

#[test]
fn an_order_that_no_sandbox_can_keep_is_refused() {
    let both = [Backend::Bubblewrap, Backend::Landlock];
    for backend in both {
        check(backend, |_, _| {}, None);
        check(backend, |order, _| order.argv.clear(), Some("without a name"));
        check(backend, |order, _| order.argv.push("a\0b".to_owned()), Some("zero byte"));
        check(backend, |order, _| order.env.push(("PATH".to_owned(), "/x".to_owned())), Some("PATH"));
        check(backend, |order, _| order.env.push(("A=B".to_owned(), String::new())), Some("A=B"));
        check(backend, |order, _| order.cwd = "work".into(), Some("no plain absolute path"));
        check(backend, |order, _| order.cwd = "/a/../b".into(), Some("no plain absolute path"));
        check(backend, |order, root| order.mounts[0].from = root.join("absent"), Some("not there"));
        check(backend, |order, root| order.mounts[0].from = root.join("link"), Some("own name"));
    }
}

#[test]
fn the_daemons_own_directories_are_never_writable() {
    let mount = |name: &'static str, writable: bool| {
        move |order: &mut Order, root: &Path| {
            let from = root.join(name);
            order.mounts = vec![SpawnMount { at: from.clone(), from, writable }];
        }
    };
    check(Backend::Landlock, mount("home", true), Some("daemon's own"));
    check(Backend::Landlock, mount("home", false), None);
    check(Backend::Landlock, mount(".git", true), Some("run later"));
    check(Backend::Landlock, mount(".git", false), None);
}

#[test]
fn only_a_mount_namespace_shows_a_directory_elsewhere() {
    check(Backend::Bubblewrap, |order, _| order.mounts[0].at = "/workspace".into(), None);
    check(Backend::Landlock, |order, _| order.mounts[0].at = "/workspace".into(), Some(NO_MOUNT_NAMESPACE));
    check(Backend::None, |order, _| order.mounts[0].at = "/workspace".into(), Some(NO_MOUNT_NAMESPACE));
    check(Backend::Bubblewrap, |order, _| order.mounts[0].at = "/usr/lib/x".into(), Some("its own files"));
    check(Backend::Bubblewrap, |order, _| order.mounts[0].at = "/".into(), Some("no plain path"));
}
