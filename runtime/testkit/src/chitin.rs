//! How is the built binary used from outside? A temporary home and arguments go in; what it printed comes out.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::Command;

/// A temporary home, and the binary that uses it.
pub struct Chitin {
    binary: PathBuf,
    dir: tempfile::TempDir,
}

/// What one command did.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The exit code; -1 after a signal.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ran {
    /// Commands that a `help:` line offered.
    pub fn offered(&self) -> Vec<String> {
        self.err.lines().filter_map(|line| line.split_once("help: ")).map(|(_, rest)| rest.trim().to_owned()).collect()
    }

    /// The JSON document on standard output.
    ///
    /// # Panics
    /// There is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("no JSON on standard output ({e}): {self:?}"))
    }
}

impl Chitin {
    /// An empty temporary home.
    ///
    /// # Panics
    /// The binary was not built.
    pub fn new() -> Self {
        let binary = binary();
        Self { binary, dir: tempfile::tempdir().expect("a temporary directory") }
    }

    /// A home after `onboard`.
    ///
    /// # Panics
    /// `onboard` failed.
    pub async fn onboarded() -> Self {
        let chitin = Self::new();
        let ran = chitin.run(&["-y", "onboard"]).await;
        assert_eq!(ran.code, 0, "onboard: {ran:?}");
        chitin
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// The workspace inside the home.
    pub fn workspace(&self) -> PathBuf {
        self.home().join("workspace")
    }

    /// The temporary directory around the home, for files that no root holds.
    pub fn outside(&self) -> &Path {
        self.dir.path()
    }

    /// A command on this home, with nothing of this process's environment but what a program needs to start.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.dir.path());
        command.arg("--home").arg(self.home()).args(args).kill_on_drop(true).stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    ///
    /// # Panics
    /// The binary does not start.
    pub async fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().await.expect("the binary starts");
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs a command as a line of text, `chitin` in front, as a help line offers it.
    ///
    /// # Panics
    /// The line is no command of ours.
    pub async fn run_line(&self, line: &str) -> Ran {
        let words = split(line);
        let (first, rest) = words.split_first().expect("a command");
        assert_eq!(first, "chitin", "{line}");
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        self.run(&rest).await
    }
}

impl Default for Chitin {
    fn default() -> Self {
        Self::new()
    }
}

/// The binary that this test run built.
///
/// # Panics
/// It is not there.
pub fn binary() -> PathBuf {
    let own = std::env::current_exe().expect("the path of this program");
    let found = own.ancestors().map(|dir| dir.join("chitin")).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("the binary chitin is not built: run `cargo xtask setup`"))
}

/// Words of a command line, with single and double quotes.
pub fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut begun) = (String::new(), None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => (quote, begun) = (Some(c), true),
            (None, c) if c.is_whitespace() => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (_, c) => word.push(c),
        }
    }
    if begun || !word.is_empty() {
        words.push(word);
    }
    words
}
