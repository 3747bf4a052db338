//! Does recall do what its grant and its limits say, without a guest around it?

use std::sync::{PoisonError, atomic::Ordering};

use futures::executor::block_on;

use super::*;
use crate::{
    capability::scene::{self, Scene},
    wit::wire::FailureKind,
};

fn remember(scene: &mut Scene, text: &str, scope: &str) -> Result<String, Failure> {
    block_on(recall::Host::remember(&mut scene.state, text.to_owned(), scope.to_owned())).unwrap()
}

fn query(scene: &mut Scene, text: &str, scope: Option<&str>) -> Result<Vec<String>, Failure> {
    let found = block_on(recall::Host::query(&mut scene.state, text.to_owned(), scope.map(str::to_owned), 5)).unwrap();
    found.map(|memories| memories.into_iter().map(|memory| memory.text).collect())
}

fn forget(scene: &mut Scene, id: &str) -> Result<(), Failure> {
    block_on(recall::Host::forget(&mut scene.state, id.to_owned())).unwrap()
}

fn stored(scene: &Scene) -> Vec<(String, String)> {
    let notes = scene.notes.0.lock().unwrap_or_else(PoisonError::into_inner);
    notes.iter().map(|memory| (memory.text.clone(), memory.origin.clone())).collect()
}

#[test]
fn each_use_of_a_scope_needs_its_own_grant() {
    let check = |read: &[&str], write: &[&str], can_read: bool, can_write: bool| {
        let mut scene = Scene::new(scene::recall(read, write));
        let wrote = remember(&mut scene, "tea at four", "project");
        assert_eq!(wrote.is_ok(), can_write, "{read:?} {write:?}: {wrote:?}");
        let found = query(&mut scene, "tea", Some("project"));
        assert_eq!(found.is_ok(), can_read, "{read:?} {write:?}: {found:?}");
        assert_eq!(forget(&mut scene, "m0000").is_ok(), !write.is_empty(), "{write:?}");
        let denied = scene.audit.rules().into_iter().filter(|(verdict, _)| verdict == "deny").count();
        let refusals = [can_write, can_read, !write.is_empty()].into_iter().filter(|allowed| !allowed).count();
        assert_eq!(denied, refusals, "{read:?} {write:?}");
    };
    check(&[], &[], false, false);
    check(&["project"], &[], true, false);
    check(&[], &["project"], false, true);
    check(&["project"], &["project"], true, true);
    check(&["home"], &["home"], false, false);
}

#[test]
fn a_query_without_a_scope_reads_the_granted_ones_only() {
    let mut scene = Scene::new(scene::recall(&["project"], &["project", "diary"]));
    remember(&mut scene, "tea in the office", "project").unwrap();
    remember(&mut scene, "tea in secret", "diary").unwrap();
    assert_eq!(query(&mut scene, "tea", None).unwrap(), ["tea in the office"]);
    assert_eq!(query(&mut scene, "tea", Some("diary")).unwrap_err().kind, FailureKind::Denied);
    let mut twin = Scene::new(scene::recall(&["project", "diary"], &["project", "diary"]));
    remember(&mut twin, "tea in secret", "diary").unwrap();
    assert_eq!(query(&mut twin, "tea", None).unwrap(), ["tea in secret"]);
}

#[test]
fn a_change_is_in_the_audit_with_its_digest_and_never_with_its_text() {
    let mut scene = Scene::new(scene::recall(&[], &["project"]));
    let id = remember(&mut scene, "the door code is 4711", "project").unwrap();
    forget(&mut scene, &id).unwrap();
    let entries = scene.audit.entries();
    let rules: Vec<Option<&str>> = entries.iter().map(|entry| entry.rule.as_deref()).collect();
    assert_eq!(rules, [Some("recall:project"), Some("recall:project")]);
    assert_eq!(entries[0].detail["text"], Digest::of(b"the door code is 4711").to_string());
    assert_eq!(entries[1].detail["id"], id);
    assert!(!format!("{entries:?}").contains("4711"));
    assert_eq!(stored(&scene), vec![]);
}

#[test]
fn a_change_that_cannot_be_written_down_does_not_happen() {
    let mut scene = Scene::new(scene::recall(&[], &["project"]));
    scene.audit.broken.store(true, Ordering::SeqCst);
    assert_eq!(remember(&mut scene, "x", "project").unwrap_err().kind, FailureKind::Denied);
    assert_eq!(stored(&scene), vec![]);
    scene.audit.broken.store(false, Ordering::SeqCst);
    remember(&mut scene, "x", "project").unwrap();
    assert_eq!(stored(&scene), vec![("x".to_owned(), "test/probe".to_owned())]);
}

#[test]
fn entries_come_in_pages() {
    let mut scene = Scene::new(scene::recall(&["project"], &["project"]));
    for n in 0..70 {
        remember(&mut scene, &format!("note {n}"), "project").unwrap();
    }
    let mut page = |after: Option<&str>, limit: u32| {
        let after = after.map(str::to_owned);
        block_on(recall::Host::entries(&mut scene.state, None, after, limit)).unwrap().unwrap()
    };
    assert_eq!(page(None, 2).iter().map(|memory| memory.text.as_str()).collect::<Vec<_>>(), ["note 0", "note 1"]);
    assert_eq!(page(Some("m0001"), 1)[0].text, "note 2");
    assert_eq!(page(None, 1_000_000).len(), ANSWERS_MAX);
    assert_eq!(page(None, 0).len(), 1);
}

#[test]
fn bad_arguments_are_told_apart_and_reach_nothing() {
    let mut scene = Scene::new(scene::recall(&["project"], &["project"]));
    let long = "x".repeat(TEXT_BYTES_MAX + 1);
    let check = |answer: Result<String, Failure>, kind: FailureKind| assert_eq!(answer.unwrap_err().kind, kind);
    check(remember(&mut scene, &long, "project"), FailureKind::Limited);
    check(remember(&mut scene, " \n", "project"), FailureKind::InvalidInput);
    check(remember(&mut scene, "x", "Project\n"), FailureKind::InvalidInput);
    check(query(&mut scene, &long, None).map(|_| String::new()), FailureKind::Limited);
    check(query(&mut scene, "x", Some("*")).map(|_| String::new()), FailureKind::InvalidInput);
    check(forget(&mut scene, "").map(|()| String::new()), FailureKind::InvalidInput);
    check(forget(&mut scene, "a b\n").map(|()| String::new()), FailureKind::InvalidInput);
    assert!(scene.audit.rules().is_empty(), "{:?}", scene.audit.rules());
    remember(&mut scene, &"x".repeat(TEXT_BYTES_MAX), "project").unwrap();
}
