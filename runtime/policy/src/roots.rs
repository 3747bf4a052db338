//! Which directories of the host may be named as a root? A canonical path goes in; a reason to refuse comes out.
//!
//! A root inside a system directory hands a tool the machine, and one that contains a dot directory of credentials hands
//! it the user. The check is on the canonical path: the caller resolves links first.

use std::path::Path;

/// The directories that are no one's workspace. A folder of a user's own below the last four is fine.
const SYSTEM: [&str; 14] = [
    "/etc", "/usr", "/bin", "/sbin", "/lib", "/opt", "/boot", "/dev", "/proc", "/sys", "/home", "/root", "/var", "/tmp",
];
/// Of [`SYSTEM`], those below which a user keeps folders of their own.
const WITH_OWN_FOLDERS: [&str; 4] = ["/home", "/root", "/var", "/tmp"];
/// Names that hold credentials or start programs, wherever they lie.
const CREDENTIALS: [&str; 4] = [".ssh", ".gnupg", ".aws", ".config"];

/// Where a root would lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootPlace<'a> {
    /// Its canonical absolute path.
    pub path: &'a Path,
    /// The user's home directory, which contains the credentials.
    pub home: Option<&'a Path>,
    /// The directory that holds chitin's own state.
    pub state: &'a Path,
}

/// Why a directory cannot be a root.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} cannot be a root: it {why}")]
pub struct RootError {
    /// The path that was refused.
    pub path: String,
    /// A phrase that fits after "it".
    pub why: String,
}

/// Whether a path could be a root at all, by its words alone: no line should be offered that would then be refused.
pub fn could_be_root(path: &str) -> bool {
    // No home and no state lie at the top, so only the fixed lists count.
    let nowhere = Path::new("/nowhere/state");
    check_root(&RootPlace { path: Path::new(path), home: None, state: nowhere }).is_ok()
}

/// Checks one root.
///
/// # Errors
/// It is, contains or lies inside a directory that no tool may have.
pub fn check_root(place: &RootPlace<'_>) -> Result<(), RootError> {
    let RootPlace { path, home, state } = *place;
    let refuse = |why: String| Err(RootError { path: path.display().to_string(), why });
    if !path.is_absolute() {
        return refuse("is not absolute".to_owned());
    }
    for system in SYSTEM {
        let dir = Path::new(system);
        if dir == path || dir.starts_with(path) {
            return refuse(format!("is or contains {system}"));
        }
        if path.starts_with(dir) && !WITH_OWN_FOLDERS.contains(&system) {
            return refuse(format!("lies inside {system}"));
        }
    }
    if let Some(name) = path.iter().filter_map(|c| c.to_str()).find(|c| CREDENTIALS.contains(c)) {
        return refuse(format!("lies inside {name}, which holds credentials"));
    }
    if home.is_some_and(|home| home.starts_with(path)) {
        return refuse("contains your home directory, and with it .ssh, .gnupg, .aws and .config".to_owned());
    }
    let own_workspace = state.join("workspace");
    if state.starts_with(path) || (path.starts_with(state) && !path.starts_with(&own_workspace)) {
        return refuse("holds the policy and keys of chitin itself".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_stay_out_of_the_system_and_of_credentials() {
        let check = |path: &str, expected: bool| {
            let (home, state) = (Path::new("/home/me"), Path::new("/home/me/.local/share/chitin"));
            let place = RootPlace { path: Path::new(path), home: Some(home), state };
            assert_eq!(check_root(&place).is_ok(), expected, "{path}");
        };
        check("/home/me/project", true);
        check("/srv/data", true);
        check("/tmp/x", true);
        check("/var/folder/x", true);
        check("/home/me/.local/share/chitin/workspace", true);
        check("/", false);
        check("/etc", false);
        check("/etc/ssl", false);
        check("/usr/share/x", false);
        check("/home", false);
        check("/home/me", false);
        check("/tmp", false);
        check("/home/me/.ssh", false);
        check("/home/me/.config/x", false);
        check("/home/me/.local/share/chitin", false);
        check("/home/me/.local/share/chitin/keys", false);
        check("/home/me/.local", false);
        check("relative", false);
    }
}
