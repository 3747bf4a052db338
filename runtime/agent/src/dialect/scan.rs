//! Where in a text may a call stand? A text goes in, line by line; its calls and the text without them come out.
//!
//! ```text
//!   at the beginning of a line, or right after another call ─→ a block? ─→ nothing beside it, and no echo? ─→ calls
//!
//!   never: between code fences · quoted with > · indented as code · from an example on · in <tools>, <think>, results
//! ```
//!
//! Unclosed fences and unclosed tags of those last until the end of the text: what may be quoted is quoted.

use std::ops::Range;

use chitin_types::ToolSpec;

use super::{
    block::{self, Block, Written},
    tag::{self, INERT_TAGS},
};

/// What a text holds.
#[derive(Debug, PartialEq)]
pub(super) struct Scanned<'a> {
    /// The text without the calls.
    pub(super) text: String,
    /// The calls, in their order.
    pub(super) calls: Vec<Written<'a>>,
}

/// Reads `text`. `is_echo` tells of a call whether the model only repeats what it was given.
pub(super) fn scan<'a>(text: &'a str, tools: &[ToolSpec], is_echo: &dyn Fn(&str) -> bool) -> Scanned<'a> {
    let mut place = Place::default();
    let mut found: Vec<(Range<usize>, Vec<Written<'a>>)> = Vec::new();
    let (mut rest, mut tries) = (text, 0);
    while !rest.is_empty() {
        if place.may_call(rest) && tries < BLOCKS_MAX {
            tries += 1;
            if let Some((block, indent)) = whole(rest, tools, is_echo) {
                let begin = text.len() - rest.len() + indent;
                rest = rest.get(indent + block.bytes..).unwrap_or("");
                found.push((begin..begin + block.bytes, block.calls));
                continue;
            }
        }
        let (line, next) = rest.split_once('\n').unwrap_or((rest, ""));
        if place.pass(line) == Passed::EndOfThought {
            found.clear();
        }
        rest = next;
    }
    without(text, found)
}

/// The block at the beginning of a line, and how far it is indented, if nothing stands beside it and it is no echo.
fn whole<'a>(line: &'a str, tools: &[ToolSpec], is_echo: &dyn Fn(&str) -> bool) -> Option<(Block<'a>, usize)> {
    let here = line.trim_start_matches(' ');
    let block = block::read(here, tools)?;
    let after = here.get(block.bytes..)?;
    let beside = after.split_once('\n').map_or(after, |(beside, _)| beside).trim();
    let is_alone = beside.is_empty() || tag::open(beside).is_some() || beside.starts_with("<tool_res");
    let is_own = !block.calls.iter().any(|call| is_echo(call.source));
    (is_alone && is_own).then(|| (block, line.len() - here.len()))
}

