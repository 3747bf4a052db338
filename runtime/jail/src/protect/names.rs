//! Which names run later? Files and folders that a shell, an editor, an agent or a version control system executes or
//! obeys when somebody merely enters or opens the directory.

/// Whether an entry of this name, at any depth, must not be made or changed.
pub(crate) fn is_protected(name: &str) -> bool {
    FILES.contains(&name) || FOLDERS.contains(&name)
}

/// Files.
pub(super) const FILES: [&str; 16] = [
    // Shells, when the workspace is somebody's home.
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    // Version control and directory hooks.
    ".gitconfig",
    ".gitmodules",
    ".envrc",
    // Agents.
    ".mcp.json",
    ".cursorrules",
    // Package managers that run what it names.
    ".pre-commit-config.yaml",
];

/// Folders, with everything in them.
pub(super) const FOLDERS: [&str; 9] =
    [".vscode", ".idea", ".claude", ".codex", ".cursor", ".gemini", ".chitin", ".husky", ".ssh"];
