//! What is out of reach? Each thing is first reached without the jail by the same command, then not from inside.

use std::{
    fs,
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use chitin_jail::Choice;

use super::fixture::{BOTH, Bench, plainly, said};

/// The command works without the jail, fails inside.
async fn check(make: impl Fn(&Bench) -> String) {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        let line = make(&bench);
        let without = plainly(&line, &bench.work);
        assert!(without.status.success(), "out of reach even without the jail: {line}: {without:?}");
        bench.fails(&line).await;
    }
}

#[tokio::test]
async fn a_file_outside_the_workspace_cannot_be_read() {
    check(|bench| {
        let canary = bench.outside.join("canary");
        fs::write(&canary, "secret").expect("written");
        format!("cat {}", canary.display())
    })
    .await;
}

#[tokio::test]
async fn a_file_outside_the_workspace_cannot_be_made_changed_or_removed() {
    check(|bench| {
        let canary = bench.outside.join("canary");
        fs::write(&canary, "secret").expect("written");
        format!("echo more >> {}", canary.display())
    })
    .await;
    check(|bench| format!("echo new > {}/new", bench.outside.display())).await;
    check(|bench| {
        for name in ["gone-a", "gone-b"] {
            fs::write(bench.outside.join(name), "x").expect("written");
        }
        // One for the run without the jail, which really removes it, one for the run inside.
        format!("rm {0}/gone-a || rm {0}/gone-b", bench.outside.display())
    })
    .await;
}

#[tokio::test]
async fn a_link_out_of_the_workspace_leads_nowhere() {
    check(|bench| {
        fs::write(bench.outside.join("canary"), "secret").expect("written");
        std::os::unix::fs::symlink(&bench.outside, bench.work.join("out")).expect("linked");
        "cat out/canary".to_owned()
    })
    .await;
}

#[tokio::test]
async fn system_directories_homes_and_machine_settings_are_out_of_reach() {
    if rustix::process::geteuid().is_root() {
        check(|_| "touch /usr/chitin-canary && rm /usr/chitin-canary".to_owned()).await;
        check(|_| "ls /root".to_owned()).await;
        check(|_| "head -c 1 /etc/shadow".to_owned()).await;
        check(|_| "c=/proc/sys/kernel/core_pattern; v=$(cat $c) && echo \"$v\" > $c".to_owned()).await;
    }
    check(|_| "ls /home".to_owned()).await;
    check(|_| "cat /etc/machine-id /etc/hostname".to_owned()).await;
}

#[tokio::test]
async fn a_listener_on_loopback_cannot_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("an address").port();
    let accepted = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&accepted);
    thread::spawn(move || {
        for _ in listener.incoming() {
            counting.fetch_add(1, Ordering::SeqCst);
        }
    });
    check(|_| format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'")).await;
    assert_eq!(accepted.load(Ordering::SeqCst), BOTH.len(), "only the commands without the jail arrived");
}

#[tokio::test]
async fn no_family_of_sockets_can_be_made() {
    for family in [
        "AF_INET, s.SOCK_STREAM",
        "AF_INET, s.SOCK_STREAM, 262",
        "AF_INET, s.SOCK_DGRAM",
        "AF_INET6, s.SOCK_STREAM",
        "AF_UNIX, s.SOCK_STREAM",
        "AF_NETLINK, s.SOCK_RAW",
        "AF_VSOCK, s.SOCK_STREAM",
    ] {
        check(|_| format!("/usr/bin/python3 -c 'import socket as s; s.socket(s.{family})'")).await;
    }
    for choice in BOTH {
        // The twin: a pair of connected ones, which runtimes need.
        Bench::new(choice).await.ok("/usr/bin/python3 -c 'import socket; socket.socketpair()'").await;
    }
}

#[tokio::test]
async fn the_daemons_environment_is_not_inherited() {
    let (name, value) = ("CARGO_PKG_NAME", "chitin-jail");
    assert_eq!(std::env::var(name).as_deref(), Ok(value), "the test runner sets it");
    check(|_| format!("test \"${name}\" = {value}")).await;
    for choice in BOTH {
        let names = Bench::new(choice).await.ok("env | cut -d= -f1 | sort | tr '\\n' ' '").await;
        assert_eq!(names, "GIT_CONFIG_SYSTEM HOME LANG PATH PWD TERM TMPDIR", "{choice:?}");
    }
}

