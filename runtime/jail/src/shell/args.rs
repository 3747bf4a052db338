//! What did the model ask for? Arguments go in; a command and a place inside the workspace come out.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// The arguments, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub argv: Vec<String>,
    /// As the model spelled it.
    pub cwd: Option<String>,
    pub timeout_ms: Option<u64>,
}

/// Where a command works: a mount of the grant and a path below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkPlace {
    /// Number of the mount.
    pub mount: usize,
    pub below: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    command: Option<String>,
    argv: Option<Vec<String>>,
    cwd: Option<String>,
    timeout_ms: Option<u64>,
}

/// Reads the arguments. The text of an error is for the model.
pub(super) fn read(args: &Value) -> Result<Asked, String> {
    let Written { command, argv, cwd, timeout_ms } = Written::deserialize(args).map_err(|e| e.to_string())?;
    let argv = match (command, argv) {
        (Some(command), None) if !command.trim().is_empty() => vec!["sh".to_owned(), "-c".to_owned(), command],
        (None, Some(argv)) if argv.first().is_some_and(|program| !program.is_empty()) => argv,
        (Some(_), Some(_)) => return Err("give either command or argv, not both".to_owned()),
        (Some(_), None) | (None, Some(_)) => return Err("the command is empty".to_owned()),
        (None, None) => return Err("give command, a line for sh, or argv, a program and its arguments".to_owned()),
    };
    if argv.iter().any(|word| word.contains('\0')) {
        return Err("the command holds a zero byte".to_owned());
    }
    if timeout_ms == Some(0) {
        return Err("timeout_ms is at least 1".to_owned());
    }
    Ok(Asked { argv, cwd, timeout_ms })
}

/// Finds the place that `cwd` names: relative to the first mount, or below the path of any. Only text is looked at; a
/// link in the workspace leads nowhere that the command could not go anyway.
pub(super) fn place(cwd: Option<&str>, mounts: &[PathBuf]) -> Result<Option<WorkPlace>, String> {
    let Some(cwd) = cwd.map(Path::new) else {
        return Ok((!mounts.is_empty()).then(|| WorkPlace { mount: 0, below: PathBuf::new() }));
    };
    let outside = || format!("cwd {} lies outside the workspace", cwd.display());
    let found = if cwd.is_absolute() {
        let inside = mounts.iter().enumerate().filter_map(|(n, at)| cwd.strip_prefix(at).ok().map(|below| (n, below)));
        // The innermost mount, when one lies inside another.
        inside.min_by_key(|(_, below)| below.components().count())
    } else {
        (!mounts.is_empty()).then_some((0, cwd))
    };
    let (mount, below) = found.ok_or_else(outside)?;
    let mut plain = PathBuf::new();
    for part in below.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir if plain.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(outside()),
        }
    }
    Ok(Some(WorkPlace { mount, below: plain }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(args: &Value, expected: Result<&[&str], &str>) {
        match (read(args), expected) {
            (Ok(asked), Ok(argv)) => assert_eq!(asked.argv, argv, "{args}"),
            (Err(why), Err(part)) => assert!(why.contains(part), "{args}: {why}"),
            (got, expected) => panic!("{args}: {got:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn a_command_is_a_line_for_the_shell_or_a_program() {
        check(&json!({"command": "ls | wc"}), Ok(&["sh", "-c", "ls | wc"]));
        check(&json!({"argv": ["ls", "-l"]}), Ok(&["ls", "-l"]));
        check(&json!({"argv": ["ls"], "cwd": "a", "timeout_ms": 5}), Ok(&["ls"]));
        check(&json!({}), Err("give command"));
        check(&json!({"command": "ls", "argv": ["ls"]}), Err("not both"));
        check(&json!({"command": " "}), Err("empty"));
        check(&json!({"argv": []}), Err("empty"));
        check(&json!({"argv": [""]}), Err("empty"));
        check(&json!({"command": "a\u{0}b"}), Err("zero byte"));
        check(&json!({"command": "ls", "timeout_ms": 0}), Err("at least 1"));
        check(&json!({"command": "ls", "sandbox": "none"}), Err("unknown field"));
        check(&json!({"command": "ls", "env": {}}), Err("unknown field"));
        check(&json!("ls"), Err("invalid type"));
    }

    #[test]
    fn a_working_directory_never_leaves_the_workspace() {
        let mounts = [PathBuf::from("/workspace"), PathBuf::from("/reference")];
        let check = |cwd: &str, expected: Option<(usize, &str)>| {
            let got = place(Some(cwd), &mounts).ok().flatten().map(|p| (p.mount, p.below));
            assert_eq!(got, expected.map(|(n, below)| (n, PathBuf::from(below))), "{cwd}");
        };
        check("", Some((0, "")));
        check(".", Some((0, "")));
        check("a/./b", Some((0, "a/b")));
        check("a/../b", Some((0, "b")));
        check("/workspace/a", Some((0, "a")));
        check("/reference", Some((1, "")));
        check("..", None);
        check("a/../../b", None);
        check("/workspace/../etc", None);
        check("/workspaces", None);
        check("/", None);
        assert_eq!(place(None, &mounts), Ok(Some(WorkPlace { mount: 0, below: PathBuf::new() })));
        assert_eq!(place(None, &[]), Ok(None));
        assert!(place(Some("a"), &[]).is_err());
    }
}
