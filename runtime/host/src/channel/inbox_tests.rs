//! Which messages are taken, and what of them is kept.

use std::sync::Mutex;

use async_trait::async_trait;
use chitin_ports::{Letter, PortError, Waiting};
use futures::{FutureExt, executor::block_on};

use super::*;
use crate::{
    capability::{blobs::Blob, scene::Scene},
    state::{CallContext, CallStart},
};

fn message() -> wire::Inbound {
    wire::Inbound {
        id: "m-1".to_owned(),
        sender: "ada".to_owned(),
        reply_to: wire::Address { target: "room".to_owned(), thread: None },
        interruption_scope: None,
        text: "hello".to_owned(),
        attachments: Vec::new(),
        sent_at_ms: 7,
        group: false,
        extras: vec![("channel".to_owned(), "another".to_owned())],
    }
}

fn check(change: impl FnOnce(&mut wire::Inbound), says: Option<&str>) {
    let mut changed = message();
    change(&mut changed);
    match (checked(vec![changed]), says) {
        (Ok(taken), None) => assert_eq!(taken.len(), 1),
        (Err(why), Some(says)) => assert!(why.contains(says), "{why}"),
        (verdict, says) => panic!("{says:?}: {verdict:?}"),
    }
}

#[test]
fn a_message_is_kept_word_for_word_and_what_it_claims_of_its_channel_is_not() {
    let expected = Inbound {
        id: "m-1".to_owned(),
        sender: "ada".to_owned(),
        target: "room".to_owned(),
        thread: None,
        text: "hello".to_owned(),
        sent_at_ms: 7,
    };
    assert_eq!(checked(vec![message()]), Ok(vec![expected]));
}

#[test]
fn each_text_has_a_size_and_its_twin_one_byte_less_is_taken() {
    check(|m| m.id = "x".repeat(NAME_BYTES_MAX), None);
    check(|m| m.id = "x".repeat(NAME_BYTES_MAX + 1), Some("id"));
    check(|m| m.id = String::new(), Some("id"));
    check(|m| m.sender = "ada\nsystem".to_owned(), Some("sender"));
    check(|m| m.reply_to.target = String::new(), Some("target"));
    check(|m| m.reply_to.thread = Some("t".to_owned()), None);
    check(|m| m.reply_to.thread = Some(String::new()), Some("thread"));
    check(|m| m.text = "x".repeat(TEXT_BYTES_MAX), None);
    check(|m| m.text = "x".repeat(TEXT_BYTES_MAX + 1), Some("text"));
    check(|m| m.text = "two\nlines".to_owned(), None);
}

#[test]
fn so_many_messages_and_no_more_are_taken_at_once() {
    let many = |count: usize| checked((0..count).map(|_| message()).collect()).map(|taken| taken.len());
    assert_eq!(many(0), Ok(0));
    assert_eq!(many(MESSAGES_MAX), Ok(MESSAGES_MAX));
    assert!(many(MESSAGES_MAX + 1).is_err());
}

#[test]
fn a_cursor_is_one_json_value_of_bounded_size() {
    let of = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    for (cursor, kept) in [
        ("{\"after\":7}", true),
        ("7", true),
        ("", false),
        ("{", false),
        ("1 2", false),
        (of(CURSOR_BYTES_MAX).as_str(), true),
        (of(CURSOR_BYTES_MAX + 1).as_str(), false),
    ] {
        assert_eq!(checked_cursor(cursor).is_ok(), kept, "{} bytes", cursor.len());
    }
}

/// The channel, its messages and its cursor.
type Emitted = (String, Vec<Inbound>, Option<String>);

/// An inbox in memory, which can be told to fail.
#[derive(Default)]
struct Kept {
    emitted: Mutex<Vec<Emitted>>,
    broken: bool,
}

#[async_trait]
impl Inbox for Kept {
    async fn emit(&self, channel: &str, messages: &[Inbound], cursor: Option<&str>) -> Result<usize, PortError> {
        if self.broken {
            return Err(PortError("write /home/ada/state.db: the disk is full".to_owned()));
        }
        let entry = (channel.to_owned(), messages.to_vec(), cursor.map(str::to_owned));
        self.emitted.lock().unwrap().push(entry);
        Ok(messages.len())
    }
    async fn cursor(&self, _channel: &str) -> Result<Option<String>, PortError> {
        Ok(None)
    }
    async fn waiting(&self, _max: usize) -> Result<Vec<Waiting>, PortError> {
        Ok(Vec::new())
    }
    async fn answer(&self, _number: i64, _text: &str) -> Result<(), PortError> {
        Ok(())
    }
    async fn undelivered(&self, _max: usize) -> Result<Vec<Letter>, PortError> {
        Ok(Vec::new())
    }
    async fn attempt_failed(&self, _number: i64) -> Result<(), PortError> {
        Ok(())
    }
    async fn delivered(&self, _number: i64, _receipt: Option<&str>) -> Result<(), PortError> {
        Ok(())
    }
}

