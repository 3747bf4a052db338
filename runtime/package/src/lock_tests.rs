//! What does damage to the lock cost? The tool whose block it is, and no other.

use super::*;
use crate::SigningKey;

const KEY: [u8; 32] = [9; 32];

fn entry(name: &str) -> LockEntry {
    LockEntry {
        name: ToolName::parse(name).expect("a valid name"),
        version: Version::parse("1.2.3-rc.1").expect("a valid version"),
        source: "/home/me/weather.wasm".to_owned(),
        component: Digest::of(name.as_bytes()),
        bundle: Digest::of(b"bundle"),
        describe: Digest::of(b"describe"),
        signer: SigningKey::from_seed(&[1; 32]).public().fingerprint(),
        worlds: vec!["chitin:tool/tool".to_owned()],
        imports: vec![],
        functions: vec![function("get", "{\"type\":\"object\"}")],
    }
}

fn function(name: &str, schema: &str) -> PinnedFunction {
    PinnedFunction {
        name: FunctionName::parse(name).expect("a valid name"),
        title: "Get".to_owned(),
        summary: "Gets the weather.".to_owned(),
        input_schema: schema.to_owned(),
        effects: Effects { reads: true, ..Effects::default() },
    }
}

fn lock(names: &[&str]) -> LockFile {
    LockFile { entries: names.iter().map(|name| entry(name)).collect(), damaged: vec![] }
}

fn names(file: &LockFile) -> Vec<&str> {
    file.entries.iter().map(|entry| entry.name.as_str()).collect()
}

fn guesses(file: &LockFile) -> Vec<Option<&str>> {
    file.damaged.iter().map(|damaged| damaged.name_guess.as_ref().map(ToolName::as_str)).collect()
}

#[test]
fn what_is_written_reads_back_the_same_and_is_toml() {
    let mut file = lock(&["a/one", "b/two"]);
    // Texts that a careless writer would let out of their block.
    let hostile = "]\n[[tool]]\nname = \"x/y\"\nseal = \"\"\n\u{7f}\u{1}\t\\ é ☂ \"\"\" '''";
    file.entries[0].source = hostile.to_owned();
    file.entries[0].imports = vec![hostile.to_owned(), "wasi:cli/environment@0.2.0".to_owned()];
    file.entries[0].functions = vec![function("a", hostile), function("b", "{}")];
    file.entries[0].functions[1].effects = Effects { writes: true, destroys: true, pays: true, ..Effects::default() };
    file.entries[1].functions = vec![];
    let bytes = file.to_bytes(&KEY);
    assert_eq!(LockFile::parse(&bytes, &KEY), file);
    let text = String::from_utf8(bytes).expect("the file is UTF-8");
    assert_eq!(text.matches("[[tool]]").count(), 2);
    assert!(text.starts_with("[[tool]]\nname = \"a/one\"\n"), "{text}");
    let value: toml::Table = toml::from_str(&text).expect("the file is TOML");
    assert_eq!(value["tool"].as_array().map(Vec::len), Some(2));
    assert_eq!(LockFile::parse(b"", &KEY), LockFile::default());
}

#[test]
fn entries_are_written_by_name() {
    let bytes = lock(&["b/two", "a/one", "a/three"]).to_bytes(&KEY);
    assert_eq!(names(&LockFile::parse(&bytes, &KEY)), ["a/one", "a/three", "b/two"]);
    assert_eq!(bytes, lock(&["a/one", "a/three", "b/two"]).to_bytes(&KEY));
}

#[test]
fn a_seal_fits_one_key_and_one_text() {
    let bytes = lock(&["a/one", "b/two"]).to_bytes(&KEY);
    let other = LockFile::parse(&bytes, &[8; 32]);
    assert_eq!((names(&other), guesses(&other)), (vec![], vec![Some("a/one"), Some("b/two")]));
    // A block under the seal of another one.
    let text = String::from_utf8(bytes).expect("UTF-8");
    let seals: Vec<&str> = text.lines().filter(|line| line.starts_with("seal")).collect();
    let moved = text.replacen(seals[0], seals[1], 1);
    let file = LockFile::parse(moved.as_bytes(), &KEY);
    assert_eq!((names(&file), guesses(&file)), (vec!["b/two"], vec![Some("a/one")]));
}

#[test]
fn a_name_in_two_blocks_disables_that_tool_only() {
    let one = lock(&["a/one"]).to_bytes(&KEY);
    let bytes = [one.clone(), lock(&["b/two"]).to_bytes(&KEY), one].concat();
    let file = LockFile::parse(&bytes, &KEY);
    assert_eq!((names(&file), guesses(&file)), (vec!["b/two"], vec![Some("a/one"), Some("a/one")]));
    // What was damaged stays damaged when the file is written again, until the tool is put or taken.
    let mut again = LockFile::parse(&file.to_bytes(&KEY), &KEY);
    assert_eq!(again, file);
    again.put(entry("a/one"));
    assert_eq!(LockFile::parse(&again.to_bytes(&KEY), &KEY), lock(&["a/one", "b/two"]));
}

