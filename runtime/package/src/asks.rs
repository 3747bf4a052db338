//! Is a set of asked capabilities well-formed, and what does a newer set ask that an older one did not?
//!
//! The comparison errs towards "new": it compares rule with rule and never adds two old rules up, so a release that
//! splits one ask in three is shown again, and none that widens an ask is not.

use std::collections::BTreeSet;

use chitin_types::{Capabilities, FsAsk, HostPattern, HttpAsk, RecallAsk, RecallMode, is_scope};

use crate::text::is_shown_text;

/// What is wrong with a set, and the text near which it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// A text to look for in the document.
    pub near: String,
    /// What is wrong there.
    pub message: String,
}

/// Checks the shape of every ask, as it holds for requests and for ceilings.
///
/// # Errors
/// The first ask that is too wide to be meant, empty, or not spelled as the host would compare it.
pub fn check_shape(asks: &Capabilities) -> Result<(), Flaw> {
    if asks.fs.len() + asks.http.len() > ASKS_MAX {
        return Err(flaw("[[", format!("more than {ASKS_MAX} asks; nobody would read them")));
    }
    let mut places = BTreeSet::new();
    for ask in &asks.fs {
        if !is_guest_directory(&ask.at) {
            return Err(flaw(&ask.at, format!("at = {:?} is neither * nor a plain absolute path", ask.at)));
        }
        if !places.insert(&ask.at) {
            return Err(flaw(&ask.at, format!("{} is asked for twice", ask.at)));
        }
    }
    asks.http.iter().try_for_each(check_http)?;
    check_stores(asks)
}

/// Checks that every ask has a reason that can be shown.
///
/// # Errors
/// The first ask without one.
pub fn check_reasons(asks: &Capabilities) -> Result<(), Flaw> {
    let fs = asks.fs.iter().map(|ask| (ask.at.clone(), &ask.reason));
    let http = asks.http.iter().map(|ask| (ask.host.to_string(), &ask.reason));
    let kv = asks.kv.iter().map(|ask| ("kv".to_owned(), &ask.reason));
    let recall = asks.recall.iter().map(|ask| ("recall".to_owned(), &ask.reason));
    for (what, reason) in fs.chain(http).chain(kv).chain(recall) {
        match reason {
            Some(text) if is_shown_text(text, REASON_CHARS_MAX) => {}
            Some(_) => {
                let message = format!("the reason for {what} is empty, too long, or has control characters");
                return Err(flaw(&what, message));
            }
            None => return Err(flaw(&what, format!("{what} is asked for without a reason"))),
        }
    }
    Ok(())
}

/// The asks of `new` that no single ask of `old` contained. Reasons do not count.
pub fn added(old: &Capabilities, new: &Capabilities) -> Capabilities {
    let had_fs = |ask: &&FsAsk| !old.fs.iter().any(|before| before.covers(&ask.at, ask.mode));
    let had_http = |ask: &&HttpAsk| !old.http.iter().any(|before| contains(before, ask));
    Capabilities {
        fs: new.fs.iter().filter(had_fs).cloned().collect(),
        http: new.http.iter().filter(had_http).cloned().collect(),
        kv: new.kv.clone().filter(|ask| old.kv.as_ref().is_none_or(|before| before.quota_kib < ask.quota_kib)),
        recall: new.recall.clone().and_then(|ask| added_scopes(old.recall.as_ref(), ask)),
    }
}

fn added_scopes(old: Option<&RecallAsk>, new: RecallAsk) -> Option<RecallAsk> {
    let Some(old) = old else { return Some(new) };
    let fresh = |scopes: Vec<String>, mode| scopes.into_iter().filter(|scope| !old.covers(scope, mode)).collect();
    let (read, write) = (fresh(new.read, RecallMode::Read), fresh(new.write, RecallMode::Write));
    let nothing = [&read, &write].into_iter().all(Vec::is_empty);
    (!nothing).then_some(RecallAsk { read, write, reason: new.reason })
}

fn check_stores(asks: &Capabilities) -> Result<(), Flaw> {
    if asks.kv.as_ref().is_some_and(|kv| kv.quota_kib == 0) {
        return Err(flaw("quota_kib", "quota_kib = 0 asks for nothing".to_owned()));
    }
    let Some(recall) = &asks.recall else { return Ok(()) };
    if recall.read.is_empty() && recall.write.is_empty() {
        return Err(flaw("recall", "recall names no scope, which asks for nothing".to_owned()));
    }
    match recall.read.iter().chain(&recall.write).find(|scope| *scope != "*" && !is_scope(scope)) {
        Some(scope) => Err(flaw(scope, format!("scope {scope:?} is neither * nor 1 to 48 of a-z, 0-9 and hyphen"))),
        None => Ok(()),
    }
}

fn check_http(ask: &HttpAsk) -> Result<(), Flaw> {
    let host = ask.host.to_string();
    for (name, empty) in
        [("scheme", ask.scheme.is_empty()), ("methods", ask.methods.is_empty()), ("paths", ask.paths.is_empty())]
    {
        if empty {
            return Err(flaw(&host, format!("the ask for {host} has an empty {name}")));
        }
    }
    if let Some(method) = ask.methods.iter().find(|method| !METHODS.contains(&method.as_str())) {
        return Err(flaw(method, format!("{method:?} is none of {}", METHODS.join(", "))));
    }
    Ok(())
}

