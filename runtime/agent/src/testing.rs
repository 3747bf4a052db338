//! What does a test of the walk need? One agent with everything behind it, messages, and tools with real grants.
//!
//! Nothing sleeps, nothing is random: the same test gives the same timeline each run.

mod fakes;
mod mind;

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
};

use chitin_policy::{Ask, CallRule, Defaults, Grant, Grants};
use chitin_ports::{Delivery, Installed, Memory, PortError, Recall, SessionKey};
use chitin_types::{
    Capabilities, Digest, Effects, Event, FunctionName, Message, ToolCall, ToolName, ToolSpec, Turn, TurnId,
};
use serde_json::json;

pub(crate) use self::fakes::{HandClock, Mood, NOW_MS, Script, Wire};
use self::{
    fakes::{Counter, Ledger, Model, Person, Sandbox, Shed, Shelf, Sink, Timeline},
    mind::{Asked, Mind},
};
use crate::{Agent, Inbound, Ports, Settings, TurnEnd, dialect::Speech};

/// One agent and everything behind it.
pub(crate) struct World {
    pub(crate) agent: Arc<Agent>,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) timeline: Timeline,
    pub(crate) provider: Arc<Model>,
    pub(crate) history: Arc<Shelf>,
    pub(crate) audit: Arc<Ledger>,
    pub(crate) person: Arc<Person>,
    mind: Option<Arc<Mind>>,
}

/// What only some tests want to be otherwise.
#[derive(Default)]
pub(crate) struct Extras {
    /// What the model's wire can do.
    pub(crate) wire: Wire,
    /// What the memory answers to every question, where there is a memory.
    pub(crate) remembered: Option<Result<Vec<Memory>, PortError>>,
}

impl World {
    pub(crate) fn new(tools: Vec<Installed>, script: Vec<Script>) -> Self {
        Self::with(tools, script, Settings::default())
    }

    pub(crate) fn with(tools: Vec<Installed>, script: Vec<Script>, settings: Settings) -> Self {
        Self::build(tools, script, settings, Extras::default())
    }

    pub(crate) fn build(tools: Vec<Installed>, script: Vec<Script>, settings: Settings, extras: Extras) -> Self {
        let timeline = Timeline::default();
        let clock = Arc::new(HandClock::default());
        let provider = Arc::new(Model::new(script, extras.wire));
        let mind = extras.remembered.map(|found| Arc::new(Mind::new(found)));
        let history = Arc::new(Shelf { timeline: timeline.clone(), sessions: Mutex::default() });
        let audit = Arc::new(Ledger { timeline: timeline.clone(), ..Ledger::default() });
        let person = Arc::new(Person { questions: Mutex::default(), answers: Mutex::default() });
        let ports = Ports {
            provider: provider.clone(),
            history: history.clone(),
            audit: audit.clone(),
            toolbox: Arc::new(Shed { tools }),
            invoke: Arc::new(Sandbox { timeline: timeline.clone() }),
            approve: person.clone(),
            clock: clock.clone(),
            ids: Arc::new(Counter::default()),
            recall: mind.clone().map(|mind| mind as Arc<dyn Recall>),
        };
        let agent = Arc::new(Agent::new(ports, settings));
        Self { agent, clock, timeline, provider, history, audit, person, mind }
    }

    /// What the memory was asked: the text, the scopes and the limit.
    pub(crate) fn recalled(&self) -> Vec<Asked> {
        self.mind.as_ref().map(|mind| mind.asked()).unwrap_or_default()
    }

    pub(crate) fn sink(&self) -> Sink {
        Sink { timeline: self.timeline.clone(), events: Mutex::default() }
    }

    /// What the model was told about each call, in order.
    pub(crate) fn results(&self) -> Vec<String> {
        let text_of = |message: Message| if let Message::Tool { text, .. } = message { Some(text) } else { None };
        self.history.turns().into_iter().flatten().filter_map(text_of).collect()
    }

