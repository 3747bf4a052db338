//! How the bytes of an answer become text: by byte order mark, header, or what the page says of itself; else UTF-8.

use encoding_rs::{Encoding, UTF_8};

/// The text, or nothing when the bytes are not text: an image, an archive, a program.
pub(crate) fn text(bytes: &[u8], content_type: Option<&str>) -> Option<String> {
    let declared = content_type.and_then(|header| parameter(header, "charset")).and_then(by_label);
    let encoding = Encoding::for_bom(bytes).map(|(encoding, _)| encoding).or(declared).or_else(|| from_markup(bytes));
    match encoding {
        None if bytes.iter().take(SAMPLE_BYTES).any(|byte| *byte == 0) => None,
        None => decoded_as_utf8(bytes),
        Some(encoding) => Some(encoding.decode(bytes).0.into_owned()),
    }
}

/// The type without parameters, in small letters; `text/html; charset=utf-8` is `text/html`.
pub(crate) fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Without a declaration, a few wrong bytes are a mistake of the page; many mean that it is not text.
fn decoded_as_utf8(bytes: &[u8]) -> Option<String> {
    let (text, _) = UTF_8.decode_without_bom_handling(bytes);
    let wrong = text.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    (wrong * WRONG_SHARE <= text.len()).then(|| text.into_owned())
}

fn parameter<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header.split(';').skip(1).find_map(|part| {
        let (key, value) = part.split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches(['"', '\'']))
    })
}

fn by_label(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label(label.as_bytes())
}

/// `<meta charset="…">` or `<meta … content="text/html; charset=…">` near the beginning, where the standard wants it.
fn from_markup(bytes: &[u8]) -> Option<&'static Encoding> {
    let head: String = bytes.iter().take(MARKUP_BYTES).map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    let after = head.split("<meta").skip(1).find_map(|tag| tag.split('>').next()?.split_once("charset"))?.1;
    let label = after.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    by_label(label.split(['"', '\'', ';', ' ', '/', '>']).next()?)
}

/// Where a null byte gives away that something is not text.
const SAMPLE_BYTES: usize = 8 * 1024;
/// What the HTML standard has a browser look through.
const MARKUP_BYTES: usize = 1024;
/// One wrong character in so many bytes is let pass.
const WRONG_SHARE: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], content_type: Option<&str>, expected: Option<&str>) {
        assert_eq!(text(bytes, content_type).as_deref(), expected);
    }

    #[test]
    fn the_encoding_is_taken_from_the_best_source() {
        check("é".as_bytes(), None, Some("é"));
        check(b"\xe9", Some("text/html; charset=\"ISO-8859-1\""), Some("é"));
        check(b"\x83e\x83X\x83g", Some("text/plain;charset=Shift_JIS"), Some("テスト"));
        check(b"\xef\xbb\xbfa", Some("text/html; charset=iso-8859-1"), Some("a"));
        check(b"\xff\xfea\0b\0", None, Some("ab"));
        check(b"<meta charset=windows-1252>\x80", None, Some("<meta charset=windows-1252>€"));
        check(
            b"<META http-equiv=x content='text/html; charset=latin1'>\xe9",
            Some("text/html"),
            Some("<META http-equiv=x content='text/html; charset=latin1'>é"),
        );
        check(b"a", Some("text/html; charset=nonsense"), Some("a"));
    }

    #[test]
    fn what_is_not_text_is_told_apart() {
        check(b"\x89PNG\0\0", Some("image/png"), None);
        check(&[0xff; 20], None, None);
    }

    #[test]
    fn media_types_lose_their_parameters() {
        assert_eq!(media_type("Text/HTML; charset=utf-8"), "text/html");
    }
}
