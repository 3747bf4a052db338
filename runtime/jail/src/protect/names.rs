//! Which names run later? Files and folders that a shell, an editor, an agent or a version control system executes or
//! obeys when somebody merely enters or opens the directory.

use std::ffi::OsStr;

/// Whether a directory of this name must not be given to programs to write: it is protected, or what it holds is.
pub(crate) fn is_protected(name: &str) -> bool {
    FILES.contains(&name) || FOLDERS.contains(&name) || NESTED.iter().any(|(folder, _)| *folder == name)
}

/// Whether a file of this name in a folder of that name must not be made or changed.
pub(super) fn is_nested(folder: Option<&OsStr>, name: &str) -> bool {
    NESTED.iter().any(|(within, file)| *file == name && folder.is_some_and(|folder| folder == *within))
}

/// Whether the look has to know of a file of this name. All others are passed over without being remembered.
pub(super) fn is_telling(name: &[u8]) -> bool {
    let nested = NESTED.iter().map(|(_, file)| file);
    FILES.iter().chain(&FOLDERS).chain(&GIT).chain(nested).any(|known| known.as_bytes() == name)
}

/// Files.
pub(super) const FILES: [&str; 24] = [
    // Shells, when the workspace is somebody's home.
    ".bashrc",
    ".bash_aliases",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".cshrc",
    ".tcshrc",
    // Editors and debuggers that obey the directory in which they are started.
    ".exrc",
    ".gdbinit",
    // Version control and directory hooks.
    ".gitconfig",
    ".gitmodules",
    ".envrc",
    // Agents.
    ".mcp.json",
    ".cursorrules",
    // Package managers that run what it names.
    ".pre-commit-config.yaml",
    ".npmrc",
    ".yarnrc",
    YARN,
];

/// Folders, with everything in them.
pub(super) const FOLDERS: [&str; 10] =
    [".vscode", ".idea", ".claude", ".codex", ".cursor", ".gemini", ".chitin", ".husky", ".ssh", ".devcontainer"];

/// A file that is not covered while it is absent: this package manager fails on a directory of the name.
pub(super) const YARN: &str = ".yarnrc.yml";

/// Files that run later only in a folder of a certain name: the folder, the file.
const NESTED: [(&str, &str); 3] = [(".hg", "hgrc"), (".cargo", "config.toml"), (".cargo", "config")];

/// Names by which a repository is known, and what in one runs something.
const GIT: [&str; 10] =
    [".git", "HEAD", "objects", "refs", "commondir", "config", "config.worktree", "hooks", "modules", "worktrees"];
