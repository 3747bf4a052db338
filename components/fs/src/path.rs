//! Which file a text means: relative paths start at the workspace, absolute ones are taken as they are.
//!
//! Nothing is resolved here. What `..` and links lead to is decided by the host, below the roots that it opened; a second
//! opinion in the guest could only differ from it.

use std::fmt;
use std::path::{Path, PathBuf};

use chitin_sdk::Failure;

/// A path that the guest may ask for, and the form in which it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GuestPath {
    path: PathBuf,
}

impl GuestPath {
    /// # Errors
    ///
    /// `invalid-input` for an empty path and for one that no file system takes.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let refuse = |reason: &str| Err(Failure::invalid_input(format!("`path` {reason}")).with_code("bad-path"));
        if text.is_empty() {
            return refuse("is empty; `.` is the workspace");
        }
        if text.contains('\0') {
            return refuse("holds a null character");
        }
        if text.chars().count() > CHARACTERS_MAX as usize {
            return refuse("is too long");
        }
        let below = text.strip_prefix("./").unwrap_or(text);
        let path =
            if below == "." || below.is_empty() { PathBuf::from(WORKSPACE) } else { Path::new(WORKSPACE).join(below) };
        Ok(Self { path })
    }

    /// What a call means that leaves the path out.
    pub(crate) fn parse_or_workspace(text: Option<&str>) -> Result<Self, Failure> {
        Self::parse(text.unwrap_or("."))
    }

    /// The path of something found below this one.
    pub(crate) fn below(&self, relative: &str) -> Self {
        Self { path: self.path.join(relative) }
    }

    /// The path of another name in the same directory.
    pub(crate) fn beside(&self, name: &str) -> Self {
        Self { path: self.path.with_file_name(name) }
    }

    pub(crate) fn as_path(&self) -> &Path {
        &self.path
    }
}

/// The shortest form that means the same file when it is passed back.
impl fmt::Display for GuestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.strip_prefix(WORKSPACE) {
            Ok(below) if below.as_os_str().is_empty() => f.write_str("."),
            Ok(below) => write!(f, "{}", below.display()),
            Err(_) => write!(f, "{}", self.path.display()),
        }
    }
}

const WORKSPACE: &str = "/workspace";
/// Longer than any path that works; stops a page that was passed as a path by mistake.
pub(crate) const CHARACTERS_MAX: u32 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, path: &str, shown: &str) {
        let parsed = GuestPath::parse(text).expect("a path");
        assert_eq!((parsed.as_path().to_str(), parsed.to_string().as_str()), (Some(path), shown));
    }

    #[test]
    fn relative_paths_start_at_the_workspace() {
        check("a.txt", "/workspace/a.txt", "a.txt");
        check("./a/b", "/workspace/a/b", "a/b");
        check(".", "/workspace", ".");
        check("./", "/workspace", ".");
        check("/workspace/a", "/workspace/a", "a");
        check("/project/a", "/project/a", "/project/a");
        check("../a", "/workspace/../a", "../a");
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["", "a\0b", "x".repeat(5000).as_str()] {
            let code = GuestPath::parse(text).expect_err("not a path").code;
            assert_eq!(code.as_deref(), Some("bad-path"));
        }
    }
}
