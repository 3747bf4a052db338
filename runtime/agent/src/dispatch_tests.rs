//! Has every message one answer, whatever breaks and wherever?

use std::{
    collections::{BTreeSet, VecDeque},
    pin::Pin,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use chitin_ports::{ChannelState, ChannelStatus, HttpIn, HttpOut, Inbound as Message};
use futures::poll;
use tokio::task::yield_now;

use super::*;
use crate::testing::{Script, World};

/// An inbox that gives way before and after each step, so that a test can break off at each.
#[derive(Default)]
struct Post {
    rows: Mutex<Vec<Row>>,
    full_disk: AtomicBool,
}

struct Row {
    message: Message,
    answers: Vec<String>,
    attempts: u32,
    /// The receipt, once it is delivered, or none, once it is given up.
    delivered: Vec<Option<String>>,
}

impl Post {
    fn holding(messages: &[(&str, &str)]) -> Arc<Self> {
        let post = Self::default();
        for (sender, text) in messages {
            post.add(sender, text);
        }
        Arc::new(post)
    }

    fn add(&self, sender: &str, text: &str) {
        let mut rows = hold(&self.rows);
        let message = Message {
            id: format!("m{}", rows.len()),
            sender: sender.to_owned(),
            target: format!("room of {sender}"),
            thread: None,
            text: text.to_owned(),
            sent_at_ms: 0,
        };
        rows.push(Row { message, answers: vec![], attempts: 0, delivered: vec![] });
    }

    fn answers(&self) -> Vec<Vec<String>> {
        hold(&self.rows).iter().map(|row| row.answers.clone()).collect()
    }

    fn receipts(&self) -> Vec<Vec<Option<String>>> {
        hold(&self.rows).iter().map(|row| row.delivered.clone()).collect()
    }

    async fn change(&self, number: i64, change: impl FnOnce(&mut Row) + Send) -> Result<(), PortError> {
        yield_now().await;
        if self.full_disk.load(Ordering::SeqCst) {
            return Err(PortError("write the inbox: the disk is full".to_owned()));
        }
        change(&mut hold(&self.rows)[usize::try_from(number).expect("a number")]);
        yield_now().await;
        Ok(())
    }

    async fn list<T: Send>(&self, max: usize, one: impl Fn(i64, &Row) -> Option<T> + Send) -> Vec<T> {
        yield_now().await;
        let found = {
            let rows = hold(&self.rows);
            (0..).zip(rows.iter()).filter_map(|(number, row)| one(number, row)).take(max).collect()
        };
        yield_now().await;
        found
    }
}

#[async_trait]
impl Inbox for Post {
    async fn emit(&self, _: &str, _: &[Message], _: Option<&str>) -> Result<usize, PortError> {
        Ok(0)
    }

    async fn cursor(&self, _: &str) -> Result<Option<String>, PortError> {
        Ok(None)
    }

    async fn waiting(&self, max: usize) -> Result<Vec<Waiting>, PortError> {
        let waits = |number, row: &Row| {
            let (channel, message) = ("hook".to_owned(), row.message.clone());
            row.answers.is_empty().then_some(Waiting { number, channel, message })
        };
        Ok(self.list(max, waits).await)
    }

    async fn answer(&self, number: i64, text: &str) -> Result<(), PortError> {
        self.change(number, |row| row.answers.push(text.to_owned())).await
    }

    async fn undelivered(&self, max: usize) -> Result<Vec<Letter>, PortError> {
        let waits = |number, row: &Row| {
            let text = row.answers.first().filter(|text| !text.is_empty() && row.delivered.is_empty())?.clone();
            let (channel, message) = ("hook".to_owned(), row.message.clone());
            Some(Letter { number, channel, message, text, attempts: row.attempts })
        };
        Ok(self.list(max, waits).await)
    }

    async fn attempt_failed(&self, number: i64) -> Result<(), PortError> {
        self.change(number, |row| row.attempts += 1).await
    }

    async fn delivered(&self, number: i64, receipt: Option<&str>) -> Result<(), PortError> {
        self.change(number, |row| row.delivered.push(receipt.map(str::to_owned))).await
    }
}

/// What stands behind the channels.
struct Platform {
    channels: usize,
    sent: Mutex<Vec<Outbound>>,
    failures: Mutex<VecDeque<ChannelError>>,
    tries: AtomicUsize,
}

impl Platform {
    fn new(channels: usize, failures: Vec<ChannelError>) -> Arc<Self> {
        let (sent, failures, tries) = (Mutex::default(), Mutex::new(failures.into()), AtomicUsize::new(0));
        Arc::new(Self { channels, sent, failures, tries })
    }

    fn sent(&self) -> Vec<(String, String)> {
        let told = |out: &Outbound| (out.in_reply_to.clone().unwrap_or_default(), out.text.clone());
        hold(&self.sent).iter().map(told).collect()
    }

    fn tries(&self) -> usize {
        self.tries.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl ChannelDoor for Platform {
    async fn on_http(&self, _: &str, _: HttpIn) -> Result<HttpOut, ChannelError> {
        Err(ChannelError::NoRoute)
    }

    async fn send(&self, channel: &str, message: Outbound) -> Result<String, ChannelError> {
        assert_eq!(channel, "hook");
        yield_now().await;
        self.tries.fetch_add(1, Ordering::SeqCst);
        let failure = hold(&self.failures).pop_front();
        if let Some(failure) = failure {
            return Err(failure);
        }
        let receipt = format!("r-{}", message.in_reply_to.clone().unwrap_or_default());
        hold(&self.sent).push(message);
        yield_now().await;
        Ok(receipt)
    }

    fn status(&self) -> Vec<ChannelStatus> {
        let one = ChannelStatus {
            name: "hook".to_owned(),
            tool: "acme/hook".to_owned(),
            state: ChannelState::Running,
            last_error: None,
            restarts: 0,
        };
        vec![one; self.channels]
    }
}

/// Everybody may talk but eve.
fn dispatch(world: &World, post: &Arc<Post>, platform: &Arc<Platform>) -> Dispatch {
    Dispatch::new(
        Arc::clone(&world.agent),
        Arc::clone(post) as _,
        Arc::clone(platform) as _,
        Arc::clone(&world.audit) as _,
        Arc::new(|channel: &str, sender: &str| channel == "hook" && sender != "eve"),
    )
}

fn says(texts: &[&'static str]) -> World {
    World::new(vec![], texts.iter().copied().map(Script::Says).collect())
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(left, right)| ((*left).to_owned(), (*right).to_owned())).collect()
}

/// Polls until nothing moves any more.
async fn settle<F: Future<Output = ()>>(mut running: Pin<&mut F>) {
    for _ in 0..100 {
        assert!(poll!(running.as_mut()).is_pending(), "it ended early");
        yield_now().await;
    }
}

/// Polls a round so many times and drops it; whether it had ended.
async fn broken_off(dispatch: Dispatch, polls: usize) -> bool {
    let mut round = pin!(dispatch.round());
    for _ in 0..polls {
        if poll!(round.as_mut()).is_ready() {
            return true;
        }
        yield_now().await;
    }
    false
}

#[tokio::test]
async fn a_message_has_one_answer_wherever_a_round_breaks_off() {
    let mut ended = false;
    let mut states = BTreeSet::new();
    for polls in 0..200 {
        let world = says(&["hello ann", "hello ann"]);
        let (post, platform) = (Post::holding(&[("ann", "hello")]), Platform::new(1, vec![]));
        ended = broken_off(dispatch(&world, &post, &platform), polls).await;
        let (asked, answered, sent) = (world.provider.requests().len(), post.answers(), platform.sent().len());
        states.insert((asked, answered.clone(), sent));
        dispatch(&world, &post, &platform).round().await;

        assert_eq!(post.answers(), [["hello ann"]], "after {polls} polls");
        assert_eq!(post.receipts(), [[Some("r-m0".to_owned())]], "after {polls} polls");
        // A platform that drops the second of one id has shown exactly one.
        let told: BTreeSet<_> = platform.sent().into_iter().collect();
        assert_eq!(told.into_iter().collect::<Vec<_>>(), pairs(&[("m0", "hello ann")]), "after {polls} polls");
        if !answered.iter().all(Vec::is_empty) {
            assert_eq!(world.provider.requests().len(), asked, "it ran again after its answer");
        }
        if ended {
            break;
        }
    }
    assert!(ended, "the round never ended");
    assert!(states.len() >= 4, "found too few places to break off: {states:?}");
}

#[tokio::test]
async fn an_unknown_sender_has_no_effect_but_an_entry() {
    let world = says(&["hello ann"]);
    let (post, platform) = (Post::holding(&[("eve", "hello"), ("ann", "hello")]), Platform::new(1, vec![]));
    dispatch(&world, &post, &platform).round().await;
    assert_eq!(post.answers(), [[""], ["hello ann"]]);
    assert_eq!(platform.sent(), pairs(&[("m1", "hello ann")]));
    assert_eq!(world.provider.requests().len(), 1);
    assert_eq!(world.history.turns().len(), 1);
    let entries = world.audit.entries();
    let denied: Vec<_> = entries.iter().filter(|entry| entry.kind == AuditKind::Auth).collect();
    assert_eq!(denied.len(), 1);
    assert_eq!((denied[0].subject.as_str(), denied[0].verdict.as_str()), ("hook", "deny"));
    assert_eq!(denied[0].rule.as_deref(), Some("channel:sender"));
    assert_eq!(denied[0].detail, json!({ "sender": "eve" }));
    dispatch(&world, &post, &platform).round().await;
    assert_eq!(world.audit.entries().len(), entries.len());
}

#[tokio::test]
async fn a_failed_turn_is_answered_with_its_sentence() {
    let world = World::new(vec![], vec![Script::Fails(chitin_ports::ProviderError::Unreachable("no".to_owned()))]);
    let (post, platform) = (Post::holding(&[("ann", "hello"), ("ann", "/help")]), Platform::new(1, vec![]));
    dispatch(&world, &post, &platform).round().await;
    let sent = platform.sent();
    assert!(sent[0].1.starts_with("failed to get an answer"), "{sent:?}");
    assert!(sent[1].1.starts_with("failed to understand /help"), "{sent:?}");
}

#[tokio::test]
async fn messages_and_answers_of_one_session_keep_their_order() {
    let world = says(&["a", "b", "c", "d"]);
    let messages = [("ann", "one"), ("ann", "two"), ("bob", "first"), ("ann", "three")];
    let (post, platform) = (Post::holding(&messages), Platform::new(1, vec![]));
    dispatch(&world, &post, &platform).round().await;
    let asked = |sender: &str| -> Vec<String> {
        let of = |text: &String| messages.iter().any(|(who, said)| *who == sender && said == text);
        let first = |turn: Vec<chitin_types::Message>| match turn.into_iter().next() {
            Some(chitin_types::Message::User { text }) => text,
            other => panic!("a turn begins with a question: {other:?}"),
        };
        world.history.turns().into_iter().map(first).filter(of).collect()
    };
    assert_eq!(asked("ann"), ["one", "two", "three"]);
    assert_eq!(asked("bob"), ["first"]);
    let ids: Vec<String> = platform.sent().into_iter().map(|(id, _)| id).filter(|id| id != "m2").collect();
    assert_eq!(ids, ["m0", "m1", "m3"]);
}

#[tokio::test]
async fn a_failed_delivery_is_tried_again_later_and_given_up_in_the_end() {
    let refused = || ChannelError::Refused("no".to_owned());
    let world = says(&["hello ann"]);
    let (post, platform) = (Post::holding(&[("ann", "hello")]), Platform::new(1, vec![refused(); 30]));
    let dispatch = dispatch(&world, &post, &platform);
    for attempt in 1..=ATTEMPTS_MAX as usize {
        dispatch.round().await;
        assert_eq!(platform.tries(), attempt);
        dispatch.round().await;
        assert_eq!(platform.tries(), attempt, "it was tried again at once");
        world.clock.forward(RETRY_MS_MAX);
    }
    dispatch.round().await;
    assert_eq!(platform.tries(), ATTEMPTS_MAX as usize);
    assert_eq!(post.receipts(), [[None]]);
    let entries = world.audit.entries();
    let given_up: Vec<_> = entries.iter().filter(|entry| entry.verdict == "given-up").collect();
    assert_eq!(given_up.len(), 1);
    assert_eq!(given_up[0].detail, json!({ "number": 0, "attempts": 20, "error": "refused" }));
}

#[tokio::test]
async fn a_delivery_that_fails_once_arrives() {
    let not_ready = ChannelError::NotReady { reason: "it broke".to_owned(), retry_after_ms: 5_000 };
    let world = says(&["hello ann"]);
    let (post, platform) = (Post::holding(&[("ann", "hello")]), Platform::new(1, vec![not_ready]));
    let dispatch = dispatch(&world, &post, &platform);
    dispatch.round().await;
    world.clock.forward(4_999);
    dispatch.round().await;
    assert!(platform.sent().is_empty());
    world.clock.forward(1);
    dispatch.round().await;
    assert_eq!(platform.sent(), pairs(&[("m0", "hello ann")]));
    assert_eq!(post.receipts(), [[Some("r-m0".to_owned())]]);
}

#[tokio::test]
async fn what_cannot_be_stored_is_stored_later_and_not_done_twice() {
    let world = says(&["hello ann", "hello bob"]);
    let (post, platform) = (Post::holding(&[("ann", "hello")]), Platform::new(1, vec![]));
    let dispatch = dispatch(&world, &post, &platform);
    post.full_disk.store(true, Ordering::SeqCst);
    dispatch.round().await;
    post.add("bob", "hello");
    dispatch.round().await;
    assert_eq!(world.provider.requests().len(), 1);
    assert_eq!(platform.tries(), 0);
    post.full_disk.store(false, Ordering::SeqCst);
    dispatch.round().await;
    assert_eq!(post.answers(), [["hello ann"], ["hello bob"]]);
    assert_eq!(world.provider.requests().len(), 2);
}

#[tokio::test]
async fn an_answer_whose_receipt_is_not_stored_is_not_sent_again() {
    let world = says(&["hello ann"]);
    let (post, platform) = (Post::holding(&[("ann", "hello")]), Platform::new(1, vec![]));
    let dispatch = dispatch(&world, &post, &platform);
    {
        let mut round = pin!(dispatch.round());
        while platform.sent().is_empty() {
            assert!(poll!(round.as_mut()).is_pending());
            yield_now().await;
        }
        post.full_disk.store(true, Ordering::SeqCst);
        round.await;
    }
    dispatch.round().await;
    assert!(post.receipts()[0].is_empty());
    post.full_disk.store(false, Ordering::SeqCst);
    dispatch.round().await;
    assert_eq!(platform.tries(), 1);
    assert_eq!(post.receipts(), [[Some("r-m0".to_owned())]]);
}

#[tokio::test]
async fn a_new_message_does_not_wait_for_the_slowest() {
    let world = World::new(vec![], vec![Script::Hangs, Script::Says("hello bob")]);
    let (post, platform) = (Post::holding(&[("ann", "hello")]), Platform::new(1, vec![]));
    let dispatch = dispatch(&world, &post, &platform);
    let (wake, (stop, stopping)) = (Notify::new(), watch::channel(false));
    let mut running = pin!(dispatch.run(&wake, stopping));
    settle(running.as_mut()).await;
    post.add("bob", "hello");
    settle(running.as_mut()).await;
    assert!(platform.sent().is_empty());
    wake.notify_one();
    settle(running.as_mut()).await;
    assert_eq!(platform.sent(), pairs(&[("m1", "hello bob")]));
    // Asked to stop, the one that hangs is answered, and nothing is taken any more.
    post.add("ann", "/stop");
    wake.notify_one();
    settle(running.as_mut()).await;
    assert_eq!(post.answers()[0], ["stopped; send a message to go on"]);
    assert_eq!(post.answers()[2], ["stopping"]);
    assert_eq!(platform.sent().len(), 3);
    stop.send(true).expect("it runs");
    post.add("bob", "hello");
    running.await;
    assert!(post.answers()[3].is_empty());
}

#[tokio::test]
async fn what_runs_when_it_is_asked_to_stop_is_finished() {
    let world = says(&["hello ann"]);
    let (post, platform) = (Post::holding(&[("ann", "hello")]), Platform::new(1, vec![]));
    let dispatch = dispatch(&world, &post, &platform);
    let (wake, (stop, stopping)) = (Notify::new(), watch::channel(false));
    let mut running = pin!(dispatch.run(&wake, stopping));
    while world.provider.requests().is_empty() {
        assert!(poll!(running.as_mut()).is_pending());
        yield_now().await;
    }
    stop.send(true).expect("it runs");
    running.await;
    assert_eq!(post.answers(), [["hello ann"]]);
}

#[tokio::test]
async fn so_many_run_at_once_as_the_channels_allow() {
    let check = async |channels: usize, expected: usize| {
        let world = World::new(vec![], (0..100).map(|_| Script::Hangs).collect());
        let (post, platform) = (Post::holding(&[]), Platform::new(channels, vec![]));
        for sender in 0..100 {
            post.add(&format!("sender {sender}"), "hello");
        }
        let dispatch = dispatch(&world, &post, &platform);
        let mut round = pin!(dispatch.round());
        settle(round.as_mut()).await;
        assert_eq!(world.provider.requests().len(), expected, "{channels} channels");
    };
    check(0, 8).await;
    check(3, 12).await;
    check(100, 64).await;
}

#[test]
fn waits_grow_to_a_limit() {
    let refused = ChannelError::Refused("no".to_owned());
    let waits: Vec<u64> = [0, 1, 8, 9, 40, 63, 64, u32::MAX].map(|attempts| wait_ms(attempts, &refused)).to_vec();
    assert_eq!(waits, [2_000, 4_000, 512_000, 600_000, 600_000, 600_000, 600_000, 600_000]);
    let gone = ChannelError::NotReady { reason: String::new(), retry_after_ms: u64::MAX };
    assert_eq!(wait_ms(0, &gone), RETRY_MS_MAX);
}

#[test]
fn a_run_can_be_driven_by_any_thread() {
    fn sendable<T: Send>(value: T) -> T {
        value
    }
    let world = says(&[]);
    let dispatch = dispatch(&world, &Post::holding(&[]), &Platform::new(1, vec![]));
    let wake = Notify::new();
    drop(sendable(dispatch.run(&wake, watch::channel(false).1)));
    drop(sendable(dispatch.round()));
}
