//! What does a program see and may touch? The system's directories, its mounts, its own temporary places.

use std::path::{Path, PathBuf};

use crate::plan::{PathAccess, PathRule};

/// Programs and libraries; read-only.
pub(super) const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Settings that compilers, TLS libraries and the linker need. Nothing else of `/etc` is there.
pub(super) const SETTINGS: [&str; 8] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/pki",
    "/etc/ssl",
];
/// Devices that hold nothing.
pub(super) const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Where programs without a slash are looked for.
const SEARCH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Private places of a program.
pub(super) struct Places {
    pub home: PathBuf,
    pub temporary: PathBuf,
    /// Settings of git below those of any user or repository.
    pub git_settings: PathBuf,
}

impl Places {
    /// Inside namespaces everything private lies on a file system in memory.
    pub(super) fn inside() -> Self {
        Self { home: "/tmp/home".into(), temporary: "/tmp".into(), git_settings: "/etc/gitconfig".into() }
    }

    /// Without namespaces they lie in the directory of the call.
    pub(super) fn below(call_dir: &Path) -> Self {
        Self {
            home: call_dir.join("home"),
            temporary: call_dir.join("tmp"),
            git_settings: call_dir.join("etc/gitconfig"),
        }
    }

    /// The whole environment: these, and what the order names.
    pub(super) fn environment(&self, more: &[(String, String)]) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        // Home is private and not the workspace: start-up files in a workspace are protected, and tools that read
        // their settings from home would stumble over them, and leave caches in it.
        let own = [
            ("PATH", SEARCH.to_owned()),
            ("HOME", text(&self.home)),
            ("TMPDIR", text(&self.temporary)),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "dumb".to_owned()),
            ("GIT_CONFIG_SYSTEM", text(&self.git_settings)),
        ];
        own.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(more.iter().cloned()).collect()
    }
}

/// Rules for a program inside namespaces, where every path below `/` was put there for it.
pub(super) fn rules_inside(mounts: impl Iterator<Item = (PathBuf, bool)>) -> Vec<PathRule> {
    let mut rules = vec![rule("/", PathAccess::List), rule("/etc", PathAccess::Read), rule("/proc", PathAccess::Read)];
    rules.extend(present(&SYSTEM, PathAccess::Run));
    rules.extend(DEVICES.iter().map(|path| rule(path, PathAccess::Device)));
    rules.extend(["/tmp", "/dev/shm"].iter().map(|path| rule(path, PathAccess::Change)));
    rules.extend(mounts.map(|(at, writable)| of_mount(at, writable)));
    rules
}

/// Rules for a program that sees the host's own paths.
pub(super) fn rules_on_host(mounts: impl Iterator<Item = (PathBuf, bool)>, call_dir: &Path) -> Vec<PathRule> {
    let mut rules = vec![rule("/proc", PathAccess::Read), rule(call_dir, PathAccess::Read)];
    rules.extend(present(&SYSTEM, PathAccess::Run));
    rules.extend(present(&SETTINGS, PathAccess::Read));
    rules.extend(present(&DEVICES, PathAccess::Device));
    rules.extend(["home", "tmp"].iter().map(|name| rule(call_dir.join(name), PathAccess::Change)));
    rules.extend(mounts.map(|(at, writable)| of_mount(at, writable)));
    rules
}

fn of_mount(at: PathBuf, writable: bool) -> PathRule {
    rule(at, if writable { PathAccess::Change } else { PathAccess::Run })
}

fn present(paths: &[&str], access: PathAccess) -> Vec<PathRule> {
    paths.iter().filter(|path| Path::new(path).exists()).map(|path| rule(path, access)).collect()
}

fn rule(path: impl AsRef<Path>, access: PathAccess) -> PathRule {
    PathRule { path: path.as_ref().to_path_buf(), access }
}

/// Files that stand for the host's own: name and content.
pub(super) const SYNTHETIC: [(&str, &str); 5] = [
    ("passwd", "tool:x:1000:1000:chitin sandbox:/tmp/home:/bin/sh\n"),
    ("group", "tool:x:1000:\n"),
    ("hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    // Lowest of all settings: a repository may belong to another user than the program, and a commit needs a name.
    (
        "gitconfig",
        "[safe]\n\tdirectory = *\n[user]\n\tname = chitin sandbox\n\temail = sandbox@chitin.invalid\n\
         [init]\n\tdefaultBranch = main\n",
    ),
];
