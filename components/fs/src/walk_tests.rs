//! What a walk visits, on a small real tree.

use std::fs;
use std::path::PathBuf;

use super::*;

/// A directory that is removed at the end of the test.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str, files: &[&str]) -> Self {
        let root = std::env::temp_dir().join(format!("chitin-fs-{name}-{}", std::process::id()));
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, "x").expect("a file");
        }
        Self(root)
    }

    fn base(&self) -> GuestPath {
        GuestPath::parse(self.0.to_str().expect("a path")).expect("a path")
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // The test has ended either way; a directory left behind in the temporary place is harmless.
        let _left_behind = fs::remove_dir_all(&self.0);
    }
}

fn names(tree: &Tree, names: Names) -> Vec<String> {
    let mut seen = Vec::new();
    let walked = walk(&tree.base(), names, &Calls::of_one_call(), |found| {
        seen.push(found.relative.to_owned());
        ControlFlow::Continue(())
    });
    assert_eq!(walked.expect("the tree is readable").stopped, None);
    seen
}

#[test]
fn names_come_sorted_and_hidden_ones_only_when_asked_for() {
    let tree = Tree::new("sorted", &["b.txt", "a/z.txt", "a/b/c.txt", ".hid/x", "node_modules/m.js"]);
    assert_eq!(names(&tree, Names::Visible), ["a", "a/b", "a/b/c.txt", "a/z.txt", "b.txt"]);
    assert_eq!(names(&tree, Names::ToDepth(1)), [".hid", "a", "b.txt", "node_modules"]);
    assert_eq!(names(&tree, Names::ToDepth(2)), [".hid", ".hid/x", "a", "a/b", "a/z.txt", "b.txt", "node_modules"]);
    assert_eq!(names(&tree, Names::Every).len(), 9);
}

#[test]
fn a_visitor_can_stop_the_walk() {
    let tree = Tree::new("stop", &["a", "b"]);
    let walked = walk(&tree.base(), Names::Every, &Calls::of_one_call(), |_| ControlFlow::Break("enough"))
        .expect("the tree is readable");
    assert_eq!(walked, Walked { entries: 2, unreadable: 0, stopped: Some("enough") });
}

#[test]
fn a_walk_ends_before_the_host_ends_it() {
    let tree = Tree::new("calls", &["a/x", "b/y"]);
    let calls = Calls::of_one_call();
    while calls.spend(LIST_CALLS + 1).is_continue() {}
    let mut seen = 0;
    let walked = walk(&tree.base(), Names::Every, &calls, |_| {
        seen += 1;
        ControlFlow::Continue(())
    });
    assert_eq!((seen, walked.expect("the tree is readable").stopped.is_some()), (1, true));
}

#[cfg(unix)]
#[test]
fn a_link_to_a_directory_is_shown_but_not_entered() {
    let tree = Tree::new("links", &["real/file"]);
    std::os::unix::fs::symlink("..", tree.0.join("real/up")).expect("a link");
    assert_eq!(names(&tree, Names::Every), ["real", "real/file", "real/up"]);
}
