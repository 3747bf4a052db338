//! `/api/approvals` and `/api/stop`: how does the owner answer a question, or stop a turn, from elsewhere?

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Path, Request, State, rejection::PathRejection},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use chitin_agent::AnswerError;
use serde::Deserialize;
use serde_json::json;

use crate::{Gateway, body, door::Pass, problem::Problem, session};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verdict {
    allow: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    session: Option<String>,
}

/// Every open question.
pub(crate) fn list(gateway: &Gateway) -> Response {
    let body = json!({ "schema": "chitin/approval-list/v1", "approvals": gateway.parts.board.pending() });
    Json(body).into_response()
}

/// Answers a question, once.
pub(crate) async fn answer(
    State(gateway): State<Arc<Gateway>>,
    id: Result<Path<String>, PathRejection>,
    request: Request,
) -> Result<Response, Problem> {
    let unknown = || Problem::new(StatusCode::NOT_FOUND, "no such question is open");
    let Path(id) = id.map_err(|_| unknown())?;
    let Verdict { allow } = body::json(request).await?;
    match gateway.parts.board.answer(&id, allow) {
        Ok(()) => Ok(Json(json!({ "schema": "chitin/approval/v1", "id": id, "allow": allow })).into_response()),
        Err(AnswerError::Unknown) => Err(unknown()),
        Err(AnswerError::Expired) => Err(Problem::new(StatusCode::GONE, "the question has expired")),
    }
}

/// Stops the turn of a session.
pub(crate) async fn stop(
    State(gateway): State<Arc<Gateway>>,
    Extension(pass): Extension<Pass>,
    request: Request,
) -> Result<Response, Problem> {
    let which: Which = body::json(request).await?;
    let key = session::key(pass.door, which.session.as_deref())?;
    let stopped = gateway.parts.agent.stop(&key);
    Ok(Json(json!({ "schema": "chitin/stop/v1", "session": key.reply_target, "stopped": stopped })).into_response())
}

#[cfg(test)]
#[path = "approvals_tests.rs"]
mod tests;