/// The state of a callback of the channel `desk`, over this inbox.
fn of_channel(kept: &Arc<Kept>) -> (Scene, Arc<Notify>) {
    let mut scene = Scene::new(|_| ());
    let wake = Arc::new(Notify::new());
    let inbox: Arc<dyn Inbox> = kept.clone();
    let side = Side { channel: "desk".to_owned(), inbox, wake: Arc::clone(&wake) };
    let call = &scene.state.call;
    let start = CallStart {
        id: call.id.clone(),
        session: None,
        grants: Arc::clone(&call.grants),
        audit: Arc::clone(&call.audit),
        stores: call.stores.clone(),
        channel: Some(Arc::new(side)),
        cancelled: call.cancelled.clone(),
        progress: None,
    };
    scene.state.call = Arc::new(CallContext::new(start));
    (scene, wake)
}

fn emit(scene: &mut Scene, messages: Vec<wire::Inbound>, cursor: Option<&str>) -> Result<(), Failure> {
    let emitted = inbox::Host::emit(&mut scene.state, messages, cursor.map(str::to_owned));
    block_on(emitted).expect("no trap")
}

/// Whether somebody was woken since the last look.
fn woken(wake: &Notify) -> bool {
    wake.notified().now_or_never().is_some()
}

#[test]
fn what_is_emitted_is_kept_under_the_name_that_the_host_knows_and_wakes_whoever_answers() {
    let kept = Arc::new(Kept::default());
    let (mut scene, wake) = of_channel(&kept);
    emit(&mut scene, vec![message()], Some("7")).expect("it is taken");
    let emitted = kept.emitted.lock().unwrap().clone();
    assert_eq!(emitted.len(), 1);
    assert_eq!((emitted[0].0.as_str(), emitted[0].1.len(), emitted[0].2.as_deref()), ("desk", 1, Some("7")));
    assert!(woken(&wake));
    emit(&mut scene, vec![], Some("8")).expect("a cursor alone is taken");
    assert!(!woken(&wake), "nothing came, so nobody is woken");
}

#[test]
fn a_tool_that_is_no_channel_has_no_inbox() {
    let mut scene = Scene::new(|_| ());
    let refused = emit(&mut scene, vec![message()], None).expect_err("it is no channel");
    assert_eq!((refused.kind, refused.code.as_deref()), (FailureKind::Denied, Some("grant-inbox")));
}

#[test]
fn a_message_that_cannot_be_kept_is_not_taken_and_the_guest_hears_nothing_of_the_host() {
    let kept = Arc::new(Kept { broken: true, ..Kept::default() });
    let (mut scene, wake) = of_channel(&kept);
    let failed = emit(&mut scene, vec![message()], None).expect_err("the inbox is broken");
    assert_eq!(failed.kind, FailureKind::Internal);
    assert!(!failed.message.contains("/home"), "{}", failed.message);
    assert!(!woken(&wake));
}

#[test]
fn one_bad_message_or_cursor_leaves_all_of_them_out() {
    let kept = Arc::new(Kept::default());
    let (mut scene, _) = of_channel(&kept);
    let bad = wire::Inbound { id: String::new(), ..message() };
    for (messages, cursor) in [(vec![message(), bad], None), (vec![message()], Some("{"))] {
        let refused = emit(&mut scene, messages, cursor).expect_err("one is bad");
        assert_eq!(refused.kind, FailureKind::InvalidInput);
    }
    assert!(kept.emitted.lock().unwrap().is_empty());
    emit(&mut scene, vec![message()], None).expect("the twin is taken");
}

#[test]
fn files_are_refused_and_their_handles_do_not_stay_behind() {
    let kept = Arc::new(Kept::default());
    let (mut scene, _) = of_channel(&kept);
    let file = chitin_types::Attachment { name: None, media_type: None, bytes: vec![1] };
    let content = scene.state.table.push(Blob::given(file)).expect("room");
    let mut with_file = message();
    with_file.attachments.push(wire::Attachment { name: "a.png".to_owned(), content });
    let refused = emit(&mut scene, vec![with_file], None).expect_err("files are not kept");
    assert_eq!(refused.code.as_deref(), Some("attachments-not-kept"));
    assert!(scene.state.table.is_empty());
    assert!(kept.emitted.lock().unwrap().is_empty());
}

#[test]
fn an_approval_that_was_never_asked_is_not_found() {
    let (mut scene, _) = of_channel(&Arc::default());
    let answer = inbox::Host::answer(&mut scene.state, "a".to_owned(), "ada".to_owned(), true);
    assert_eq!(block_on(answer).expect("no trap").expect_err("nothing was asked").kind, FailureKind::NotFound);
}
