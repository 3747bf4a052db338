//! Can a program leave something behind that runs later on the host? Each row once absent and once present.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use chitin_jail::Choice;

use super::fixture::{BOTH, Bench, plainly};

/// Names at the top of a workspace, files and files in folders.
const NAMES: [&str; 27] = [
    ".bashrc",
    ".profile",
    ".zshrc",
    ".bash_profile",
    ".zshenv",
    ".gitconfig",
    ".gitmodules",
    ".mcp.json",
    ".envrc",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".claude/settings.json",
    ".codex/config.toml",
    ".ssh/config",
    ".hg/hgrc",
    ".cargo/config.toml",
    ".cargo/config",
    ".yarnrc.yml",
    ".yarnrc",
    ".npmrc",
    ".bash_aliases",
    ".cshrc",
    ".tcshrc",
    ".exrc",
    ".gdbinit",
    ".devcontainer/devcontainer.json",
    ".pre-commit-config.yaml",
];

fn plant(name: &str) -> String {
    format!("mkdir -p $(dirname {name}); echo evil > {name}; mv {name} {name}.x; echo evil > {name}; true")
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

#[tokio::test]
async fn an_absent_file_that_runs_later_is_not_made() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        for name in NAMES {
            let plain = tempfile::tempdir().expect("a folder");
            assert!(plainly(&plant(name), plain.path()).status.success());
            assert!(plain.path().join(name).exists(), "without the jail it is made: {name}");
            bench.run(&plant(name)).await;
            assert!(!bench.work.join(name).is_file(), "{choice:?} {name}");
        }
        // The twin: a name that nothing runs.
        bench.run(&plant("notes/today.md")).await;
        assert_eq!(text(&bench.work.join("notes/today.md")).as_deref(), Some("evil\n"));
    }
}

#[tokio::test]
async fn a_present_file_that_runs_later_stays_as_it_is() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        for name in NAMES {
            let path = bench.work.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(&path, "mine").expect("written");
        }
        for name in NAMES {
            bench.run(&plant(name)).await;
            bench.run(&format!("rm -f {name}; ln -s /etc/passwd {name}; true")).await;
            let path = bench.work.join(name);
            let kept = text(&path);
            // Without namespaces a file can be removed, which runs nothing, but not replaced.
            let fine = kept.as_deref() == Some("mine") || (choice == Choice::Landlock && !path.exists());
            assert!(fine, "{choice:?} {name}: {kept:?}");
        }
    }
}

#[tokio::test]
async fn hooks_and_configuration_of_a_repository_stay_as_they_are() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        assert!(plainly("git init -q . && git config alias.st status", &bench.work).status.success());
        let before = text(&bench.work.join(".git/config"));
        for line in [
            "printf '#!/bin/sh\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; true",
            "git config core.fsmonitor ./evil; git config core.sshCommand evil; true",
            "mv .git .old; mkdir .git && cp -r .old/. .git && git config core.fsmonitor ./evil; rm -rf .old; true",
            "rm -rf .git/hooks; mkdir -p .git/hooks; echo x > .git/hooks/post-checkout; true",
            "echo /tmp/x > .git/commondir; true",
        ] {
            bench.run(line).await;
            assert_eq!(text(&bench.work.join(".git/config")), before, "{choice:?} {line}");
            let hooks = fs::read_dir(bench.work.join(".git/hooks")).into_iter().flatten().filter_map(Result::ok);
            let live: Vec<_> = hooks
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .filter(|name| !name.ends_with(".sample") && !name.contains(".blocked"))
                .collect();
            assert_eq!(live, Vec::<String>::new(), "{choice:?} {line}");
            assert!(!bench.work.join(".git/commondir").exists(), "{choice:?}");
        }
        assert!(plainly("git status", &bench.work).status.success(), "{choice:?}: the repository still works");
    }
}

