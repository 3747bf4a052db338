//! Which texts may stand in a signed document? Those that a terminal shows as they are, and names that are no paths.
//!
//! A summary is shown on the install page, where a control character or a change of writing direction could make it say
//! something else than it says.

/// Whether `text` has something to read, at most `chars_max` characters, and none that would steer a terminal.
pub fn is_shown_text(text: &str, chars_max: usize) -> bool {
    !text.trim().is_empty() && text.chars().count() <= chars_max && !text.chars().any(steers)
}

/// Whether `text` is the name of a file in the same directory, and no path.
pub fn is_file_name(text: &str) -> bool {
    is_shown_text(text, 128) && !text.starts_with('.') && !text.contains(['/', '\\'])
}

/// Whether `text` can be the name of a WIT world, with or without its package and version.
pub fn is_world(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b':' | b'/' | b'.' | b'@' | b'+'))
}

// Bidirectional marks, embeddings, overrides and isolates: Unicode technical report 36, section 2.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_steer_a_terminal_is_refused() {
        for (text, expected) in [
            ("the weather, à la carte ☂", true),
            ("", false),
            ("   ", false),
            ("a\u{1b}[2J", false),
            ("a\nb", false),
            ("safe\u{202e}gpj.exe", false),
            ("far too long", false),
        ] {
            let chars_max = if text.starts_with("far") { 5 } else { 100 };
            assert_eq!(is_shown_text(text, chars_max), expected, "{text:?}");
        }
    }

    #[test]
    fn a_path_is_no_file_name() {
        for (text, expected) in [
            ("weather.wasm", true),
            ("", false),
            ("..", false),
            (".hidden", false),
            ("a/b.wasm", false),
            ("a\\b.wasm", false),
        ] {
            assert_eq!(is_file_name(text), expected, "{text:?}");
        }
    }

    #[test]
    fn worlds_are_spelled_as_in_wit() {
        for (text, expected) in
            [("tool", true), ("chitin:tool/tool@0.1.0", true), ("", false), ("a b", false), ("wörld", false)]
        {
            assert_eq!(is_world(text), expected, "{text:?}");
        }
    }
}
