//! Are plain requests understood as a person means them, and everything else left alone?

use super::*;

fn read(path: &str) -> Step {
    Step::Read { path: path.to_owned() }
}

fn fetched(url: &str) -> Step {
    Step::Fetch { url: url.to_owned() }
}

fn wrote(content: &str, path: &str) -> Step {
    Step::Write { content: content.to_owned(), path: path.to_owned() }
}

fn saved(from: Source, path: &str, note: Option<&str>) -> Step {
    Step::Save { from, path: path.to_owned(), note: note.map(str::to_owned) }
}

fn page(url: &str) -> Source {
    Source::Page(url.to_owned())
}

fn listed(path: &str) -> Step {
    Step::List { path: path.to_owned() }
}

fn found(pattern: &str) -> Step {
    Step::Find { pattern: pattern.to_owned() }
}

fn searched(text: &str, path: &str) -> Step {
    Step::Search { text: text.to_owned(), path: path.to_owned() }
}

fn check(cases: Vec<(&str, Step)>) {
    for (prompt, expected) in cases {
        assert_eq!(steps(prompt), Ok(vec![expected]), "{prompt}");
    }
}

#[test]
fn files_are_read_and_written() {
    check(vec![
        ("read notes.txt", read("notes.txt")),
        ("Read the file notes.txt.", read("notes.txt")),
        ("please show me notes.txt, please", read("notes.txt")),
        ("cat \"my notes.txt\"", read("my notes.txt")),
        ("what is in ../x.md?", read("../x.md")),
        ("what does a/b.txt say?", read("a/b.txt")),
        ("write hello world to out.txt", wrote("hello world", "out.txt")),
        ("write \"a; then b\" into the file out.txt", wrote("a; then b", "out.txt")),
        ("save the text 'it's so' to out.txt.", wrote("it's so", "out.txt")),
        ("write from here to there to out.txt", wrote("from here to there", "out.txt")),
        ("write salt and write pepper to f", wrote("salt and write pepper", "f")),
        ("write hi to f with note n-1", wrote("hi\nn-1", "f")),
        ("create a file called f.txt with the text \"x\"", wrote("x", "f.txt")),
        ("create f.txt", wrote("", "f.txt")),
    ]);
}

#[test]
fn pages_are_fetched_and_saved() {
    let url = "https://a.test/x?y=1";
    check(vec![
        ("fetch https://a.test/x?y=1", fetched(url)),
        ("fetch the page at https://a.test/x?y=1.", fetched(url)),
        ("read https://a.test/x?y=1", fetched(url)),
        ("get www.a.test", fetched("https://www.a.test")),
        ("save the page at https://a.test/x?y=1 to page.txt", saved(page(url), "page.txt", None)),
        ("write the contents of https://a.test/x?y=1 to page.txt", saved(page(url), "page.txt", None)),
        ("download https://a.test/x?y=1 to page.txt", saved(page(url), "page.txt", None)),
        ("fetch https://a.test/x?y=1 and save it to page.txt", saved(page(url), "page.txt", None)),
        ("fetch https://a.test/x?y=1, then write the result into page.txt", saved(page(url), "page.txt", None)),
        ("fetch https://a.test/x?y=1 and save it to p with note n-7", saved(page(url), "p", Some("n-7"))),
        ("fetch https://a.test/x?y=1 and write it with n-7 to p", saved(page(url), "p", Some("n-7"))),
        ("fetch https://a.test/x?y=1 and save it as p with the note \"a b.\"", saved(page(url), "p", Some("a b."))),
        ("read a.txt and save it to b.txt", saved(Source::File("a.txt".to_owned()), "b.txt", None)),
    ]);
}

#[test]
fn directories_names_texts_and_the_time_are_asked_for() {
    check(vec![
        ("list files", listed(".")),
        ("ls", listed(".")),
        ("list src", listed("src")),
        ("list the files in src/deep please", listed("src/deep")),
        ("what files are there in src?", listed("src")),
        ("show me the files", listed(".")),
        ("find *.rs", found("*.rs")),
        ("find all files named *.r?", found("*.r?")),
        ("find *.md in docs", found("docs/**/*.md")),
        ("search for TODO in src", searched("TODO", "src")),
        ("search for \"two words\" in src", searched("two words", "src")),
        ("search for needle", searched("needle", ".")),
        ("search src for two words", searched("two words", "src")),
        ("grep TODO src", searched("TODO", "src")),
        ("find files containing TODO in src", searched("TODO", "src")),
        ("what time is it?", Step::Time),
        ("What's the time", Step::Time),
        ("tell me the current date and time", Step::Time),
    ]);
}

#[test]
fn several_parts_keep_their_order() {
    let three = vec![read("a"), fetched("http://a.test"), listed(".")];
    for prompt in [
        "read a then fetch http://a.test then list files",
        "Read a, then fetch http://a.test, and then list files.",
        "read a; fetch http://a.test; list files",
        "read a\nfetch http://a.test\n\nlist files\n",
        "first read a and fetch http://a.test and list files",
    ] {
        assert_eq!(steps(prompt), Ok(three.clone()), "{prompt}");
    }
    let copied = vec![saved(page("http://a.test"), "f", Some("n")), read("f")];
    assert_eq!(steps("fetch http://a.test and save it to f with note n; read f"), Ok(copied));
    let written = vec![wrote("a", "f"), wrote("b", "g")];
    assert_eq!(steps("write a to f and write b to g"), Ok(written.clone()));
    assert_eq!(steps("write a to f then write b to g"), Ok(written));
}

#[test]
fn what_is_not_understood_stops_all_of_it() {
    let part = |text: &str| Err(Unclear::Part(text.to_owned()));
    let check = |prompt: &str, expected: Result<Vec<Step>, Unclear>| assert_eq!(steps(prompt), expected, "{prompt}");
    check("", Err(Unclear::Empty));
    check(" \n ; ", Err(Unclear::Empty));
    check("hello", part("hello"));
    check("why is the sky blue", part("why is the sky blue"));
    check("read", part("read"));
    check("read a b c", part("read a b c"));
    check("read a.txt; dance", part("dance"));
    check("fetch notes", part("fetch notes"));
    check("write it to f", part("write it to f"));
    check("list files; save it to f", part("save it to f"));
    check("write hello", part("write hello"));
    check(&"ls; ".repeat(9), Err(Unclear::TooMuch));
    check(&"x".repeat(PROMPT_BYTES_MAX + 1), Err(Unclear::TooMuch));
}