    /// Sends one message and gives its end and its events.
    pub(crate) async fn send(&self, text: &str) -> (TurnEnd, Vec<Event>) {
        let sink = self.sink();
        let end = self.agent.handle(inbound("ann", text), &sink).await;
        (end, sink.events())
    }
}

/// How a model with tools of its own is spoken to, without any tools.
pub(crate) fn native() -> Speech {
    Speech::of(&Model::new(vec![], Wire::Native), vec![], None)
}

/// How a model without tools of its own is spoken to, with one tool.
pub(crate) fn written() -> Speech {
    let spec = tool("acme/box", "read", Effects::default()).spec;
    Speech::of(&Model::new(vec![], Wire::Written), vec![spec], None)
}

pub(crate) fn memory(text: &str, score: f32) -> Memory {
    Memory {
        id: "m1".to_owned(),
        scope: "project".to_owned(),
        text: text.to_owned(),
        stored_at_ms: NOW_MS,
        score,
        origin: "owner".to_owned(),
    }
}

/// Polls a turn until nothing moves any more; it must not end meanwhile.
pub(crate) async fn drive<F: Future>(mut turn: Pin<&mut F>) {
    for _ in 0..30 {
        let polled = futures::poll!(turn.as_mut());
        assert!(polled.is_pending(), "the turn ended early");
    }
}

pub(crate) fn key(sender: &str) -> SessionKey {
    SessionKey { channel: "test".to_owned(), reply_target: "room".to_owned(), thread: None, sender: sender.to_owned() }
}

pub(crate) fn inbound(sender: &str, text: &str) -> Inbound {
    Inbound { key: key(sender), text: text.to_owned(), delivery: Delivery::Whole }
}

pub(crate) fn question(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

pub(crate) fn answer(text: &str) -> Message {
    Message::Assistant { text: text.to_owned(), calls: vec![] }
}

pub(crate) fn tool_call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

/// A reply that asks for these calls: id, wire name, arguments.
pub(crate) fn calls(list: &[(&str, &str, &str)]) -> Script {
    Script::Calls(list.iter().map(|(id, name, arguments)| tool_call(id, name, arguments)).collect())
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Message {
    Message::Assistant { text: String::new(), calls: vec![tool_call(id, name, arguments)] }
}

pub(crate) fn result(id: &str, text: &str) -> Message {
    Message::Tool { call_id: id.to_owned(), text: text.to_owned(), is_error: false }
}

pub(crate) fn turn_of(id: &str, messages: Vec<Message>) -> Turn {
    Turn { id: TurnId::parse(id).expect("an id"), messages }
}

/// A tool that may be called and is granted nothing else; its one argument is `n`.
pub(crate) fn tool(name: &str, function: &str, effects: Effects) -> Installed {
    granted(name, function, effects, |_| ())
}

/// A tool before whose calls a person is asked.
pub(crate) fn asking_tool(name: &str, function: &str, ask: Ask) -> Installed {
    let functions = vec![FunctionName::parse(function).expect("a name")];
    granted(name, function, Effects::default(), |grant| grant.call.push(CallRule { functions, ask }))
}

/// A tool that is installed and to which nothing is granted.
pub(crate) fn ungranted_tool(name: &str, function: &str) -> Installed {
    granted(name, function, Effects::default(), |grant| grant.pin = None)
}

fn granted(name: &str, function: &str, effects: Effects, change: impl FnOnce(&mut Grant)) -> Installed {
    let tool = ToolName::parse(name).expect("a name");
    let component = Digest::of(name.as_bytes());
    let mut grant = Grant::nothing(tool.clone(), component);
    change(&mut grant);
    let grants = Grants::intersect(Capabilities::default(), grant, Capabilities::default(), &Defaults::default());
    let spec = ToolSpec {
        tool,
        function: FunctionName::parse(function).expect("a name"),
        title: function.to_owned(),
        summary: "a tool of the tests".to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": { "n": { "type": "integer" } },
            "additionalProperties": false
        }),
        effects,
    };
    Installed { spec, component, grants: Arc::new(grants) }
}
