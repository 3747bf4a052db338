//! Where do time and new ids come from? The system, once, for everybody who asks through a port.

use chitin_ports::{Clock, Ids};
use chitin_types::{CallId, SessionId, TurnId};
use uuid::Uuid;

/// The system's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Version 7 identifiers: they sort by time and never repeat.
pub(crate) struct TimedIds;

impl Ids for TimedIds {
    fn session(&self) -> SessionId {
        SessionId::parse(fresh()).expect("32 hexadecimal digits are an id")
    }
    fn turn(&self) -> TurnId {
        TurnId::parse(fresh()).expect("32 hexadecimal digits are an id")
    }
    fn call(&self) -> CallId {
        CallId::parse(fresh()).expect("32 hexadecimal digits are an id")
    }
}

fn fresh() -> String {
    Uuid::now_v7().simple().to_string()
}