fn is_guest_directory(at: &str) -> bool {
    let plain = |rest: &str| {
        rest.split('/').all(|part| !matches!(part, "" | "." | "..") && is_shown_text(part, PATH_PART_CHARS_MAX))
    };
    at == "*" || at.strip_prefix('/').is_some_and(plain)
}

fn contains(old: &HttpAsk, new: &HttpAsk) -> bool {
    let any_path = |path: &chitin_types::PathPattern| path.to_string() == "/**";
    (old.host == HostPattern::Any || old.host == new.host)
        && new.scheme.iter().all(|scheme| old.scheme.contains(scheme))
        && (old.ports.is_empty() || (!new.ports.is_empty() && new.ports.iter().all(|port| old.ports.contains(port))))
        && new.methods.iter().all(|method| old.methods.contains(method))
        && new.paths.iter().all(|path| old.paths.iter().any(|before| before == path || any_path(before)))
}

fn flaw(near: &str, message: String) -> Flaw {
    Flaw { near: near.to_owned(), message }
}

/// Asks of one component. A review of hundreds of lines is agreed to unread.
const ASKS_MAX: usize = 64;
/// Length of one reason: it is one line of the install page.
const REASON_CHARS_MAX: usize = 200;
/// Length of one part of a guest path, as file systems have it.
const PATH_PART_CHARS_MAX: usize = 255;
/// Methods that can be granted. CONNECT and TRACE are left out: one tunnels, the other echoes credentials.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(text: &str) -> Capabilities {
        toml::from_str(text).expect("the asks are valid TOML")
    }

    const HTTP: &str = "[[http]]\nhost = \"a.test\"\nmethods = [\"GET\"]\npaths = [\"/x/**\"]\n";
    const FS: &str = "[[fs]]\nat = \"/project\"\nmode = \"ro\"\n";

    #[test]
    fn each_misshapen_ask_is_named() {
        // The twin of each row is the same text without the replacement.
        for (text, from, to, says) in [
            (FS, "/project", "/project/../etc", "plain absolute path"),
            (FS, "/project", "project", "plain absolute path"),
            (FS, "/project", "/", "plain absolute path"),
            (HTTP, "[\"GET\"]", "[]", "empty methods"),
            (HTTP, "[\"GET\"]", "[\"get\"]", "none of"),
            (HTTP, "[\"/x/**\"]", "[]", "empty paths"),
        ] {
            assert_eq!(check_shape(&asks(text)), Ok(()), "{text}");
            let flaw = check_shape(&asks(&text.replace(from, to))).expect_err(to);
            assert!(flaw.message.contains(says), "{to}: {}", flaw.message);
        }
        assert!(check_shape(&asks(&FS.repeat(2))).is_err_and(|flaw| flaw.message.contains("twice")));
        assert!(check_shape(&asks(&HTTP.repeat(ASKS_MAX))).is_ok());
        assert!(check_shape(&asks(&HTTP.repeat(ASKS_MAX + 1))).is_err());
    }

    #[test]
    fn an_ask_without_a_reason_is_refused() {
        for (reason, expected) in [
            ("reason = \"to read the notes\"", true),
            ("", false),
            ("reason = \"\"", false),
            ("reason = \"a\\u001b[2Jb\"", false),
        ] {
            assert_eq!(check_reasons(&asks(&format!("{FS}{reason}\n"))).is_ok(), expected, "{reason}");
            assert_eq!(check_reasons(&asks(&format!("{HTTP}{reason}\n"))).is_ok(), expected, "{reason}");
        }
    }

    #[test]
    fn whatever_widens_an_ask_is_new() {
        let wide = "[[http]]\nhost = \"a.test\"\nscheme = [\"https\", \"http\"]\nports = [443, 8443]\n\
                    methods = [\"GET\", \"POST\"]\npaths = [\"/**\"]\n[[fs]]\nat = \"/project\"\nmode = \"rw\"\n";
        for (old, new, fs, http) in [
            (FS, FS, 0, 0),
            (HTTP, HTTP, 0, 0),
            ("", FS, 1, 0),
            ("", HTTP, 0, 1),
            (wide, FS, 0, 0),
            (FS, wide, 1, 1),
            (HTTP, wide, 1, 1),
        ] {
            let found = added(&asks(old), &asks(new));
            assert_eq!((found.fs.len(), found.http.len()), (fs, http), "{old} to {new}");
        }
        let change = |from: &str, to: &str| added(&asks(HTTP), &asks(&HTTP.replace(from, to))).http.len();
        assert_eq!(change("a.test", "*.a.test"), 1);
        assert_eq!(change("a.test", "*"), 1);
        assert_eq!(change("[\"GET\"]", "[\"GET\", \"POST\"]"), 1);
        assert_eq!(change("/x/**", "/y/**"), 1);
        assert_eq!(change("methods", "ports = [443]\nmethods"), 0, "fewer ports than any");
        assert_eq!(change("methods", "reason = \"other words\"\nmethods"), 0);
    }
}
