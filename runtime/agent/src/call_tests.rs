//! Does every call end with an outcome, an entry and an event, and none with an effect that nobody can account for?

use std::{pin::pin, sync::atomic::Ordering};

use chitin_types::Effects;
use serde_json::json;

use super::*;
use crate::testing::{Script, World, calls, drive, inbound, tool, ungranted_tool};

fn writes() -> Effects {
    Effects { writes: true, ..Effects::default() }
}

#[tokio::test]
async fn denied_call_reaches_the_model_as_an_outcome() {
    let script = vec![calls(&[("c1", "box__read", "{}")]), Script::Says("it is not allowed")];
    let world = World::new(vec![ungranted_tool("acme/box", "read")], script);
    let (_, events) = world.send("read").await;
    let told = "denied (grant:absent): acme/box is installed but nothing is granted to it";
    assert_eq!(world.results(), [told]);
    let shown = events.into_iter().find(|event| matches!(event, Event::ToolResult { .. }));
    let expected = Event::ToolResult {
        call: "call-2".to_owned(),
        outcome: "denied".to_owned(),
        text: told.to_owned(),
        help: Some("chitin tool grant acme/box".to_owned()),
    };
    assert_eq!(shown, Some(expected));
    assert_eq!(
        world.timeline.only(&["audit", "invoke"]),
        ["audit Provider answered", "audit Decision deny", "audit Outcome denied", "audit Provider answered",]
    );
}