#[tokio::test]
async fn another_process_can_be_neither_signalled_nor_looked_into() {
    let mut victim = std::process::Command::new("sleep").arg("600").spawn().expect("starts");
    let pid = victim.id();
    check(|_| format!("kill -0 {pid}")).await;
    check(|_| format!("head -c 1 /proc/{pid}/environ")).await;
    check(|_| format!("cd /proc/{pid}/root && ls")).await;
    if rustix::process::geteuid().is_root() {
        // An ordinary user's programs without namespaces see command lines: a known gap.
        check(|_| format!("cat /proc/{pid}/cmdline")).await;
    }
    victim.kill().expect("killed");
    victim.wait().expect("reaped");
}

#[tokio::test]
async fn calls_into_the_kernel_that_no_program_needs_are_refused() {
    let call = |arguments: &str| {
        format!(
            "/usr/bin/python3 -c 'import ctypes, os, sys; l = ctypes.CDLL(None, use_errno=True); r = l.syscall({arguments}); \
             print(r, ctypes.get_errno()); sys.exit(r >= 0)'"
        )
    };
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        // The twin: a call that is not on the list.
        assert!(bench.run(&call("39")).await.code == Some(1), "getpid answers");
        #[cfg(target_arch = "x86_64")]
        for (name, arguments, errno) in [
            ("unshare", "272, 0x10000000", 1),
            ("clone with a user namespace", "56, 0x10000011, 0, 0, 0, 0", 1),
            ("clone3", "435, 0, 0", 38),
            ("io_uring_setup", "425, 1, 0", 38),
            ("openat2", "437, 0, 0, 0, 0", 38),
            ("ptrace", "101, 0, 0, 0, 0", 1),
            ("bpf", "321, 0, 0, 0", 1),
            ("keyctl", "250, 0, 0, 0, 0, 0", 1),
            ("mount", "165, 0, 0, 0, 0, 0", 1),
            ("perf_event_open", "298, 0, 0, 0, 0, 0", 1),
            ("userfaultfd", "323, 0", 1),
            ("prlimit64 of another process", "302, 1, 7, 0, 0", 1),
            ("setpriority of a whole user", "141, 2, 0, 5", 1),
            ("ioctl TIOCSTI", "16, 0, 0x5412, 0", 1),
            ("a call in the x32 numbering", "0x40000000 + 39", 38),
        ] {
            let ended = bench.run(&call(arguments)).await;
            let expected = format!("-1 {errno}");
            assert_eq!(String::from_utf8_lossy(&ended.out).trim(), expected, "{choice:?} {name}: {}", said(&ended));
        }
    }
}

#[tokio::test]
async fn no_file_can_be_made_to_run_as_its_owner() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        bench.ok("cp /bin/true t && chmod 755 t && chmod 1777 .").await;
        bench.fails("chmod u+s t").await;
        bench.fails("chmod 2755 t").await;
        bench.fails("/usr/bin/python3 -c 'import os; os.open(\"s\", os.O_CREAT | os.O_WRONLY, 0o4755)'").await;
        bench.fails("install -m 4755 /bin/true u").await;
    }
}

#[tokio::test]
async fn nothing_but_the_three_streams_is_open_and_there_is_no_terminal() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        // The fourth is the one through which `ls` reads.
        assert_eq!(bench.ok("ls /proc/self/fd | tr '\\n' ' '").await, "0 1 2 3", "{choice:?}");
        bench.fails("echo x > /dev/tty").await;
        bench.fails("tty").await;
    }
}

#[tokio::test]
async fn inside_the_namespaces_there_is_nothing_but_what_was_put_there() {
    let bench = Bench::new(Choice::Bubblewrap).await;
    assert_eq!(bench.ok("ls / | tr '\\n' ' '").await, {
        let mut seen = vec!["dev", "etc", "proc", "run", "tmp", "usr", "var", "workspace"];
        let system = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];
        seen.extend(system.into_iter().filter(|name| std::path::Path::new("/").join(name).exists()));
        seen.sort_unstable();
        seen.join(" ")
    });
    // The helper, the shell, ls and wc at most.
    bench.ok("test $(ls -d /proc/[0-9]* | wc -l) -le 5").await;
    bench.fails("touch /x").await;
    bench.fails("touch /dev/x").await;
    bench.fails("touch /etc/x").await;
    bench.ok("touch /tmp/x /dev/shm/x").await;
}
