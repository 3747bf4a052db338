//! `forget`: one memory is removed, so that no later question finds it.

use chitin_sdk::host::recall;
use chitin_sdk::{Failure, Json, tool};
use serde::Serialize;

use crate::ID_CHARACTERS_MAX;

#[derive(Serialize)]
pub(crate) struct Forgotten {
    id: String,
}

/// Removes one memory for good, by the id that `recall` or `export` gave. Succeeds also when nothing has that id.
#[tool(writes, destroys, idempotent, title = "Forget")]
pub(crate) fn forget(
    /// The id.
    #[arg(min_length = 1, max_length = ID_CHARACTERS_MAX)]
    id: String,
) -> Result<Json<Forgotten>, Failure> {
    recall::forget(&id)?;
    Ok(Json(Forgotten { id }))
}
