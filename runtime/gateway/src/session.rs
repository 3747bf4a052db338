//! Whose dialogue is it? A name that the client chose and the door it came through go in, a session key comes out.
//!
//! The client never says which channel or who it is; the door does.

use axum::http::StatusCode;
use chitin_ports::SessionKey;

use crate::{door::Door, problem::Problem};

/// The key of the dialogue with this name; `default` where none is given.
pub(crate) fn key(door: Door, name: Option<&str>) -> Result<SessionKey, Problem> {
    let name = name.unwrap_or(DEFAULT);
    let chars = name.chars().count();
    if chars == 0 || chars > NAME_CHARS_MAX || name.chars().any(unprintable) {
        let detail = format!("a session's name is 1 to {NAME_CHARS_MAX} printable characters");
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
    }
    let channel = match door {
        Door::Tcp => "api",
        // The owner at the terminal goes on with the same dialogue, with and without a daemon.
        Door::Owner => "terminal",
    };
    Ok(SessionKey {
        channel: channel.to_owned(),
        reply_target: name.to_owned(),
        thread: None,
        sender: "owner".to_owned(),
    })
}

/// Control characters, line ends, and marks that change how the text around them is shown.
fn unprintable(c: char) -> bool {
    let invisible =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    c.is_control() || invisible
}

/// The dialogue of whoever names none.
const DEFAULT: &str = "default";
/// Characters of a name; it is kept for every dialogue and shown in lists.
const NAME_CHARS_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_printable() {
        let check = |name: Option<&str>, expected: Option<&str>| {
            let found = key(Door::Tcp, name).ok().map(|key| key.reply_target);
            assert_eq!(found.as_deref(), expected, "{name:?}");
        };
        check(None, Some("default"));
        check(Some("work"), Some("work"));
        check(Some("Größe 3/4"), Some("Größe 3/4"));
        check(Some("日本語"), Some("日本語"));
        check(Some(&"x".repeat(128)), Some(&"x".repeat(128)));
        check(Some(&"x".repeat(129)), None);
        check(Some(""), None);
        check(Some("a\nb"), None);
        check(Some("a\0b"), None);
        check(Some("a\u{202e}b"), None);
        check(Some("a\u{200b}"), None);
    }

    #[test]
    fn the_door_decides_the_channel() {
        let channel = |door| key(door, None).expect("a key").channel;
        assert_eq!((channel(Door::Tcp).as_str(), channel(Door::Owner).as_str()), ("api", "terminal"));
    }
}
