//! Which characters of a guest's text may reach a terminal or a log? Text goes in, one line that steers nothing comes out.

/// `text` without control characters and changes of writing direction, on one line, at most `bytes_max` long.
pub(crate) fn plain(text: &str, bytes_max: usize) -> String {
    let mut line = String::new();
    for c in text.chars().filter(|c| !steers(*c)) {
        if line.len() + c.len_utf8() > bytes_max {
            break;
        }
        line.push(c);
    }
    line
}

// Control characters, line and paragraph separators, and the bidirectional marks, embeddings, overrides and isolates of
// Unicode technical report 36, section 2: each can make a line look like another one, or like two.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_left_out_and_the_rest_is_cut_between_characters() {
        let check =
            |text: &str, bytes_max: usize, expected: &str| assert_eq!(plain(text, bytes_max), expected, "{text:?}");
        check("plain text, à la carte ☂", 100, "plain text, à la carte ☂");
        check("one\ntwo\r\u{1b}[2Jthree\0", 100, "onetwo[2Jthree");
        check("safe\u{202e}gpj.exe\u{2028}x", 100, "safegpj.exex");
        check("abcdef", 3, "abc");
        check("a☂b", 3, "a");
        check("", 3, "");
    }
}
