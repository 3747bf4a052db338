//! Which words does a prompt have? Text goes in; words come out, line by line, and what stands in quotes is one word.

/// One word, or a text in quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word<'a> {
    source: &'a str,
    start: usize,
    end: usize,
    text: &'a str,
    quoted: bool,
}

impl<'a> Word<'a> {
    /// For comparing with keywords: lower case, without punctuation at its end. A text in quotes is no keyword.
    pub(super) fn key(&self) -> String {
        if self.quoted { String::new() } else { self.text.trim_end_matches(PUNCTUATION).to_lowercase() }
    }

    /// As a name: without quotes, and without the punctuation of the sentence around it. Dots alone are a path.
    pub(super) fn name(&self) -> &'a str {
        let bare = self.text.trim_end_matches([',', '!', '?']);
        if self.quoted {
            self.text
        } else if bare.chars().all(|c| c == '.') {
            bare
        } else {
            bare.strip_suffix('.').unwrap_or(bare)
        }
    }

    /// As it was written, without quotes.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Whether it stood in quotes.
    pub(super) fn is_quoted(&self) -> bool {
        self.quoted
    }

    fn at(source: &'a str, start: usize) -> Self {
        let rest = source.get(start..).unwrap_or("");
        if let Some((open, text, close)) = quoted(rest) {
            let after = rest.get(open + text.len() + close..).unwrap_or("");
            let tail = after.len() - after.trim_start_matches(PUNCTUATION).len();
            return Self { source, start, end: start + open + text.len() + close + tail, text, quoted: true };
        }
        let length = rest.char_indices().map(|(at, _)| at).find(|at| ends_here(rest, *at)).unwrap_or(rest.len());
        Self { source, start, end: start + length, text: rest.get(..length).unwrap_or(""), quoted: false }
    }
}

/// The words of each line. A semicolon ends a line too.
pub(super) fn lines(prompt: &str) -> Vec<Vec<Word<'_>>> {
    let mut lines = vec![Vec::new()];
    let mut at = 0;
    while let Some(first) = prompt.get(at..).and_then(|rest| rest.chars().next()) {
        if first == '\n' || first == ';' {
            lines.push(Vec::new());
            at += 1;
        } else if first.is_whitespace() {
            at += first.len_utf8();
        } else {
            let word = Word::at(prompt, at);
            at = word.end;
            if let Some(line) = lines.last_mut() {
                line.push(word);
            }
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// What was written from the first of these words to the last; one text in quotes loses them.
pub(super) fn raw<'a>(words: &[Word<'a>]) -> &'a str {
    match words {
        [only] if only.quoted => only.text,
        [first, .., last] => first.source.get(first.start..last.end).unwrap_or(""),
        [only] => only.text,
        [] => "",
    }
}

// An apostrophe inside a word opens nothing, because quotes open only where a word begins; and they close only where
// one ends, so that "it's" inside of single quotes goes on.
fn quoted(rest: &str) -> Option<(usize, &str, usize)> {
    let first = rest.chars().next()?;
    let (open, close) = QUOTES.into_iter().find(|(open, _)| *open == first)?;
    let body = rest.get(open.len_utf8()..)?;
    let ends = |at: &usize| {
        let after = body.get(at + close.len_utf8()..).and_then(|after| after.chars().next());
        after.is_none_or(|c| c.is_whitespace() || c == ';' || PUNCTUATION.contains(&c))
    };
    let end = body.match_indices(close).map(|(at, _)| at).find(ends)?;
    Some((open.len_utf8(), body.get(..end)?, close.len_utf8()))
}

fn ends_here(rest: &str, at: usize) -> bool {
    let mut next = rest.get(at..).unwrap_or("").chars();
    match next.next() {
        Some(';') => next.next().is_none_or(char::is_whitespace),
        Some(c) => c.is_whitespace(),
        None => true,
    }
}

const QUOTES: [(char, char); 4] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”')];
const PUNCTUATION: [char; 5] = [',', '.', '!', '?', ':'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lines_and_quotes() {
        let check = |prompt: &str, expected: &[&[&str]]| {
            let found: Vec<Vec<&str>> =
                lines(prompt).iter().map(|line| line.iter().map(Word::name).collect()).collect();
            assert_eq!(found, expected, "{prompt}");
        };
        check("", &[]);
        check(" \n;\n", &[]);
        check("read notes.txt.", &[&["read", "notes.txt"]]);
        check("read a.txt; list ..\nwhat's up?", &[&["read", "a.txt"], &["list", ".."], &["what's", "up"]]);
        check("write \"a; b\nc\" to f", &[&["write", "a; b\nc", "to", "f"]]);
        check("write 'it's so', then “é” `x`", &[&["write", "it's so", "then", "é", "x"]]);
        check("an \"open quote", &[&["an", "\"open", "quote"]]);
        check("fetch http://a.test/x;y=1?z. Now", &[&["fetch", "http://a.test/x;y=1?z", "Now"]]);
    }

    #[test]
    fn raw_text_keeps_what_was_written() {
        let check = |prompt: &str, expected: &str| assert_eq!(raw(&lines(prompt).concat()), expected);
        check("a  b,  c.", "a  b,  c.");
        check("\"a  b\"", "a  b");
        check("say \"a  b\" twice", "say \"a  b\" twice");
        check("one", "one");
    }
}