#[tokio::test]
async fn events_and_entries_come_in_order() {
    let script = vec![calls(&[("c1", "box__write", r#"{"n":1}"#)]), Script::Says("done")];
    let world = World::new(vec![tool("acme/box", "write", writes())], script);
    world.send("write").await;
    assert_eq!(
        world.timeline.lines(),
        [
            "store 1",
            "audit Provider answered",
            "event tool_call",
            "audit Decision allow",
            r#"invoke write {"n":1}"#,
            "audit Outcome done",
            "event tool_result",
            "store 2",
            "audit Provider answered",
            "store 1",
            "event done",
        ]
    );
    let entries = world.audit.entries();
    let call = Call {
        id: CallId::parse("call-2").expect("an id"),
        component: chitin_types::Digest::of(b"acme/box"),
        function: chitin_types::FunctionName::parse("write").expect("a name"),
        args: json!({"n": 1}),
        effects: writes(),
    };
    let decision = entries.get(1).expect("the decision");
    assert_eq!(decision.subject, "acme/box");
    assert_eq!(decision.rule.as_deref(), Some("call:write"));
    assert_eq!(decision.call.as_ref(), Some(&call.id));
    assert_eq!(decision.detail["digest"], json!(call.digest().to_string()));
    assert_eq!(decision.detail["function"], json!("write"));
    assert!(entries.iter().all(|entry| entry.session.is_some()));
}

#[tokio::test]
async fn a_decision_is_durable_before_a_write() {
    let claims = [
        writes(),
        Effects { open_world: true, ..Effects::default() },
        Effects { reads: true, writes: true, ..Effects::default() },
    ];
    for effects in claims {
        let script = vec![calls(&[("c1", "box__go", "{}")]), Script::Says("done")];
        let world = World::new(vec![tool("acme/box", "go", effects)], script);
        world.audit.slow.store(true, Ordering::SeqCst);
        let sink = world.sink();
        let mut turn = pin!(world.agent.handle(inbound("ann", "go"), &sink));
        drive(turn.as_mut()).await;
        assert_eq!(world.timeline.only(&["audit D", "invoke"]), ["audit Decision allow"], "{effects:?}");
        world.audit.release();
        turn.await;
        assert_eq!(world.timeline.only(&["audit D", "invoke"]), ["audit Decision allow", "invoke go {}"]);
    }
}

#[tokio::test]
async fn without_an_audit_nothing_is_changed_and_reading_goes_on() {
    let asked = [("c1", "box__write", "{}"), ("c2", "bag__read", "{}")];
    let tools = vec![tool("acme/box", "write", writes()), tool("acme/bag", "read", Effects::default())];
    let world = World::new(tools, vec![calls(&asked), Script::Says("done")]);
    world.audit.broken.store(true, Ordering::SeqCst);
    world.send("go").await;
    assert_eq!(world.results(), ["the tool broke (audit-unavailable)", "ok"]);
    assert_eq!(world.timeline.only(&["invoke"]), ["invoke read {}"]);
}

#[tokio::test]
async fn schema_errors_can_be_repaired() {
    let script = vec![
        calls(&[("c1", "box__read", r#"{"n":"one"}"#)]),
        calls(&[("c2", "box__read", r#"{"n":1}"#)]),
        Script::Says("done"),
    ];
    let world = World::new(vec![tool("acme/box", "read", Effects::default())], script);
    world.send("read").await;
    let results = world.results();
    let first = results.first().expect("a result");
    assert!(first.starts_with("invalid arguments: field /n") && first.contains("integer"), "{first}");
    assert_eq!(results.get(1).map(String::as_str), Some("ok"));
    assert_eq!(world.timeline.only(&["invoke"]), [r#"invoke read {"n":1}"#]);
}

#[tokio::test]
async fn an_unknown_tool_names_its_neighbours() {
    let asked = [("c1", "box__raed", "{}"), ("c2", "calendar", "{}")];
    let tools = vec![tool("acme/box", "read", Effects::default())];
    let world = World::new(tools, vec![calls(&asked), Script::Says("done")]);
    world.send("read").await;
    assert_eq!(
        world.results(),
        [
            r#"invalid arguments: there is no tool "box__raed"; did you mean box__read?"#,
            r#"invalid arguments: there is no tool "calendar""#,
        ]
    );
}

#[tokio::test]
async fn the_same_call_twice_in_one_reply_is_made_once_unless_it_polls() {
    let check = async |effects: Effects, invoked: usize| {
        let same = [("c1", "box__go", r#"{"n":1}"#), ("c2", "box__go", r#"{ "n": 1 }"#)];
        let script = vec![calls(&same), calls(&[("c3", "box__go", r#"{"n":1}"#)]), Script::Says("done")];
        let world = World::new(vec![tool("acme/box", "go", effects)], script);
        world.send("go").await;
        assert_eq!(world.timeline.only(&["invoke"]).len(), invoked, "{effects:?}");
        assert_eq!(world.timeline.only(&["event tool_result"]).len(), 3);
        let note = format!("{DUPLICATE}\nok");
        let second = if invoked == 2 { note.as_str() } else { "ok" };
        assert_eq!(world.results(), ["ok", second, "ok"]);
    };
    check(Effects::default(), 2).await;
    check(Effects { repeatable: true, ..Effects::default() }, 3).await;
}

#[tokio::test]
async fn a_reply_full_of_calls_is_cut_off() {
    let ids: Vec<String> = (0..=CALLS_MAX).map(|number| format!("c{number}")).collect();
    let arguments: Vec<String> = (0..=CALLS_MAX).map(|number| format!("{{\"n\":{number}}}")).collect();
    let asked: Vec<(&str, &str, &str)> =
        ids.iter().zip(&arguments).map(|(id, args)| (id.as_str(), "box__read", args.as_str())).collect();
    let tools = vec![tool("acme/box", "read", Effects::default())];
    let world = World::new(tools, vec![calls(&asked), Script::Says("done")]);
    world.send("read").await;
    assert_eq!(world.timeline.only(&["invoke"]).len(), CALLS_MAX);
    assert_eq!(
        world.results().last().map(String::as_str),
        Some("stopped: the call reached its limit of 32 calls in one reply")
    );
}

#[tokio::test]
async fn a_long_result_is_cut_in_its_middle() {
    let script = vec![calls(&[("c1", "box__long", "{}")]), Script::Says("done")];
    let world = World::new(vec![tool("acme/box", "long", Effects::default())], script);
    world.send("read").await;
    let results = world.results();
    let text = results.first().expect("a result");
    assert!(text.contains("[… 10000 characters left out …]"));
    assert!(text.chars().count() < RESULT_CHARS_MAX + 40);
}

#[tokio::test]
async fn a_tool_can_say_how_far_it_is() {
    let script = vec![calls(&[("c1", "box__tell", "{}")]), Script::Says("done")];
    let world = World::new(vec![tool("acme/box", "tell", Effects::default())], script);
    let (_, events) = world.send("go").await;
    assert!(events.contains(&Event::Notice { text: "acme/box: half way".to_owned() }));
}
