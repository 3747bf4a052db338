//! Does every turn end once, whole in the history, whatever happened in it?

use std::pin::pin;

use chitin_types::Effects;

use super::*;
use crate::{
    Inbound, Settings,
    testing::{Extras, Script, Wire, World, answer, call, calls, drive, inbound, key, question, result, tool},
};

fn one_tool() -> Vec<chitin_ports::Installed> {
    vec![tool("acme/box", "read", Effects::default()), tool("acme/box", "wait", Effects::default())]
}

fn ends(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Done { .. } | Event::Error { .. })).count()
}

#[tokio::test]
async fn a_message_is_stored_before_the_model_and_the_answer_before_the_person() {
    let world = World::new(vec![], vec![Script::Says("hello ann")]);
    let (end, events) = world.send("hello").await;
    assert_eq!(end, TurnEnd::Answered("hello ann".to_owned()));
    assert_eq!(events, [Event::Done { text: "hello ann".to_owned() }]);
    assert_eq!(world.history.turns(), [[question("hello"), answer("hello ann")]]);
    assert_eq!(world.timeline.lines(), ["store 1", "audit Provider answered", "store 1", "event done"]);
}

#[tokio::test]
async fn streaming_and_whole_store_the_same_turn() {
    let run = async |delivery: Delivery| {
        let script = vec![calls(&[("c1", "box__read", "{}")]), Script::Says("it says ok")];
        let world = World::new(one_tool(), script);
        let sink = world.sink();
        let end = world.agent.handle(Inbound { delivery, ..inbound("ann", "read") }, &sink).await;
        let chunks: String = sink
            .events()
            .into_iter()
            .filter_map(|event| if let Event::Chunk { text } = event { Some(text) } else { None })
            .collect();
        (world.history.turns(), end, chunks)
    };
    let (streamed, whole) = (run(Delivery::Streamed).await, run(Delivery::Whole).await);
    assert_eq!(streamed.0, whole.0);
    assert_eq!(streamed.1, whole.1);
    assert_eq!((streamed.2.as_str(), whole.2.as_str()), ("it says ok", ""));
}

#[tokio::test]
async fn the_next_turn_reads_the_last_one_with_its_calls() {
    let script = vec![calls(&[("c1", "box__read", "{}")]), Script::Says("it says ok"), Script::Says("as I said")];
    let world = World::new(one_tool(), script);
    world.send("read").await;
    world.send("what was it").await;
    let requests = world.provider.requests();
    let last = requests.last().expect("a request");
    let first_turn = [question("read"), call("c1", "box__read", "{}"), result("c1", "ok"), answer("it says ok")];
    assert_eq!(last.messages, [&first_turn[..], &[question("what was it")]].concat());
    assert!(requests.iter().all(|request| request.system == last.system && request.tools.len() == 2));
}

#[tokio::test]
async fn ten_steps_end_with_an_answer() {
    let step = |number: usize| {
        let arguments = format!("{{\"n\":{number}}}");
        calls(&[("c1", "box__read", arguments.as_str())])
    };
    let script = (0..10).map(step).chain([Script::Says("this much I know")]).collect();
    let world = World::new(one_tool(), script);
    let (end, events) = world.send("read it all").await;
    assert_eq!(end, TurnEnd::Answered("this much I know".to_owned()));
    assert_eq!(ends(&events), 1);
    let requests = world.provider.requests();
    assert_eq!(requests.len(), 11);
    assert_eq!(requests.iter().filter(|request| request.tools.is_empty()).count(), 1);
    assert!(requests.last().is_some_and(|request| request.tools.is_empty()));
    assert_eq!(world.timeline.only(&["invoke"]).len(), 10);
}

#[tokio::test]
async fn a_model_that_only_wants_tools_ends_with_a_sentence() {
    let settings = Settings { steps_max: 1, ..Settings::default() };
    let again = || calls(&[("c1", "box__read", "{}")]);
    let world = World::with(one_tool(), vec![again(), again()], settings);
    let (end, _) = world.send("read").await;
    assert_eq!(end, TurnEnd::Answered(OUT_OF_STEPS.to_owned()));
    assert_eq!(world.timeline.only(&["invoke"]).len(), 1);
}

#[tokio::test]
async fn an_empty_answer_is_never_sent() {
    let world = World::new(vec![], vec![Script::Says(" \n")]);
    assert_eq!(world.send("hello").await.0, TurnEnd::Answered(NO_ANSWER.to_owned()));
}

#[tokio::test]
async fn a_failed_request_closes_the_turn_and_says_what_to_do() {
    let script = vec![Script::Fails(ProviderError::RateLimited { retry_after_ms: None }), Script::Says("hello")];
    let world = World::new(vec![], script);
    let (end, events) = world.send("one").await;
    let sentence = "failed to get an answer: the provider asks to slow down; send it again in a minute";
    assert_eq!(end, TurnEnd::Failed(sentence.to_owned()));
    assert_eq!(events, [Event::Error { text: sentence.to_owned() }]);
    let closed = "[Task failed] get an answer: the provider asks to slow down";
    assert_eq!(world.history.turns(), [[question("one"), answer(closed)]]);
    assert_eq!(world.send("two").await.0, TurnEnd::Answered("hello".to_owned()));
}

