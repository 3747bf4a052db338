//! Which path does a guest mean? A directory and what follows go in; one absolute path without dots comes out.
//!
//! Only words are handled here: what a path really reaches is decided by cap-std on the open descriptor.

/// `path` as seen from `base`; `..` at the top stays at the top, as it does in a kernel.
pub fn join(base: &str, path: &str) -> String {
    let mut parts: Vec<&str> = if path.starts_with('/') { vec![] } else { split(base).collect() };
    for part in split(path) {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    format!("/{}", parts.join("/"))
}

/// The directory that holds `path`; the top holds itself.
pub fn parent(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(slash) => path.get(..slash).unwrap_or("/"),
    }
}

fn split(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_word_by_word() {
        let check = |base: &str, path: &str, expected: &str| assert_eq!(join(base, path), expected, "{base} {path}");
        check("/w", "a/b", "/w/a/b");
        check("/w", "./a//b/.", "/w/a/b");
        check("/w", "../etc/passwd", "/etc/passwd");
        check("/w", "../../../etc", "/etc");
        check("/w", "a/../b", "/w/b");
        check("/w", "/etc", "/etc");
        check("/w", "", "/w");
        check("/", "a", "/a");
        assert_eq!((parent("/a/b"), parent("/a"), parent("/")), ("/a", "/", "/"));
    }
}
