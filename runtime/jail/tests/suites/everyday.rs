//! Can one work inside? What breaks here makes people switch the sandbox off.

use super::fixture::{BOTH, Bench};

async fn check(line: &str, expected: &str) {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        let out = bench.ok(line).await;
        assert!(out.contains(expected), "{choice:?}: {line}\ngave {out}\nwanted {expected}");
    }
}

#[tokio::test]
async fn a_repository_is_made_and_committed_to() {
    check(
        "git init -q . && echo a > a.txt && git add -A && git commit -qm first && git log --oneline | wc -l && \
         git checkout -qb next && git status --short | wc -l && git branch --show-current",
        "next",
    )
    .await;
}

#[tokio::test]
async fn a_repository_of_the_user_takes_another_commit() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        let made = super::fixture::plainly(
            "git init -q . && git config user.email a@b.test && git config user.name A && echo a > a && git add a && \
             git commit -qm one",
            &bench.work,
        );
        assert!(made.status.success(), "{made:?}");
        assert_eq!(
            bench.ok("echo b > b && git add -A && git commit -qm two && git log --format=%an | head -1").await,
            "A"
        );
        let listed =
            super::fixture::plainly("git status --short; git log --oneline | wc -l; ls -A | tr '\\n' ' '", &bench.work);
        assert_eq!(String::from_utf8_lossy(&listed.stdout), "2\n.git a b ", "{choice:?}");
    }
}

#[tokio::test]
async fn a_c_program_is_compiled_and_run() {
    let source = "#include <stdio.h>\nint main(void) { puts(\"compiled\"); return 0; }";
    check(&format!("printf '%s\\n' '{source}' > a.c && cc -O1 a.c -o a.out && ./a.out"), "compiled").await;
}

#[tokio::test]
async fn python_runs_and_starts_another_program() {
    check(
        "python3 -c 'import subprocess, tempfile; f = tempfile.NamedTemporaryFile(); \
         print(subprocess.check_output([\"echo\", \"from python\"]).decode())'",
        "from python",
    )
    .await;
}

#[tokio::test]
async fn node_runs_and_starts_another_program() {
    check(
        "node -e 'require(\"crypto\").randomBytes(8); \
         console.log(require(\"child_process\").execSync(\"echo from node\").toString())'",
        "from node",
    )
    .await;
}

#[tokio::test]
async fn temporary_files_pipes_and_own_processes_work() {
    check("f=$(mktemp) && echo kept > \"$f\" && cat \"$f\"", "kept").await;
    check("printf 'b\\na\\n' | sort | head -1 | tr a-z A-Z", "A").await;
    check("ls /proc/self > /dev/null && cat /proc/self/comm", "cat").await;
    check("echo gone > /dev/null && head -c 4 /dev/urandom | wc -c", "4").await;
    check(
        "mkdir -p sub/dir && echo x > sub/dir/f && mv sub other && cp -r other copy && rm -r other && cat copy/dir/f",
        "x",
    )
    .await;
    check("echo $HOME > /dev/null && echo x > \"$HOME/f\" && cat \"$HOME/f\"", "x").await;
    check("test -w . && pwd && (sleep 0 &) && wait && echo done", "done").await;
}

#[tokio::test]
async fn what_is_written_belongs_to_whoever_owns_the_workspace() {
    use std::os::unix::fs::MetadataExt;
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        bench.ok("mkdir d && echo x > d/f").await;
        let owner = std::fs::metadata(&bench.work).expect("there").uid();
        for path in ["d", "d/f"] {
            assert_eq!(std::fs::metadata(bench.work.join(path)).expect("there").uid(), owner, "{choice:?} {path}");
        }
    }
}

#[tokio::test]
async fn input_is_given_through_a_pipe_and_larger_than_one() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        let mut order = bench.order("wc -c; test -p /dev/stdin && echo pipe");
        order.stdin = vec![b'x'; 1_000_000];
        let ended = chitin_ports::Spawn::spawn(&bench.jail, order).await.expect("runs");
        assert_eq!(String::from_utf8_lossy(&ended.out), "1000000\npipe\n", "{choice:?}");
        assert_eq!(bench.ok("wc -c").await, "0", "without input it is the null device");
    }
}

#[tokio::test]
async fn the_identity_inside_is_an_ordinary_user() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        assert_ne!(bench.ok("id -u").await, "0", "{choice:?}");
    }
    let bench = Bench::new(chitin_jail::Choice::Bubblewrap).await;
    assert_eq!(bench.ok("whoami").await, "tool");
}
