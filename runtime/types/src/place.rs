//! Where in a text is it? A byte offset goes in, `file:line:col` comes out.

use std::fmt;

/// A place in a file, as editors and compilers write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file's name as the user knows it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// The place of `offset` bytes into `text`. An offset past the end is the end.
    pub fn at(file: &str, text: &str, offset: usize) -> Self {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = text.get(..end).unwrap_or("");
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or("").chars().count() + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let check = |offset: usize, expected: &str| assert_eq!(Place::at("f", "aé\nbc", offset).to_string(), expected);
        check(0, "f:1:1");
        check(1, "f:1:2");
        check(2, "f:1:2");
        check(4, "f:2:1");
        check(99, "f:2:3");
    }
}
