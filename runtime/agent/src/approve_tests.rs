//! Is a yes good for what was shown, to the one tool, in time, and nothing else?

use std::pin::pin;

use chitin_policy::Ask;
use chitin_ports::AuditKind;
use chitin_types::Event;

use crate::{
    TurnEnd,
    testing::{Mood, NOW_MS, Script, World, asking_tool, calls, drive, inbound, key},
};

fn world(ask: Ask, moods: Vec<Mood>) -> World {
    let tools = vec![asking_tool("acme/box", "write", ask), asking_tool("acme/bag", "write", ask)];
    let twice = || calls(&[("c1", "box__write", r#"{"n":1}"#), ("c2", "box__write", r#"{"n":2}"#)]);
    let other = calls(&[("c3", "bag__write", r#"{"n":1}"#)]);
    let world = World::new(tools, vec![twice(), other, Script::Says("done"), twice(), Script::Says("done")]);
    world.person.will(moods);
    world
}

#[tokio::test]
async fn an_approval_is_bound_to_the_arguments() {
    let world = world(Ask::Each, vec![Mood::Yes, Mood::YesToSomethingElse, Mood::YesTooLate]);
    world.send("go").await;
    assert_eq!(world.timeline.only(&["invoke"]), [r#"invoke write {"n":1}"#]);
    assert_eq!(
        world.results(),
        ["ok", "denied (approval): the approval is for another call", "denied (approval): the approval has expired"],
    );
    let questions = world.person.questions();
    let shown: Vec<&str> = questions.iter().map(|question| question.arguments.as_str()).collect();
    assert_eq!(shown, [r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":1}"#]);
    assert!(questions.iter().all(|question| question.expires_at_ms == NOW_MS + 120_000));
}

#[tokio::test]
async fn a_question_is_told_before_it_is_asked_and_has_an_id_of_its_own() {
    let tools = vec![asking_tool("acme/box", "write", Ask::Each)];
    let same = || calls(&[("c1", "box__write", r#"{"n":1}"#)]);
    let world = World::new(tools, vec![same(), same(), Script::Says("done")]);
    world.person.will([Mood::Yes, Mood::No]);
    let (_, events) = world.send("go").await;
    let told: Vec<(String, String)> = events
        .into_iter()
        .filter_map(
            |event| if let Event::ApprovalRequest { id, arguments, .. } = event { Some((id, arguments)) } else { None },
        )
        .collect();
    let questions = world.person.questions();
    let asked: Vec<(String, String)> =
        questions.iter().map(|question| (question.id.clone(), question.arguments.clone())).collect();
    assert_eq!(told, asked);
    assert!(questions.iter().all(|question| question.id.starts_with(&question.digest.hex())));
    assert!(questions.iter().all(|question| question.session.is_some()));
    assert_eq!(questions[0].digest, questions[1].digest);
    assert_ne!(questions[0].id, questions[1].id);
}

#[tokio::test]
async fn a_no_reaches_the_model_and_the_audit() {
    let world = world(Ask::Each, vec![Mood::No, Mood::No, Mood::No]);
    world.send("go").await;
    assert_eq!(world.results(), ["refused: not today"; 3]);
    assert_eq!(world.timeline.only(&["invoke"]), [""; 0]);
    let answers: Vec<(String, Option<String>)> = world
        .audit
        .entries()
        .into_iter()
        .filter(|entry| entry.kind == AuditKind::Approval)
        .map(|entry| (entry.verdict, entry.rule))
        .collect();
    assert_eq!(answers, vec![("no".to_owned(), Some("call:write".to_owned())); 3]);
}

#[tokio::test]
async fn a_session_yes_covers_one_rule_of_one_tool_until_the_session_ends() {
    let world = world(Ask::Session, vec![Mood::Yes, Mood::Yes, Mood::Yes]);
    world.send("go").await;
    let titles = || world.person.questions().into_iter().map(|question| question.title).collect::<Vec<_>>();
    assert_eq!(titles(), ["acme/box write", "acme/bag write"]);
    world.send("/new").await;
    world.send("again").await;
    assert_eq!(titles(), ["acme/box write", "acme/bag write", "acme/box write"]);
}

#[tokio::test]
async fn a_yes_is_durable_before_the_effect() {
    let world = world(Ask::Each, vec![Mood::Yes, Mood::No, Mood::No]);
    world.audit.slow.store(true, std::sync::atomic::Ordering::SeqCst);
    let sink = world.sink();
    let mut turn = pin!(world.agent.handle(inbound("ann", "go"), &sink));
    drive(turn.as_mut()).await;
    assert_eq!(
        world.timeline.only(&["audit", "invoke"]),
        ["audit Provider answered", "audit Decision ask", "audit Approval yes"]
    );
    world.audit.release();
    turn.await;
    assert_eq!(world.timeline.only(&["invoke"]).len(), 1);
}

#[tokio::test]
async fn a_stop_takes_the_question_back() {
    let world = world(Ask::Each, vec![Mood::Silent]);
    let sink = world.sink();
    let mut turn = pin!(world.agent.handle(inbound("ann", "go"), &sink));
    drive(turn.as_mut()).await;
    assert_eq!(world.person.questions().len(), 1);
    assert!(world.agent.stop(&key("ann")));
    assert!(matches!(turn.await, TurnEnd::Stopped(_)));
    assert_eq!(world.timeline.only(&["audit Approval"]), ["audit Approval stopped"]);
    assert_eq!(world.results(), ["cancelled", "cancelled"]);
}
