//! `file_read`: a text file, or a range of its lines, up to what one answer may hold.

use std::fs::File;
use std::io::{BufRead, BufReader, Error};

use chitin_sdk::{Failure, Json, tool};
use serde::Serialize;

use crate::path::{CHARACTERS_MAX, GuestPath};
use crate::refusal;

#[derive(Serialize)]
pub(crate) struct Shown {
    path: String,
    first_line: u64,
    lines: u64,
    bytes: usize,
    more: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

/// Reads a UTF-8 text file, or a range of its lines. The answer is the text, then an object that says which lines it holds
/// and, when there are more, with which `offset_line` to go on.
#[tool(reads, idempotent, repeatable, title = "Read a file")]
pub(crate) fn file_read(
    /// The file to read. Relative paths start at /workspace.
    #[arg(max_length = CHARACTERS_MAX)]
    path: String,
    /// The first line to read, counted from 1.
    #[arg(minimum = 1, default = 1)]
    offset_line: u64,
    /// The most lines to read; all when left out.
    #[arg(minimum = 1)]
    limit_lines: Option<u64>,
) -> Result<(String, Json<Shown>), Failure> {
    let path = GuestPath::parse(&path)?;
    let first_line = offset_line.max(1);
    let limits = Limits {
        skipped_lines: first_line - 1,
        lines_max: limit_lines.unwrap_or(u64::MAX),
        bytes_max: READ_BYTES_MAX,
        skipped_bytes_max: SKIPPED_BYTES_MAX,
    };
    let window = open(&path).and_then(|file| Window::of(BufReader::new(file), &limits));
    let window = window.map_err(|error| refusal::failure(&error, "read", &path))?;
    let text = match (window.end, String::from_utf8(window.bytes)) {
        (End::TooFar, _) => return Err(refusal::too_large("read that far into", &path, SKIPPED_BYTES_MAX)),
        (_, Err(_)) => return Err(refusal::not_utf8("read", &path)),
        (End::BeforeOffset(lines), _) if first_line > 1 => return Err(past_the_end(&path, first_line, lines)),
        (_, Ok(text)) => text,
    };
    let more = matches!(window.end, End::More | End::InsideOfLine);
    let shown = Shown {
        path: path.to_string(),
        first_line,
        lines: window.lines,
        bytes: text.len(),
        more,
        next_offset_line: more.then_some(first_line + window.lines),
        note: (window.end == End::InsideOfLine).then_some("the last line was too long and is cut"),
    };
    Ok((text, Json(shown)))
}

fn open(path: &GuestPath) -> Result<File, Error> {
    // Opening a directory succeeds in WASI and only reading it fails, with an error that does not say why.
    if path.as_path().metadata()?.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    File::open(path.as_path())
}

fn past_the_end(path: &GuestPath, first_line: u64, lines: u64) -> Failure {
    Failure::invalid_input(format!("`offset_line` is {first_line}, but `{path}` has {lines} lines"))
        .with_code("offset-past-end")
}

struct Limits {
    skipped_lines: u64,
    lines_max: u64,
    bytes_max: usize,
    skipped_bytes_max: u64,
}

/// Whole lines of a file, from a first one on.
#[derive(Debug, PartialEq, Eq)]
struct Window {
    bytes: Vec<u8>,
    lines: u64,
    end: End,
}

/// Where reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The file ended.
    OfFile,
    /// The file has so many lines and ended before the first one that was wanted.
    BeforeOffset(u64),
    /// A limit was reached, at the end of a line.
    More,
    /// One line alone is longer than the limit.
    InsideOfLine,
    /// The wanted lines lie too deep in the file.
    TooFar,
}

impl Window {
    fn of(mut source: impl BufRead, limits: &Limits) -> Result<Self, Error> {
        let mut window = Self { bytes: Vec::new(), lines: 0, end: End::OfFile };
        let mut skipped = Skipped { lines: 0, bytes: 0, mid_line: false };
        loop {
            let buffer = source.fill_buf()?;
            if buffer.is_empty() {
                window.finish(&skipped, limits);
                return Ok(window);
            }
            let line = buffer.iter().position(|byte| *byte == b'\n').map_or(buffer, |at| buffer.split_at(at + 1).0);
            let (taken, ends_line) = (line.len(), line.ends_with(b"\n"));
            if skipped.lines < limits.skipped_lines {
                skipped.pass(taken, ends_line);
                if skipped.bytes > limits.skipped_bytes_max {
                    window.end = End::TooFar;
                    return Ok(window);
                }
            } else if window.lines == limits.lines_max {
                window.end = End::More;
                return Ok(window);
            } else if window.bytes.len() + taken > limits.bytes_max {
                window.cut(line, limits.bytes_max);
                return Ok(window);
            } else {
                window.bytes.extend_from_slice(line);
                window.lines += u64::from(ends_line);
            }
            source.consume(taken);
        }
    }

    /// Drops the line that did not fit, unless it is the only one: then as much of it stays as there is room for.
    fn cut(&mut self, rest: &[u8], bytes_max: usize) {
        let whole = self.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole > 0 {
            self.bytes.truncate(whole);
            self.end = End::More;
            return;
        }
        let room = bytes_max - self.bytes.len();
        self.bytes.extend_from_slice(rest.get(..room).unwrap_or(rest));
        let tail = trailing_fragment(&self.bytes);
        self.bytes.truncate(self.bytes.len() - tail);
        self.lines = 1;
        self.end = End::InsideOfLine;
    }

    fn finish(&mut self, skipped: &Skipped, limits: &Limits) {
        // A last line without a line feed is a line too.
        self.lines += u64::from(!self.bytes.is_empty() && !self.bytes.ends_with(b"\n"));
        let lines_before = skipped.lines + u64::from(skipped.mid_line);
        self.end = if self.bytes.is_empty() && lines_before <= limits.skipped_lines {
            End::BeforeOffset(lines_before)
        } else {
            End::OfFile
        };
    }
}

struct Skipped {
    lines: u64,
    bytes: u64,
    mid_line: bool,
}

impl Skipped {
    fn pass(&mut self, bytes: usize, ends_line: bool) {
        self.bytes += bytes as u64;
        self.lines += u64::from(ends_line);
        self.mid_line = !ends_line;
    }
}

/// How many bytes at the end are the beginning of a character whose rest was cut off.
fn trailing_fragment(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        _ => 0,
    }
}

/// 256 KiB is what one call may give back by default; a little of it is left for the object that follows the text.
const READ_BYTES_MAX: usize = 256 * 1024 - 4 * 1024;
/// Keeps a far offset in a huge file from eating the time of the call.
const SKIPPED_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