#[tokio::test]
async fn an_overflow_is_retried_once_with_half_of_the_older_turns() {
    let overflow = || Script::Fails(ProviderError::Overflow);
    let says = || Script::Says("ok");
    let script = vec![says(), says(), says(), overflow(), says(), overflow(), overflow()];
    let world = World::new(vec![], script);
    for text in ["one", "two", "three"] {
        world.send(text).await;
    }
    let (end, events) = world.send("four").await;
    assert_eq!(end, TurnEnd::Answered("ok".to_owned()));
    assert!(events.iter().any(|event| matches!(event, Event::Notice { text } if text.contains("2 oldest turns"))));
    let kept = [question("three"), answer("ok"), question("four")];
    assert_eq!(world.provider.requests().last().map(|request| request.messages.clone()), Some(kept.to_vec()));
    let (end, events) = world.send("five").await;
    assert!(matches!(end, TurnEnd::Failed(text) if text.starts_with("⚠️ Context window exceeded")));
    assert_eq!(ends(&events), 1);
    assert_eq!(world.provider.requests().len(), 7);
}

#[tokio::test]
async fn a_stopped_turn_leaves_no_orphan_call() {
    let both = calls(&[("c1", "box__wait", "{}"), ("c2", "box__read", "{}")]);
    let world = World::new(one_tool(), vec![both, Script::Says("hello")]);
    let sink = world.sink();
    let mut turn = pin!(world.agent.handle(inbound("ann", "wait"), &sink));
    drive(turn.as_mut()).await;
    assert!(world.agent.stop(&key("ann")));
    assert_eq!(turn.await, TurnEnd::Stopped("stopped; send a message to go on".to_owned()));
    assert_eq!(ends(&sink.events()), 1);
    let turns = world.history.turns();
    let messages = turns.first().expect("the turn");
    let ids: Vec<&str> = messages
        .iter()
        .filter_map(|message| if let Message::Tool { call_id, .. } = message { Some(call_id.as_str()) } else { None })
        .collect();
    assert_eq!(ids, ["c1", "c2"]);
    assert_eq!(messages.last(), Some(&answer("[Task stopped by the user]")));
    assert_eq!(world.timeline.only(&["invoke"]), ["invoke wait {}"]);
    assert_eq!(world.send("hello").await.0, TurnEnd::Answered("hello".to_owned()));
}

#[tokio::test]
async fn a_stop_drops_the_request_that_is_on_its_way() {
    let world = World::new(vec![], vec![Script::Hangs]);
    let sink = world.sink();
    let mut turn = pin!(world.agent.handle(inbound("ann", "hello"), &sink));
    drive(turn.as_mut()).await;
    assert_eq!(world.send("/stop").await.0, TurnEnd::Commanded("stopping".to_owned()));
    assert!(matches!(turn.await, TurnEnd::Stopped(_)));
    assert_eq!(world.send("/stop").await.0, TurnEnd::Commanded("nothing is running".to_owned()));
    assert_eq!(world.timeline.only(&["audit"]), ["audit Provider stopped"]);
}

#[tokio::test]
async fn two_messages_of_one_session_run_in_order() {
    let world = World::new(vec![], vec![Script::Says("first"), Script::Says("second")]);
    let (one, two) = futures::join!(world.send("one"), world.send("two"));
    assert_eq!(one.0, TurnEnd::Answered("first".to_owned()));
    assert_eq!(two.0, TurnEnd::Answered("second".to_owned()));
    assert_eq!(world.history.turns(), [[question("one"), answer("first")], [question("two"), answer("second")]],);
}

#[tokio::test]
async fn one_sessions_hanging_turn_does_not_block_another() {
    let world = World::new(vec![], vec![Script::Hangs, Script::Says("hello bob")]);
    let sink = world.sink();
    let mut hanging = pin!(world.agent.handle(inbound("ann", "hello"), &sink));
    drive(hanging.as_mut()).await;
    let end = world.agent.handle(inbound("bob", "hello"), &sink).await;
    assert_eq!(end, TurnEnd::Answered("hello bob".to_owned()));
}

#[tokio::test]
async fn a_new_session_begins_empty_and_an_unknown_command_changes_nothing() {
    let world = World::new(vec![], vec![Script::Says("a"), Script::Says("b"), Script::Says("c")]);
    world.send("one").await;
    let (end, events) = world.send("/help").await;
    assert!(matches!(end, TurnEnd::Failed(text) if text.contains("the commands are /new, /stop, /model")));
    assert_eq!(ends(&events), 1);
    world.send("two").await;
    let (end, events) = world.send("/new").await;
    assert_eq!(end, TurnEnd::Commanded("a new session has begun".to_owned()));
    assert_eq!(ends(&events), 1);
    world.send("three").await;
    let lengths: Vec<usize> = world.provider.requests().iter().map(|request| request.messages.len()).collect();
    assert_eq!(lengths, [1, 3, 1]);
}

