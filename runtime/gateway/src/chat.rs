//! `POST /api/chat`: one message in, its answer out, at once or as it comes.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header::ACCEPT},
    response::{IntoResponse as _, Response},
};
use chitin_agent::{Inbound, TurnEnd};
use chitin_ports::Delivery;
use serde::Deserialize;
use serde_json::json;

use crate::{Gateway, body, door::Pass, problem::Problem, session, sse, turns::Turn};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    message: String,
    session: Option<String>,
}

/// Handles one message. A client that goes away before the end stops the turn.
pub(crate) async fn post(
    State(gateway): State<Arc<Gateway>>,
    Extension(pass): Extension<Pass>,
    request: Request,
) -> Result<Response, Problem> {
    let delivery = delivery(request.headers());
    let ask: Ask = body::json(request).await?;
    if ask.message.trim().is_empty() {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "the message is empty"));
    }
    let key = session::key(pass.door, ask.session.as_deref())?;
    let session = key.reply_target.clone();
    let turn = Turn::begin(&gateway, Inbound { key, text: ask.message, delivery })?;
    match delivery {
        Delivery::Streamed => Ok(sse::response(turn, pass.revoked(gateway))),
        Delivery::Whole => tokio::select! {
            end = turn.end() => answer(end, &session),
            () = pass.revoked(gateway) => Err(Problem::new(StatusCode::UNAUTHORIZED, "the token was revoked")),
        },
    }
}

fn answer(end: TurnEnd, session: &str) -> Result<Response, Problem> {
    match end {
        TurnEnd::Answered(text) | TurnEnd::Commanded(text) => {
            let body = json!({ "schema": "chitin/answer/v1", "text": text, "session": session });
            Ok(Json(body).into_response())
        }
        TurnEnd::Stopped(why) => Err(Problem::new(StatusCode::CONFLICT, why)),
        TurnEnd::Failed(why) => Err(Problem::new(StatusCode::BAD_GATEWAY, why)),
    }
}

/// Server-sent events for whoever names them.
fn delivery(headers: &HeaderMap) -> Delivery {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = accepted.flat_map(|value| value.split(',')).filter_map(|range| range.split(';').next());
    let streamed = types.any(|name| name.trim().eq_ignore_ascii_case("text/event-stream"));
    if streamed { Delivery::Streamed } else { Delivery::Whole }
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