fn without<'a>(text: &'a str, found: Vec<(Range<usize>, Vec<Written<'a>>)>) -> Scanned<'a> {
    let mut scanned = Scanned { text: String::with_capacity(text.len()), calls: Vec::new() };
    let mut begin = 0;
    for (range, calls) in found {
        scanned.text.push_str(text.get(begin..range.start).unwrap_or(""));
        begin = range.end;
        scanned.calls.extend(calls);
    }
    scanned.text.push_str(text.get(begin..).unwrap_or(""));
    scanned
}

/// What the lines so far have opened.
#[derive(Debug, Default)]
struct Place {
    fence: Option<Fence>,
    inert: Option<(&'static str, usize)>,
    prose: Prose,
}

/// What the prose is about.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Prose {
    /// Something.
    #[default]
    Plain,
    /// The last line announces an example.
    Announced,
    /// An example of a call came, and whoever explains calls makes none meanwhile.
    Explains,
}

#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn is_closed_by(self, mark: char, length: usize) -> bool {
        self.mark == mark && length >= self.length
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Passed {
    Line,
    /// All before it was only thought.
    EndOfThought,
}

impl Place {
    fn may_call(&self, rest: &str) -> bool {
        let here = rest.trim_start_matches(' ');
        let is_plain = self.fence.is_none() && self.inert.is_none() && self.prose == Prose::Plain;
        is_plain && rest.len() - here.len() <= tag::INDENT_MAX && tag::open(here).is_some()
    }

    /// Goes over a line that is text.
    fn pass(&mut self, line: &str) -> Passed {
        let is_in_fence = self.fence.is_some();
        self.pass_fence(line);
        if is_in_fence || self.fence.is_some() {
            return Passed::Line;
        }
        let mut passed = Passed::Line;
        let (mut is_code, mut before) = (false, ' ');
        for (at, c) in line.char_indices() {
            is_code ^= c == '`';
            let inside = line.get(at + 1..).unwrap_or("");
            // `Vec<tools>` is no tag; a closing tag may stand right after a word.
            let is_tag = c == '<' && !is_code && (!before.is_alphanumeric() || inside.starts_with('/'));
            if is_tag && self.meet(inside) == Passed::EndOfThought {
                passed = Passed::EndOfThought;
            }
            before = c;
        }
        if !line.trim().is_empty() {
            self.listen(line);
        }
        passed
    }

    fn listen(&mut self, line: &str) {
        let is_call = tag::open(line.trim_start()).is_some();
        let line = line.to_lowercase();
        let announces = EXAMPLES.iter().any(|words| line.contains(words));
        self.prose = match (self.prose, announces) {
            (Prose::Explains, _) => Prose::Explains,
            (Prose::Announced, _) if is_call => Prose::Explains,
            (Prose::Plain | Prose::Announced, true) => Prose::Announced,
            (Prose::Plain | Prose::Announced, false) => Prose::Plain,
        };
    }

    fn pass_fence(&mut self, line: &str) {
        let is_list = |c: char| c.is_whitespace() || c.is_ascii_digit() || matches!(c, '-' | '*' | '+' | '.' | ')');
        let here = line.trim_start_matches(is_list);
        // A fence may open in a list; only blanks stand before one that closes.
        let blanks = line.len() - line.trim_start_matches(' ').len();
        let may_close = line.len() - here.len() == blanks && blanks <= tag::INDENT_MAX;
        let mark = here.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = here.chars().take_while(|c| Some(*c) == mark).count();
        let after = here.get(length..).unwrap_or("");
        let Some(mark) = mark.filter(|_| length >= FENCE_MIN) else { return };
        match self.fence {
            None if mark == '~' || !after.contains('`') => self.fence = Some(Fence { mark, length }),
            Some(fence) if fence.is_closed_by(mark, length) && after.trim().is_empty() && may_close => {
                self.fence = None;
            }
            None | Some(_) => {}
        }
    }

    /// Takes what stands after a `<`.
    fn meet(&mut self, inside: &str) -> Passed {
        let (inside, is_close) = inside.strip_prefix('/').map_or((inside, false), |inside| (inside, true));
        let (word, _) = tag::word(inside);
        let Some(name) = INERT_TAGS.into_iter().find(|name| *name == word) else { return Passed::Line };
        self.inert = match (self.inert, is_close) {
            (None, false) => Some((name, 1)),
            // The opening tag stood in the model's template.
            (None, true) if THOUGHTS.contains(&name) => return Passed::EndOfThought,
            (None, true) => None,
            (Some((open, depth)), false) if open == name => Some((open, depth + 1)),
            (Some((open, depth)), true) if open == name => (depth > 1).then_some((open, depth - 1)),
            (Some(other), _) => Some(other),
        };
        Passed::Line
    }
}

/// The tags of what a model only thinks.
const THOUGHTS: [&str; 3] = ["think", "thinking", "reasoning"];
/// Words after which a call is an example. They only ever keep a call from being made.
const EXAMPLES: [&str; 14] = [
    "for example",
    "for instance",
    "e.g.",
    "as an example",
    "example:",
    "like this",
    "following format",
    "syntax:",
    "would look",
    "例如",
    "比如",
    "例えば",
    "예를 들",
    "ví dụ",
];
/// Marks that make a fence.
const FENCE_MIN: usize = 3;
/// Beginnings of blocks that are tried; a text that is nothing but tags must not be read from each of them to its end.
const BLOCKS_MAX: usize = 128;

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