#[tokio::test]
async fn a_session_keeps_its_model_until_the_next_one() {
    let world = World::new(vec![], (0..4).map(|_| Script::Says("ok")).collect());
    let told = async |text: &str| match world.send(text).await.0 {
        TurnEnd::Commanded(text) => text,
        other => panic!("{text} is a command: {other:?}"),
    };
    assert_eq!(told("/model").await, "this session is answered by the configured model, scripted");
    world.send("one").await;
    assert_eq!(told("/model gpt-x").await, "this session is answered by gpt-x from now on");
    world.send("two").await;
    assert_eq!(told("/model").await, "this session is answered by gpt-x");
    world.agent.handle(inbound("bob", "three"), &world.sink()).await;
    told("/new").await;
    world.send("four").await;
    let models: Vec<Option<String>> = world.provider.requests().into_iter().map(|request| request.model).collect();
    assert_eq!(models, [None, Some("gpt-x".to_owned()), None, None]);
    let named: Vec<_> = world.audit.entries().into_iter().filter(|entry| entry.detail["model"] == "gpt-x").collect();
    assert_eq!(named.len(), 1);
}

#[tokio::test]
async fn a_provider_without_models_says_so() {
    let extras = Extras { wire: Wire::OneModel, ..Extras::default() };
    let world = World::build(vec![], vec![], Settings::default(), extras);
    for text in ["/model", "/model gpt-x"] {
        let (end, _) = world.send(text).await;
        assert_eq!(end, TurnEnd::Commanded("scripted has no models to choose from".to_owned()));
    }
}

const WRITTEN: &str = "I look.\n<tool_call>{\"name\":\"box__read\",\"arguments\":{\"n\":1}}</tool_call>";

#[tokio::test]
async fn a_model_without_tools_calls_them_in_its_text() {
    let script = vec![Script::Says(WRITTEN), Script::Says("it says ok")];
    let extras = Extras { wire: Wire::Written, ..Extras::default() };
    let world = World::build(one_tool(), script, Settings::default(), extras);
    let sink = world.sink();
    let end = world.agent.handle(Inbound { delivery: Delivery::Streamed, ..inbound("ann", "read") }, &sink).await;
    assert_eq!(end, TurnEnd::Answered("it says ok".to_owned()));
    assert_eq!(world.timeline.only(&["invoke"]), [r#"invoke read {"n":1}"#]);
    let shown: String = sink
        .events()
        .into_iter()
        .filter_map(|event| if let Event::Chunk { text } = event { Some(text) } else { None })
        .collect();
    assert_eq!(shown, "I look.\nit says ok");
    // What is stored does not depend on the wire; what is sent does.
    let stored = [
        question("read"),
        Message::Assistant {
            text: "I look.".to_owned(),
            calls: vec![crate::testing::tool_call("call_0", "box__read", r#"{"n":1}"#)],
        },
        result("call_0", "ok"),
        answer("it says ok"),
    ];
    assert_eq!(world.history.turns(), [stored]);
    let requests = world.provider.requests();
    let results = "[Tool results]\n<tool_result name=\"box__read\">\nok\n</tool_result>";
    assert_eq!(requests[1].messages, [question("read"), answer(WRITTEN), question(results)]);
    assert!(requests.iter().all(|request| request.tools.is_empty() && request.system == requests[0].system));
    assert!(requests[0].system.contains("\"name\":\"box__read\""));
}

#[tokio::test]
async fn a_call_in_the_text_is_made_on_a_wire_with_tools_when_nothing_else_is_said() {
    const ONLY: &str = "<tool_call>{\"name\":\"box__read\",\"arguments\":{\"n\":1}}</tool_call>";
    let check = async |text: &'static str, invoked: usize| {
        let world = World::new(one_tool(), vec![Script::Says(text), Script::Says("it says ok")]);
        world.send("read").await;
        assert_eq!(world.timeline.only(&["invoke"]).len(), invoked, "{text}");
    };
    check(ONLY, 1).await;
    check(WRITTEN, 0).await;
}

#[tokio::test]
async fn a_broken_call_in_the_text_is_told_to_the_model_and_not_made() {
    const BROKEN: &str = "<tool_call>{\"name\":\"box__read\",\"arguments\":{\"n\":}}</tool_call>";
    let extras = Extras { wire: Wire::Written, ..Extras::default() };
    let script = vec![Script::Says(BROKEN), Script::Says("sorry")];
    let world = World::build(one_tool(), script, Settings::default(), extras);
    world.send("read").await;
    assert!(world.timeline.only(&["invoke"]).is_empty());
    assert!(world.results()[0].starts_with("invalid arguments: expected one JSON object"), "{:?}", world.results());
}

#[test]
fn a_turn_can_be_driven_by_any_thread() {
    fn sendable<T: Send>(value: T) -> T {
        value
    }
    let world = World::new(vec![], vec![]);
    let sink = world.sink();
    drop(sendable(world.agent.handle(inbound("ann", "hello"), &sink)));
}
