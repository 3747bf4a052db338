//! What can be done? Each step, the calls that it takes, and the tools that it needs.

use serde_json::{Value, json};

/// One thing that a person asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Show a file.
    Read {
        /// The file.
        path: String,
    },
    /// Show a page.
    Fetch {
        /// Its address.
        url: String,
    },
    /// Put the text of a page or a file into a file: two calls, one after the other.
    Save {
        /// Where the text comes from.
        from: Source,
        /// The file.
        path: String,
        /// A line below the text.
        note: Option<String>,
    },
    /// Write a text into a file.
    Write {
        /// The text.
        content: String,
        /// The file.
        path: String,
    },
    /// Show what is in a directory.
    List {
        /// The directory.
        path: String,
    },
    /// Find files by name.
    Find {
        /// A glob pattern.
        pattern: String,
    },
    /// Find lines in files.
    Search {
        /// The text, literally.
        text: String,
        /// A directory or a file.
        path: String,
    },
    /// Tell the time.
    Time,
}

/// Where a text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A page.
    Page(String),
    /// A file.
    File(String),
}

/// One call, as it goes out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Planned {
    /// The wire name.
    pub(super) name: &'static str,
    /// The arguments.
    pub(super) arguments: Value,
}

impl Step {
    /// The call that comes after those whose texts are in `earlier`; nothing when the step is done.
    pub(super) fn call(&self, earlier: &[&str]) -> Option<Planned> {
        let (name, arguments) = match (self, earlier) {
            (Self::Read { path } | Self::Save { from: Source::File(path), .. }, []) => {
                (FILE_READ, json!({ "path": path }))
            }
            (Self::Fetch { url } | Self::Save { from: Source::Page(url), .. }, []) => {
                (WEB_FETCH, json!({ "url": url }))
            }
            (Self::Save { path, note, .. }, [text]) => {
                let (text, _) = parts(text);
                let content = note.as_ref().map_or_else(|| text.to_owned(), |note| format!("{text}\n{note}"));
                (FILE_WRITE, json!({ "path": path, "content": content }))
            }
            (Self::Write { content, path }, []) => (FILE_WRITE, json!({ "path": path, "content": content })),
            (Self::List { path }, []) => (LIST_DIR, json!({ "path": path })),
            (Self::Find { pattern }, []) => (GLOB, json!({ "pattern": pattern })),
            (Self::Search { text, path }, []) => (GREP, json!({ "pattern": literal(text), "path": path })),
            (Self::Time, []) => (NOW, json!({})),
            (
                Self::Read { .. }
                | Self::Fetch { .. }
                | Self::Save { .. }
                | Self::Write { .. }
                | Self::List { .. }
                | Self::Find { .. }
                | Self::Search { .. }
                | Self::Time,
                _,
            ) => return None,
        };
        Some(Planned { name, arguments })
    }
}

/// The text of a result, and the facts about it where our own tools put them: in an object on the last line.
pub(super) fn parts(result: &str) -> (&str, Value) {
    let (text, last) = result.rsplit_once('\n').unwrap_or(("", result));
    match serde_json::from_str::<Value>(last) {
        Ok(facts) if FACTS.iter().any(|fact| facts.get(fact).is_some()) => (text, facts),
        Ok(_) | Err(_) => (result, Value::Null),
    }
}

// `grep` takes an expression, a person means a text.
fn literal(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        if "\\.+*?()|[]{}^$".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

const FILE_READ: &str = "fs__file_read";
const FILE_WRITE: &str = "fs__file_write";
const LIST_DIR: &str = "fs__list_dir";
const GLOB: &str = "fs__glob";
const GREP: &str = "fs__grep";
const WEB_FETCH: &str = "http__web_fetch";
const NOW: &str = "time__now";
/// One key of each of our own tools' facts, by which they are told from a last line of the text itself.
const FACTS: [&str; 7] = ["first_line", "created", "content_type", "files_searched", "entries", "matches", "unix_ms"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_told_from_text() {
        let check = |result: &str, text: &str, has_facts: bool| {
            let (found, facts) = parts(result);
            assert_eq!((found, !facts.is_null()), (text, has_facts), "{result}");
        };
        check("a\nb\n\n{\"path\":\"f\",\"first_line\":1}", "a\nb\n", true);
        check("\n{\"path\":\"f\",\"first_line\":1}", "", true);
        check("{\"entries\":[]}", "", true);
        check("a\n{\"own\":1}", "a\n{\"own\":1}", false);
        check("a\nb", "a\nb", false);
        check("", "", false);
    }

    #[test]
    fn a_saved_page_is_its_text_and_the_note() {
        let save = |note: Option<&str>| Step::Save {
            from: Source::Page("http://a.test/".to_owned()),
            path: "f".to_owned(),
            note: note.map(str::to_owned),
        };
        let page = "Title\n\nText\n{\"url\":\"http://a.test/\",\"content_type\":\"text/html\",\"cut\":false}";
        let check = |note: Option<&str>, content: &str| {
            let expected = Planned { name: FILE_WRITE, arguments: json!({ "path": "f", "content": content }) };
            assert_eq!(save(note).call(&[page]), Some(expected));
        };
        check(None, "Title\n\nText");
        check(Some("n-7"), "Title\n\nText\nn-7");
        assert_eq!(save(None).call(&[]).map(|call| call.name), Some(WEB_FETCH));
        assert_eq!(save(None).call(&[page, "{}"]), None);
    }

    #[test]
    fn a_searched_text_is_meant_literally() {
        assert_eq!(literal("a.b(c)"), "a\\.b\\(c\\)");
        assert_eq!(literal("plain words"), "plain words");
    }
}
