//! Can a program hide what runs later from the look after the call? Deep, split, closed, drowned, and moved aside with it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use chitin_ports::SpawnError;

use super::fixture::{BOTH, Bench, as_ordinary_user, said};

/// Makes a repository that runs something in four ways in `dir`, which is there.
fn trap(dir: &str) -> String {
    format!(
        "(cd {dir} && git init -q . && git config core.fsmonitor 'touch PWNED' && echo x > .envrc && \
         printf '#!/bin/sh\\n' > .git/hooks/post-checkout && chmod +x .git/hooks/post-checkout)"
    )
}

/// What of a trap is still set.
fn live(dir: &Path) -> Vec<PathBuf> {
    let mut live: Vec<PathBuf> = [".envrc", ".git/hooks/post-checkout"].iter().map(|name| dir.join(name)).collect();
    live.retain(|path| path.exists());
    if fs::read_to_string(dir.join(".git/config")).expect("there").contains("fsmonitor") {
        live.push(dir.join(".git/config"));
    }
    live
}

#[tokio::test]
async fn depth_hides_nothing() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        for dir in
            ["near", "a/b/c/d/e/f", "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20", "n/.envrc/x", "n/.git/x"]
        {
            let ended = bench.run(&format!("mkdir -p {dir} && {}", trap(dir))).await;
            assert_eq!(live(&bench.work.join(dir)), Vec::<PathBuf>::new(), "{choice:?} {}", said(&ended));
            let told = ended
                .notices
                .iter()
                .any(|n| n.contains(&format!("{dir}/.git/hooks/post-checkout was put aside as post-checkout.blocked")));
            assert!(told, "{choice:?} {:?}", ended.notices);
        }
    }
}

#[tokio::test]
async fn a_repository_split_over_two_directories_is_one() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        let setting = "[core]\\n\\tfsmonitor = touch PWNED\\n";
        bench
            .ok(&format!(
                "mkdir -p x y/objects y/refs/heads && echo 'ref: refs/heads/main' > x/HEAD && echo ../y > x/commondir && \
                 printf '{setting}' > x/config.worktree && printf '{setting}' > y/config && \
                 mkdir -p plain && printf '{setting}' > plain/config"
            ))
            .await;
        let text = |path: &str| fs::read_to_string(bench.work.join(path)).unwrap_or_default();
        for path in ["x/config.worktree", "y/config"] {
            assert!(!text(path).contains("fsmonitor"), "{choice:?} {path}: {}", text(path));
        }
        assert!(!bench.work.join("x/commondir").exists(), "{choice:?}");
        // The twin: a file of the name where git does not look.
        assert!(text("plain/config").contains("fsmonitor"), "{choice:?}");
    }
}

#[tokio::test]
async fn a_directory_that_a_program_closed_to_its_own_user_is_looked_into() {
    if rustix::process::geteuid().is_root() {
        // Root enters every directory.
        as_ordinary_user("suites::hidden::a_directory_that_a_program_closed_to_its_own_user_is_looked_into");
        return;
    }
    for choice in BOTH {
        for close in [
            "chmod 0311 x/y",
            "chmod 0311 x/y x",
            "chmod 0 x",
            "chmod 0600 x",
            "chmod 0555 x/y/.git/hooks x/y",
            "chmod 0311 x/y/.git/hooks x/y/.git",
            "chmod 0311 .",
            "chmod 0 .",
        ] {
            let bench = Bench::new(choice).await;
            let mine = bench.work.join("mine/.git/hooks");
            fs::create_dir_all(&mine).expect("made");
            fs::write(mine.join("pre-commit"), "mine").expect("written");
            let shut = fs::Permissions::from_mode(0o311);
            fs::set_permissions(bench.work.join("mine"), shut.clone()).expect("set");
            let ended = bench.run(&format!("mkdir -p x/y && {} && {close}", trap("x/y"))).await;
            assert_eq!(ended.code, Some(0), "{choice:?} {close} {}", said(&ended));
            assert_eq!(live(&bench.work.join("x/y")), Vec::<PathBuf>::new(), "{choice:?} {close} {:?}", ended.notices);
            // The twin: what its user had closed stays as it was.
            let mode = fs::metadata(bench.work.join("mine")).expect("there").permissions().mode() & 0o777;
            assert_eq!((mode, mine.join("pre-commit").exists()), (0o311, true), "{choice:?} {close}");
            fs::set_permissions(bench.work.join("mine"), fs::Permissions::from_mode(0o755)).expect("set");
        }
    }
}

#[tokio::test]
async fn a_flood_of_files_does_not_end_the_look_early() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        let flood = "mkdir a b && (cd a && seq 60000 | xargs touch) && (cd b && seq 1000 | xargs mkdir)";
        let ended = bench.run(&format!("{flood} && mkdir z && {}", trap("z"))).await;
        assert_eq!(ended.code, Some(0), "{choice:?} {}", said(&ended));
        assert_eq!(live(&bench.work.join("z")), Vec::<PathBuf>::new(), "{choice:?}");
    }
}

/// Makes so many directories in one another.
fn nest(depth: usize) -> String {
    format!("i=0; while [ $i -lt {depth} ]; do mkdir d && cd d || exit 1; i=$((i+1)); done")
}

#[tokio::test]
async fn a_look_that_a_program_cut_short_is_an_error() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        // The twin lies just within what is looked through.
        assert_eq!(bench.run(&nest(250)).await.notices, Vec::<String>::new(), "{choice:?}");
        fs::remove_dir_all(bench.work.join("d")).expect("removed");
        let error = bench.try_run(&nest(300)).await.expect_err("the look was cut");
        assert!(matches!(&error, SpawnError::Unsettled(why) if why.contains("more files")), "{choice:?} {error}");
        assert!(bench.work.join("d/d/d").exists(), "{choice:?}: what was written stays");
        // Whoever has such a workspace can work on, and is told.
        let ended = bench.run("true").await;
        assert!(ended.notices.iter().any(|n| n.contains("more files")), "{choice:?} {:?}", ended.notices);
    }
}

#[tokio::test]
async fn what_is_put_aside_carries_nothing_that_runs() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        bench.run(&format!("mkdir -p a/.vscode/b/.idea/c && {}", trap("a/.vscode/b/.idea/c"))).await;
        let aside = bench.work.join("a/.vscode.blocked/b/.idea.blocked/c");
        assert_eq!(live(&aside), Vec::<PathBuf>::new(), "{choice:?}");
    }
}
