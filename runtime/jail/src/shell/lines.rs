//! How does a person see output while a command runs? Pieces of bytes go in, whole lines that no terminal obeys come out.

use std::sync::{Arc, Mutex, PoisonError};

use chitin_ports::{Outlet, Progress};

/// An outlet that gives whole lines to `progress`.
pub(super) fn outlet(progress: Progress) -> Outlet {
    let lines = Mutex::new([Lines::default(), Lines::default()]);
    let told = Mutex::new(0_usize);
    Arc::new(move |bytes: &[u8], is_err| {
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        let [out, err] = &mut *lines;
        let whole = if is_err { err.take(bytes) } else { out.take(bytes) };
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        for line in whole {
            if *told < LINES_MAX {
                *told += 1;
                progress(line);
            }
        }
    })
}

/// Bytes that do not end with a line yet.
#[derive(Default)]
struct Lines(Vec<u8>);

impl Lines {
    fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut whole = Vec::new();
        for byte in bytes {
            if *byte == b'\n' || self.0.len() == LINE_BYTES_MAX {
                whole.push(harmless(&std::mem::take(&mut self.0)));
            }
            if *byte != b'\n' {
                self.0.push(*byte);
            }
        }
        whole.retain(|line| !line.trim().is_empty());
        whole
    }
}

/// The text without what would move a cursor, change colours or ring.
fn harmless(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_end_matches('\r').chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// Longer lines are cut into several; a program may write a gigabyte without a line break.
const LINE_BYTES_MAX: usize = 500;
/// Lines that are shown for one command; the rest is in the result only.
const LINES_MAX: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_without_control_characters() {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&shown);
        let outlet = outlet(Arc::new(move |line| sink.lock().expect("whole").push(line)));
        outlet(b"one\ntw", false);
        outlet(b"mixed\n", true);
        outlet(b"o\r\n\n\x1b[2Jthree\n", false);
        outlet(&[b'x'; 700], false);
        let expected = ["one", "mixed", "two", "\u{fffd}[2Jthree", &"x".repeat(500)];
        assert_eq!(*shown.lock().expect("whole"), expected);
    }

    #[test]
    fn a_flood_of_lines_is_cut() {
        let shown = Arc::new(Mutex::new(0));
        let sink = Arc::clone(&shown);
        let outlet = outlet(Arc::new(move |_| *sink.lock().expect("whole") += 1));
        outlet("x\n".repeat(LINES_MAX + 10).as_bytes(), false);
        assert_eq!(*shown.lock().expect("whole"), LINES_MAX);
    }
}
