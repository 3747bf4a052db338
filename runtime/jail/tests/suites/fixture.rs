//! What do the tests stand on? A jail with one backend, a workspace, and the same command with and without the jail.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use chitin_jail::{Backend, Choice, Jail, JailConfig};
use chitin_ports::{Ended, Order, Spawn, SpawnError, SpawnMount};
use tempfile::TempDir;
use tokio::sync::watch;

/// The backends that every row is run against.
pub const BOTH: [Choice; 2] = [Choice::Bubblewrap, Choice::Landlock];

/// The helper that cargo built beside the tests.
pub fn helper() -> PathBuf {
    let built = || PathBuf::from(env!("CARGO_BIN_EXE_chitin-jail-child"));
    std::env::var_os(HELPER_FOR_ORDINARY).map_or_else(built, PathBuf::from)
}

/// Runs the test `name` again as a user without rights, which root tests cannot show otherwise.
pub fn as_ordinary_user(name: &str) {
    let dir = tempfile::tempdir().expect("a folder");
    let (test, child) = (dir.path().join("test"), dir.path().join("child"));
    // The directory of the build may be closed to others.
    fs::copy(std::env::current_exe().expect("a program"), &test).expect("copied");
    fs::copy(helper(), &child).expect("copied");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("set");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=61000", "--regid=61000", "--clear-groups"]).arg(&test).args(["--exact", name]);
    let out = command.env(HELPER_FOR_ORDINARY, child).env("TMPDIR", "/tmp").env("HOME", "/tmp").current_dir("/");
    let out = out.output().expect("setpriv runs (Debian package: util-linux)");
    let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success() && said.contains("1 passed"), "{said}");
}

/// Where the helper lies for a test that runs as an ordinary user.
const HELPER_FOR_ORDINARY: &str = "CHITIN_TEST_HELPER";

/// A jail and directories that go away with it.
pub struct Bench {
    pub jail: Jail,
    pub choice: Choice,
    _home: TempDir,
    /// The writable directory that programs are given.
    pub work: PathBuf,
    /// A directory that they are not given.
    pub outside: PathBuf,
}

impl Bench {
    /// A jail that has to work with this backend.
    pub async fn new(choice: Choice) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().canonicalize().expect("its own name");
        for name in ["work", "outside"] {
            fs::create_dir(root.join(name)).expect("made");
        }
        let config = JailConfig { helper: helper(), scratch: root.join("scratch"), choice };
        let jail = Jail::new(config);
        let verdict = jail.verdict().await;
        assert!(
            verdict.backend.is_some(),
            "this test needs a working sandbox; Debian package: bubblewrap; kernel 6.12 or later. {}",
            verdict.reasons()
        );
        Self { jail, choice, work: root.join("work"), outside: root.join("outside"), _home: home }
    }

    /// Where programs see the workspace.
    pub fn at(&self) -> PathBuf {
        match self.choice {
            Choice::Bubblewrap => "/workspace".into(),
            Choice::Detect | Choice::Landlock | Choice::None => self.work.clone(),
        }
    }

    /// An order for a line of shell in the workspace.
    pub fn order(&self, line: &str) -> Order {
        order(line, SpawnMount { from: self.work.clone(), at: self.at(), writable: true })
    }

    /// Runs a line of shell in the jail.
    pub async fn run(&self, line: &str) -> Ended {
        self.try_run(line).await.expect(line)
    }

    /// As [`Self::run`], with the error.
    pub async fn try_run(&self, line: &str) -> Result<Ended, SpawnError> {
        self.jail.spawn(self.order(line)).await
    }

    /// Runs a line that has to succeed and gives its output.
    pub async fn ok(&self, line: &str) -> String {
        let ended = self.run(line).await;
        assert_eq!(ended.code, Some(0), "{:?}: {line}\n{}", self.choice, said(&ended));
        String::from_utf8_lossy(&ended.out).trim().to_owned()
    }

    /// Runs a line that has to fail and gives all it said.
    pub async fn fails(&self, line: &str) -> String {
        let ended = self.run(line).await;
        assert_ne!(ended.code, Some(0), "{:?}: {line} worked\n{}", self.choice, said(&ended));
        said(&ended)
    }

    /// The word of the backend.
    pub fn word(&self) -> &'static str {
        match self.choice {
            Choice::Bubblewrap => Backend::Bubblewrap.word(),
            Choice::Landlock => Backend::Landlock.word(),
            Choice::Detect | Choice::None => Backend::None.word(),
        }
    }
}

/// An order with room for compilers and interpreters.
pub fn order(line: &str, mount: SpawnMount) -> Order {
    Order {
        argv: ["sh", "-c", line].map(str::to_owned).into(),
        cwd: mount.at.clone(),
        env: vec![],
        stdin: vec![],
        mounts: vec![mount],
        wall_ms: 60_000,
        cpu_s: 30,
        memory_mib: 1_024,
        output_kib: 256,
        processes: 64,
        file_mib: 64,
        cancelled: watch::channel(false).1,
        outlet: None,
    }
}

/// Everything that a program said.
pub fn said(ended: &Ended) -> String {
    format!("{ended:?}\n{}{}", String::from_utf8_lossy(&ended.out), String::from_utf8_lossy(&ended.err))
}

/// Runs a line of shell without any jail.
pub fn plainly(line: &str, cwd: &Path) -> Output {
    Command::new("bash").args(["-c", line]).current_dir(cwd).output().expect("bash runs (Debian package: bash)")
}

/// Processes whose command line holds `mark`.
pub fn running(mark: &str) -> Vec<u32> {
    let all = fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    let numbered = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let own = std::process::id();
    numbered
        .filter(|pid| *pid != own)
        .filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(mark)
        })
        .collect()
}

/// A number of seconds that nothing else sleeps for, by which a process is found again.
pub fn mark(row: u32) -> String {
    format!("3{row:02}.{:06}", std::process::id() % 1_000_000)
}