#[test]
fn text_between_and_after_the_blocks_takes_no_block_along() {
    let (one, two) = (lock(&["a/one"]).to_bytes(&KEY), lock(&["b/two"]).to_bytes(&KEY));
    for (junk, damaged) in [("\n\n", 0), ("# a comment\n", 1), ("[[tool]]\n", 1), ("seal = \"", 1), ("\u{0}", 1)] {
        let bytes = [junk.as_bytes(), &one, junk.as_bytes(), &two, junk.as_bytes()].concat();
        let file = LockFile::parse(&bytes, &KEY);
        assert_eq!(names(&file), ["a/one", "b/two"], "{junk:?}");
        assert_eq!(file.damaged.len(), 3 * damaged, "{junk:?}");
        assert_eq!(LockFile::parse(&file.to_bytes(&KEY), &KEY).entries, file.entries, "{junk:?}");
    }
}

#[test]
fn a_damaged_block_goes_when_its_tool_is_taken() {
    let text = String::from_utf8(lock(&["a/one", "b/two"]).to_bytes(&KEY)).expect("UTF-8");
    let readable = text.replacen("1.2.3", "1.2.4", 1);
    let unreadable = text.replacen("name = \"a/one\"", "name = \"a#one\"", 1);
    let name = |text: &str| ToolName::parse(text).expect("a valid name");
    for (text, taken, left) in
        [(&readable, "a/one", 0), (&readable, "b/two", 1), (&unreadable, "a/one", 0), (&unreadable, "b/two", 1)]
    {
        let mut file = LockFile::parse(text.as_bytes(), &KEY);
        assert!(file.take(&name(taken)), "{taken}");
        assert_eq!(file.damaged.len(), left, "{taken}");
        assert!(file.find(&name(taken)).is_none());
    }
    assert!(!lock(&["a/one"]).take(&name("b/two")));
}

#[test]
fn an_entry_fits_exactly_when_it_can_be_found_again() {
    let mut large = entry("a/one");
    let room = BLOCK_BYTES_MAX - lock(&["a/one"]).to_bytes(&KEY).len();
    for (extra, fits) in [(room, true), (room + 2, false)] {
        large.source = format!("/home/me/weather.wasm{}", "x".repeat(extra));
        assert_eq!(large.fits(), fits);
        let file = LockFile { entries: vec![large.clone()], damaged: vec![] };
        assert_eq!(LockFile::parse(&file.to_bytes(&KEY), &KEY).entries.len(), usize::from(fits));
    }
}

#[test]
fn a_file_of_headers_is_bounded() {
    let bytes = HEADER.repeat(BLOCKS_MAX * 2);
    let file = LockFile::parse(&bytes, &KEY);
    assert!(file.entries.is_empty());
    assert_eq!(file.damaged.len(), BLOCKS_MAX + 1);
    assert_eq!(file.damaged.iter().map(|damaged| damaged.bytes.len()).sum::<usize>(), bytes.len());
}

#[test]
fn one_flipped_byte_disables_one_tool_and_alters_none() {
    for whole in [lock(&["a/one", "b/two"]), lock(&["a/one", "b/two", "c/three"])] {
        let bytes = whole.to_bytes(&KEY);
        let mut ends = Vec::new();
        for entry in &whole.entries {
            let alone = LockFile { entries: vec![entry.clone()], damaged: vec![] };
            ends.push(ends.last().unwrap_or(&0) + alone.to_bytes(&KEY).len());
        }
        assert_eq!(ends.last(), Some(&bytes.len()));
        let check = |offset: usize, value: u8| {
            let mut flipped = bytes.clone();
            flipped[offset] = value;
            let file = LockFile::parse(&flipped, &KEY);
            let hit = ends.iter().position(|end| offset < *end).expect("the offset lies in a block");
            let others: Vec<&LockEntry> =
                whole.entries.iter().enumerate().filter(|(i, _)| *i != hit).map(|(_, entry)| entry).collect();
            assert_eq!(file.entries.iter().collect::<Vec<_>>(), others, "offset {offset} = {value:#04x}");
            assert!(!file.damaged.is_empty(), "offset {offset} = {value:#04x}");
        };
        // Each offset once, with another value for each.
        let mut state = 0x9e37_79b9_u32;
        for (offset, old) in bytes.iter().enumerate() {
            check(offset, old ^ noise(&mut state).max(1));
        }
        // All 255 other values at some offsets, the ends and beginnings of blocks among them.
        let near_ends = ends.iter().flat_map(|end| end.saturating_sub(70)..(end + 10).min(bytes.len()));
        let offsets: Vec<usize> = near_ends.step_by(9).chain((0..bytes.len()).step_by(101)).collect();
        for offset in offsets {
            for value in (0..=255).filter(|value| *value != bytes[offset]) {
                check(offset, value);
            }
        }
    }
}

/// The same bytes on each run (a linear congruential generator), so that a failure can be repeated.
fn noise(state: &mut u32) -> u8 {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    state.to_be_bytes()[0]
}
