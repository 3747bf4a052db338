//! How does a turn travel as server-sent events? `event: <type>` and `data: <json>` for each, `done` or `error` last.

use std::convert::Infallible;

use axum::response::{
    IntoResponse as _, Response,
    sse::{Event as Frame, KeepAlive, Sse},
};
use chitin_types::Event;
use futures::{FutureExt as _, future::BoxFuture, stream};

use crate::turns::{Step, Turn, last_event};

/// What is left to send; the turn ends when this is dropped.
struct Open {
    turn: Turn,
    revoked: BoxFuture<'static, ()>,
}

/// The events of a turn until its end, or until the token is revoked.
pub(crate) fn response(turn: Turn, revoked: impl Future<Output = ()> + Send + 'static) -> Response {
    let open = Open { turn, revoked: revoked.boxed() };
    let frames = stream::unfold(Some(open), |open| async move {
        let mut open = open?;
        let (event, rest) = tokio::select! {
            biased;
            () = &mut open.revoked => (Event::Error { text: "the token was revoked".to_owned() }, None),
            step = open.turn.next() => match step {
                Step::Event(event) => (event, Some(open)),
                Step::End(end) => (last_event(&end), None),
            },
        };
        Some((Ok::<_, Infallible>(frame(&event)), rest))
    });
    Sse::new(frames).keep_alive(KeepAlive::default()).into_response()
}

fn frame(event: &Event) -> Frame {
    let name = match event {
        Event::Chunk { .. } => "chunk",
        Event::ToolCall { .. } => "tool_call",
        Event::ToolResult { .. } => "tool_result",
        Event::ApprovalRequest { .. } => "approval_request",
        Event::Notice { .. } => "notice",
        Event::Done { .. } => "done",
        Event::Error { .. } => "error",
    };
    Frame::default().event(name).data(json(event))
}

/// An event as JSON text on one line.
pub(crate) fn json(event: &Event) -> String {
    serde_json::to_string(event).expect("an event is texts and numbers, which always have a JSON form")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_frame_is_the_type_of_its_event() {
        let text = || "a\nb".to_owned();
        for event in [
            Event::Chunk { text: text() },
            Event::ToolCall { call: text(), name: text(), arguments: text() },
            Event::ToolResult { call: text(), outcome: text(), text: text(), help: None },
            Event::ApprovalRequest { id: text(), title: text(), arguments: text(), rule: text(), expires_at_ms: 1 },
            Event::Notice { text: text() },
            Event::Done { text: text() },
            Event::Error { text: text() },
        ] {
            let data = json(&event);
            assert!(!data.contains('\n'), "{data}");
            let value: serde_json::Value = serde_json::from_str(&data).expect("JSON");
            let name = value["type"].as_str().expect("a type");
            assert!(format!("{:?}", frame(&event)).contains(&format!("event: {name}")), "{name}");
        }
    }
}
