//! How are events cut out of a stream? Bytes in any pieces go in; the data of each whole event comes out.
//!
//! ```text
//!   bytes ─→ line (ends at CR, LF or CRLF) ─┬─ "data: …"     ─→ joins the data of the event
//!                                           ├─ ": …", others ─→ dropped
//!                                           └─ empty         ─→ the event is whole
//! ```
//!
//! After the WHATWG "Server-sent events" chapter. Bytes become text only when an event is whole, so that a character
//! that is split between two pieces is never broken.

/// Cuts one stream. Feed it every piece, then ask once for what is left.
#[derive(Debug, Default)]
pub struct EventParser {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    after_cr: bool,
    after_first_line: bool,
}

/// An event larger than any provider sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {} KiB", EVENT_BYTES_MAX / 1024)]
pub struct EventTooLarge;

impl EventParser {
    /// Takes a piece and gives the data of the events that it completes.
    ///
    /// # Errors
    /// An event is too large.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Vec<String>, EventTooLarge> {
        let mut events = Vec::new();
        for &byte in piece {
            // The LF of a CRLF, which may come in another piece than its CR.
            let is_second_half = byte == b'\n' && self.after_cr;
            self.after_cr = byte == b'\r';
            match byte {
                b'\n' if is_second_half => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                other => {
                    self.line.push(other);
                    if self.line.len() + self.data.as_ref().map_or(0, Vec::len) > EVENT_BYTES_MAX {
                        return Err(EventTooLarge);
                    }
                }
            }
        }
        Ok(events)
    }

    /// The data of an event that the end of the stream cut short. The standard drops it; servers exist that end without
    /// the empty line, so the caller decides whether it is whole.
    pub fn finish(mut self) -> Option<String> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.data.map(|data| text_of(&data))
    }

    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !self.after_first_line {
            self.after_first_line = true;
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return self.data.take().map(|data| text_of(&data));
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, rest) = line.split_at(colon);
        if field == b"data" {
            let value = rest.strip_prefix(b":").unwrap_or(rest);
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            }
        }
        None
    }
}

fn text_of(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

/// One event, so that a stream without an empty line cannot fill the memory.
const EVENT_BYTES_MAX: usize = 1024 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pieces: &[&[u8]]) -> (Vec<String>, Option<String>) {
        let mut parser = EventParser::default();
        let events = pieces.iter().flat_map(|piece| parser.feed(piece).expect("small events")).collect();
        (events, parser.finish())
    }

    #[test]
    fn every_split_gives_the_same_events() {
        let check = |stream: &str, expected: &[&str]| {
            let bytes = stream.as_bytes();
            let expected: Vec<String> = expected.iter().map(|event| (*event).to_owned()).collect();
            for at in 0..=bytes.len() {
                let (head, tail) = bytes.split_at(at);
                assert_eq!(parse(&[head, tail]), (expected.clone(), None), "{at}");
            }
            let singly: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(parse(&singly).0, expected);
        };
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check("data: a\r\rdata: b\r\r", &["a", "b"]);
        check("\u{feff}data: a\n\n", &["a"]);
        check(": a comment\n\nevent: x\nid: 1\nretry: 5\ndata:a\n\n", &["a"]);
        check("data: a\ndata:  b\ndata\ndata:\n\n", &["a\n b\n\n"]);
        check("data: {\"t\":\"grüße 🦀\"}\n\n", &["{\"t\":\"grüße 🦀\"}"]);
        check("database: x\n\n\n\ndata: a:b\n\n", &["a:b"]);
    }

    #[test]
    fn what_the_end_cuts_short_is_given_apart() {
        let check = |stream: &str, expected: Option<&str>| {
            assert_eq!(parse(&[stream.as_bytes()]), (Vec::new(), expected.map(str::to_owned)));
        };
        check("data: [DONE]", Some("[DONE]"));
        check("data: [DONE]\n", Some("[DONE]"));
        check(": ping\n", None);
        check("", None);
    }

    #[test]
    fn an_endless_event_is_refused() {
        let line = [b'x'; 1024];
        let mut parser = EventParser::default();
        let refused = (0..=EVENT_BYTES_MAX / line.len()).any(|_| parser.feed(&line).is_err());
        assert!(refused);
        let mut parser = EventParser::default();
        let refused = (0..EVENT_BYTES_MAX).any(|_| parser.feed(b"data: 123456789\n").is_err());
        assert!(refused);
    }
}
