//! Where do new ids come from? Randomness stays outside of the pure crates.

use chitin_types::{CallId, SessionId, TurnId};

/// Makes ids that were never used before and that sort by the time of making.
pub trait Ids: Send + Sync {
    /// For a new dialogue.
    fn session(&self) -> SessionId;
    /// For a new turn.
    fn turn(&self) -> TurnId;
    /// For a new call.
    fn call(&self) -> CallId;
}