#[tokio::test]
async fn a_new_repository_works_but_carries_nothing_that_runs() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        bench
            .ok("git init -q sub && cd sub && git config user.name Kept && git config core.fsmonitor ./evil && \
                 printf '#!/bin/sh\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit && \
                 git init -q --bare ../bare && cd ../bare && git config core.hooksPath /tmp/x")
            .await;
        let config = text(&bench.work.join("sub/.git/config")).expect("there");
        assert!(config.contains("name = Kept") && !config.contains("fsmonitor"), "{choice:?} {config}");
        assert!(!bench.work.join("sub/.git/hooks/pre-commit").exists(), "{choice:?}");
        assert!(!text(&bench.work.join("bare/config")).expect("there").contains("hooksPath"), "{choice:?}");
        let notices = bench.jail.notices();
        assert!(notices.iter().any(|n| n.contains("pre-commit") && n.contains(".blocked")), "{choice:?} {notices:?}");
        assert!(plainly("git -C sub status && git -C bare log -1 || true", &bench.work).status.success());
    }
}

#[tokio::test]
async fn a_pointer_to_another_repository_is_not_made() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        bench.run("mkdir -p a b; echo 'gitdir: ../evil' > a/.git; ln -s ../evil b/.git; true").await;
        assert!(!bench.work.join("a/.git").exists(), "{choice:?}");
        assert!(fs::symlink_metadata(bench.work.join("b/.git")).is_err(), "{choice:?}");
    }
}

#[tokio::test]
async fn a_link_with_a_protected_name_is_put_back() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        fs::write(bench.work.join("mine.sh"), "mine").expect("written");
        std::os::unix::fs::symlink("mine.sh", bench.work.join(".envrc")).expect("linked");
        bench.run("rm .envrc; echo evil > .envrc; true").await;
        assert_eq!(fs::read_link(bench.work.join(".envrc")).expect("a link"), Path::new("mine.sh"), "{choice:?}");
        bench.run("mkdir -p deep/er; ln -s /etc deep/er/.vscode; true").await;
        assert!(fs::symlink_metadata(bench.work.join("deep/er/.vscode")).is_err(), "{choice:?}");
    }
}

#[tokio::test]
async fn covers_leave_nothing_behind_and_are_invisible_to_git() {
    let bench = Bench::new(Choice::Bubblewrap).await;
    let seen = bench.ok("git init -q . && echo a > a && git add -A && git commit -qm one && git ls-files").await;
    assert_eq!(seen, "a");
    bench.fails("echo x > .bashrc").await;
    bench.fails("rmdir .vscode").await;
    let left: Vec<_> =
        fs::read_dir(&bench.work).expect("there").filter_map(Result::ok).map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(bench.jail.notices(), Vec::<String>::new());
}

#[tokio::test]
async fn a_workspace_in_a_directory_that_only_its_owner_enters_works_too() {
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        let closed = bench.work.parent().expect("a folder");
        fs::set_permissions(closed, fs::Permissions::from_mode(0o700)).expect("set");
        fs::set_permissions(&bench.work, fs::Permissions::from_mode(0o700)).expect("set");
        fs::write(bench.outside.join("canary"), "secret").expect("written");
        assert_eq!(bench.ok("echo x > f && cat f").await, "x", "{choice:?}");
        bench.fails(&format!("cat {}/canary", bench.outside.display())).await;
    }
}

#[tokio::test]
async fn a_workspace_that_cannot_be_written_is_read_only_and_says_how_to_change_that() {
    if rustix::process::geteuid().is_root() {
        // Root may write everywhere; the workspace of another user is shown as the program's own.
        for choice in BOTH {
            let bench = Bench::new(choice).await;
            std::os::unix::fs::chown(&bench.work, Some(4_321), Some(4_321)).expect("given away");
            bench.ok("echo x > f").await;
            let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(bench.work.join("f")).expect("there"));
            assert_eq!(owner, 4_321, "{choice:?}");
        }
        return;
    }
    for choice in BOTH {
        let bench = Bench::new(choice).await;
        fs::write(bench.work.join("f"), "read").expect("written");
        fs::set_permissions(&bench.work, fs::Permissions::from_mode(0o555)).expect("set");
        assert_eq!(bench.ok("cat f").await, "read", "{choice:?}");
        bench.fails("echo x > g").await;
        let notices = bench.jail.notices();
        assert!(notices.iter().any(|n| n.contains("read-only") && n.contains("chmod -R u+rwX")), "{notices:?}");
        fs::set_permissions(&bench.work, fs::Permissions::from_mode(0o755)).expect("set");
    }
}
