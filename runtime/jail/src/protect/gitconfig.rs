//! Which lines of a repository's configuration can run nothing? A new and an old text go in, a harmless text comes out.
//!
//! Git's configuration can name programs in dozens of keys, and every version adds some, so the keys that may stay are
//! listed and all others go. A line of the old text may stay whatever it says: the user wrote it.

use std::collections::BTreeSet;

/// The text without lines that could run something; equal to the given one when there were none.
pub(super) fn harmless(text: &str, before: &str) -> String {
    let known: BTreeSet<(String, String)> = lines(before).map(|(section, line)| (section, line.to_owned())).collect();
    let mut out = String::with_capacity(text.len());
    for (section, line) in lines(text) {
        let blank = line.trim().is_empty() || line.trim_start().starts_with(['#', ';']);
        // A backslash may continue a line or hide a quote; what is not simple is not kept.
        let simple = !line.contains('\\');
        if known.contains(&(section.clone(), line.to_owned())) || (simple && (blank || keeps(&section, line))) {
            out.push_str(line);
            out.push('\n');
        }
    }
    if text.ends_with('\n') || text.is_empty() {
        return out;
    }
    out.pop();
    out
}

/// Each line with the section that it stands in; a header stands in its own.
fn lines(text: &str) -> impl Iterator<Item = (String, &str)> {
    let mut section = String::new();
    text.split_terminator('\n').map(move |line| {
        if line.trim_start().starts_with('[') {
            section = header(line).unwrap_or_else(|| UNKNOWN.to_owned());
        }
        (section.clone(), line)
    })
}

/// The section of a plain header line, in lower case, with `.*` where it has a name of its own.
fn header(line: &str) -> Option<String> {
    let inner = line.trim().strip_prefix('[')?.strip_suffix(']')?;
    let plain = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    match inner.split_once(' ') {
        None => plain(inner).then(|| inner.to_ascii_lowercase()),
        Some((name, sub)) => {
            let sub = sub.trim().strip_prefix('"')?.strip_suffix('"')?;
            (plain(name) && !sub.contains('"')).then(|| format!("{}.*", name.to_ascii_lowercase()))
        }
    }
}

fn keeps(section: &str, line: &str) -> bool {
    let line = line.trim();
    if line.starts_with('[') {
        return KEYS.iter().any(|(known, _)| *known == section);
    }
    let key = line.split(['=', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
    KEYS.iter().any(|(known, keys)| *known == section && (keys.contains(&key.as_str()) || keys.contains(&"*")))
}

/// The section of a header that is not plain; no key is kept in it.
const UNKNOWN: &str = "?";

/// Sections and keys that name no program, no file to include and no other directory.
const KEYS: [(&str, &[&str]); 14] = [
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "safecrlf",
            "quotepath",
            "abbrev",
        ],
    ),
    ("user", &["name", "email"]),
    ("author", &["name", "email"]),
    ("committer", &["name", "email"]),
    ("remote.*", &["url", "pushurl", "fetch", "push", "prune", "tagopt"]),
    ("branch.*", &["remote", "pushremote", "merge", "rebase", "description"]),
    ("submodule.*", &["url", "active", "branch"]),
    ("extensions", &["objectformat", "refstorage"]),
    ("init", &["defaultbranch"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote"]),
    ("merge", &["ff", "conflictstyle"]),
    ("color", &["*"]),
    ("advice", &["*"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    const FRESH: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n[user]\n\tname = A\n\
        [remote \"origin\"]\n\turl = https://example.test/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";

    fn check(added: &str, expected: &str) {
        assert_eq!(harmless(&format!("{FRESH}{added}"), ""), format!("{FRESH}{expected}"), "{added}");
    }

    #[test]
    fn keys_that_run_nothing_stay() {
        check("", "");
        check("[branch \"main\"]\n\tmerge = refs/heads/main\n", "[branch \"main\"]\n\tmerge = refs/heads/main\n");
        check("# a remark\n\n", "# a remark\n\n");
        check("[color]\n\tui = always\n", "[color]\n\tui = always\n");
    }

    #[test]
    fn keys_that_run_something_go() {
        check("[core]\n\tfsmonitor = ./evil\n", "[core]\n");
        check("[core] fsmonitor = ./evil\n", "");
        check("[CORE]\n\tSSHCommand = evil\n", "[CORE]\n");
        check("[core]\n\thooksPath = /tmp/x\n", "[core]\n");
        check("[alias]\n\tst = !evil\n", "");
        check("[include]\n\tpath = ../evil\n", "");
        check("[includeIf \"gitdir:/\"]\n\tpath = ../evil\n", "");
        check("[filter \"x\"]\n\tclean = evil\n", "");
        check("[submodule \"x\"]\n\tupdate = !evil\n", "[submodule \"x\"]\n");
        check("[core]\n\tbare = fa\\\nlse\n", "[core]\n");
        check("[core.x]\n\tbare = true\n", "");
        check("[core \"x]\"]\n\tfsmonitor = evil\n", "");
    }

    #[test]
    fn a_line_of_the_user_stays_where_it_stood() {
        let before = "[alias]\n\tst = status\n";
        assert_eq!(harmless(before, before), before);
        assert_eq!(harmless("[alias]\n\tst = !evil\n", before), "[alias]\n");
        assert_eq!(harmless("[core]\n\tst = status\n", before), "[core]\n");
    }
}
