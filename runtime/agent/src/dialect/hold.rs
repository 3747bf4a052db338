//! What does a person see of a text that may hold calls? Pieces go in as they come; what is surely text comes out, and
//! the rest once the whole reply was read.
//!
//! ```text
//!   line begins like a tag ─→ held ─┬─ it is none ──→ shown
//!                                   └─ it is one ───→ held, and everything after it, until the end
//! ```
//!
//! It never shows what `scan` may take out, and so must know only where a line begins. What is held without need (a tag
//! in a fence) comes with the end of the reply.

use super::tag::{self, Beginning};

/// The text of one reply, as it comes.
#[derive(Debug)]
pub(crate) struct Hold {
    reach: Reach,
    state: State,
    /// The beginning of a line, or after it.
    line: String,
    shown_bytes: usize,
}

/// Where a call may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// At the beginning of every line.
    Lines,
    /// At the beginning of the text: it is calls and nothing else.
    Whole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// What comes may still become a tag.
    Undecided,
    /// The rest of this line is text.
    Line,
    /// All that comes is text.
    Text,
    /// Nothing more is shown before the end.
    Held,
}

impl Hold {
    /// Nothing has come yet.
    pub(super) fn new(reach: Reach) -> Self {
        Self { reach, state: State::Undecided, line: String::new(), shown_bytes: 0 }
    }

    /// Takes a piece, and gives what may be shown.
    pub(crate) fn feed(&mut self, piece: &str) -> String {
        let mut shown = String::new();
        for part in piece.split_inclusive('\n') {
            self.part(part, &mut shown);
        }
        self.shown_bytes += shown.len();
        shown
    }

    /// What is left to show of the reply, as it was read.
    pub(crate) fn finish<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.shown_bytes..).unwrap_or("")
    }

    // A part has no line end but at its end.
    fn part(&mut self, part: &str, shown: &mut String) {
        match self.state {
            State::Held => return,
            State::Line | State::Text => shown.push_str(part),
            State::Undecided => {
                self.line.push_str(part);
                match self.beginning() {
                    Beginning::Open => return,
                    Beginning::Call => {
                        self.state = State::Held;
                        return;
                    }
                    Beginning::Text => {
                        shown.push_str(&std::mem::take(&mut self.line));
                        self.state = if self.reach == Reach::Whole { State::Text } else { State::Line };
                    }
                }
            }
        }
        if self.state == State::Line && part.ends_with('\n') {
            self.state = State::Undecided;
        }
    }

    fn beginning(&self) -> Beginning {
        match self.reach {
            Reach::Lines => tag::beginning(&self.line),
            Reach::Whole => tag::beginning(self.line.trim_start()),
        }
    }
}

#[cfg(test)]
#[path = "hold_tests.rs"]
mod tests;
