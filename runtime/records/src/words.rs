//! By which words is a text found? A text goes in; the words under which it is indexed, or the ones that ask for it,
//! come out.
//!
//! ```text
//!   text ─→ NFKC, lower case, Katakana as Hiragana ─┬─ scripts without spaces, Hangul ─→ characters and pairs of them
//!                                                   └─ all others ─→ Unicode words ─→ as written, and bare of accents
//! ```
//!
//! What is written with accents is found by one who types none, and the other way round; two words that differ in their
//! accents do not find each other. So a word is indexed as it is written and, marked, bare; who asks with accents gets
//! the word as written by them or by somebody without accents, who asks without gets the bare form of all.
//!
//! A word holds letters, digits and marks only, never ASCII punctuation: the tokenizer of the index keeps it whole, and
//! no text of a user becomes syntax of a query.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use unicode_segmentation::UnicodeSegmentation;

/// The words under which a text is indexed, with a space between them.
pub(crate) fn indexed(text: &str) -> String {
    let mut words = Vec::new();
    for piece in pieces(text.chars()) {
        match piece {
            Piece::Run(run) => {
                words.extend(run.iter().map(char::to_string));
                words.extend(pairs(&run));
            }
            Piece::Word(word) => {
                let (written, bare) = (written(&word), bare(&word));
                if written != bare {
                    words.push(marked(&bare));
                }
                words.push(written);
            }
        }
    }
    words.join(" ")
}

/// The query for the index that finds a text by any of its words; nothing when there is no word in it.
pub(crate) fn query(text: &str) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    for piece in pieces(text.chars().take(QUERY_CHARS_MAX)) {
        let asked: Vec<String> = match piece {
            Piece::Run(run) if run.len() == 1 => run.iter().map(char::to_string).collect(),
            Piece::Run(run) => pairs(&run).chain(lone_ideographs(&run)).collect(),
            Piece::Word(word) => {
                let (written, bare) = (written(&word), bare(&word));
                let other = if written == bare { marked(&bare) } else { bare };
                vec![written, other]
            }
        };
        for word in asked {
            if words.len() < QUERY_WORDS_MAX && !words.contains(&word) {
                words.push(word);
            }
        }
    }
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" OR "))
}

/// The ideographs that a query is about, each once: what asks where no pair was found, because a word of one character
/// stands beside others in the text than in the question. Characters that only hold a sentence together are left out.
pub(crate) fn ideographs(text: &str) -> Vec<char> {
    let mut found: Vec<char> = Vec::new();
    for piece in pieces(text.chars().take(QUERY_CHARS_MAX)) {
        let Piece::Run(run) = piece else { continue };
        for c in run.into_iter().filter(|c| is_ideograph(*c) && !COMMON.contains(*c)) {
            if found.len() < QUERY_WORDS_MAX && !found.contains(&c) {
                found.push(c);
            }
        }
    }
    found
}

/// A part of a text, in its one spelling.
enum Piece {
    /// Characters of scripts that are looked up by pairs, without a break between them.
    Run(Vec<char>),
    /// A word of any other script.
    Word(String),
}

fn pieces(text: impl Iterator<Item = char>) -> Vec<Piece> {
    let normal: String = text.nfkc().flat_map(char::to_lowercase).nfkc().filter_map(respelled).collect();
    let mut pieces = Vec::new();
    let mut rest = normal.as_str();
    while let Some(first) = rest.chars().next() {
        let paired = is_paired(first);
        let end = rest.find(|c: char| is_paired(c) != paired).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        if paired {
            pieces.push(Piece::Run(part.chars().collect()));
        } else {
            pieces.extend(part.unicode_words().flat_map(words_of).map(Piece::Word));
        }
        rest = after;
    }
    pieces
}

// Words that a writer or a keyboard spells in two ways, so that NFKC keeps both.
fn respelled(c: char) -> Option<char> {
    match c {
        // Joiners and selectors change how a character looks, never which one it is.
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' => None,
        '\u{e0100}'..='\u{e01ef}' => None,
        '\'' | '\u{2019}' => Some('\''),
        'ς' => Some('σ'),
        '\u{30a1}'..='\u{30f6}' => char::from_u32(u32::from(c) - KATAKANA_TO_HIRAGANA),
        _ => Some(c),
    }
}

/// A Unicode word keeps its full stops, colons and underscores; here they part it, and an apostrophe joins it.
fn words_of(word: &str) -> Vec<String> {
    word.split(|c: char| !c.is_alphanumeric() && !is_combining_mark(c) && c != '\'')
        .map(|part| part.chars().filter(|c| *c != '\'').take(WORD_CHARS_MAX).collect::<String>())
        .filter(|word| word.contains(char::is_alphanumeric))
        .collect()
}

/// The word with its tones at the end, because Vietnamese puts them in two ways: `hòa` and `hoà`.
fn written(word: &str) -> String {
    if word.is_ascii() {
        return word.to_owned();
    }
    let (mut tones, letters): (Vec<char>, Vec<char>) = word.nfd().partition(|c| TONES.contains(c));
    tones.sort_unstable();
    letters.into_iter().nfc().chain(tones).collect()
}

/// The word without accents. Marks of other scripts stay: there they are vowels.
fn bare(word: &str) -> String {
    if word.is_ascii() {
        return word.to_owned();
    }
    let letters = word.nfd().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).nfc();
    let mut bare = String::with_capacity(word.len());
    for c in letters {
        match c {
            'đ' | 'ð' => bare.push('d'),
            'ø' => bare.push('o'),
            'ł' => bare.push('l'),
            'ħ' => bare.push('h'),
            'ı' => bare.push('i'),
            'ß' => bare.push_str("ss"),
            'æ' => bare.push_str("ae"),
            'œ' => bare.push_str("oe"),
            _ => bare.push(c),
        }
    }
    bare
}

fn marked(bare: &str) -> String {
    format!("{BARE_MARK}{bare}")
}

fn pairs(run: &[char]) -> impl Iterator<Item = String> {
    run.windows(2).map(|pair| pair.iter().collect())
}

/// Ideographs that stand alone between kana: words of one character, such as `猫` in `猫が好き`.
fn lone_ideographs(run: &[char]) -> impl Iterator<Item = String> {
    run.chunk_by(|a, b| is_ideograph(*a) == is_ideograph(*b)).filter_map(|chunk| match chunk {
        [one] if is_ideograph(*one) => Some(one.to_string()),
        _ => None,
    })
}

fn is_paired(c: char) -> bool {
    is_ideograph(c) || PAIRED.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

fn is_ideograph(c: char) -> bool {
    IDEOGRAPHS.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// Han, with the characters that stand for one.
const IDEOGRAPHS: [(char, char); 7] = [
    ('\u{2e80}', '\u{2fdf}'),
    ('\u{3005}', '\u{3007}'),
    ('\u{3021}', '\u{3029}'),
    ('\u{3400}', '\u{4dbf}'),
    ('\u{4e00}', '\u{9fff}'),
    ('\u{f900}', '\u{faff}'),
    ('\u{20000}', '\u{3fffd}'),
];
/// The other scripts that write no spaces, without their digits and punctuation; and Hangul, whose words carry their
/// particles with them.
const PAIRED: [(char, char); 16] = [
    // Thai, Lao, Burmese, Khmer.
    ('\u{0e01}', '\u{0e3a}'),
    ('\u{0e40}', '\u{0e4e}'),
    ('\u{0e81}', '\u{0ecd}'),
    ('\u{1000}', '\u{103f}'),
    ('\u{1780}', '\u{17d3}'),
    // Hiragana, Katakana, Bopomofo.
    ('\u{3031}', '\u{3035}'),
    ('\u{3041}', '\u{309f}'),
    ('\u{30a1}', '\u{30fa}'),
    ('\u{30fc}', '\u{312f}'),
    ('\u{31a0}', '\u{31bf}'),
    ('\u{31f0}', '\u{31ff}'),
    ('\u{1aff0}', '\u{1b16f}'),
    // Hangul, and its letters alone.
    ('\u{1100}', '\u{11ff}'),
    ('\u{3131}', '\u{318e}'),
    ('\u{a960}', '\u{a97c}'),
    ('\u{ac00}', '\u{d7fb}'),
];
const KATAKANA_TO_HIRAGANA: u32 = 0x60;
/// The five tones of Vietnamese, which are also the commonest accents elsewhere: grave, acute, tilde, hook, dot below.
const TONES: [char; 5] = ['\u{300}', '\u{301}', '\u{303}', '\u{309}', '\u{323}'];
/// Characters that are in nearly every Chinese sentence and tell nothing of what it is about.
const COMMON: &str = "的了是我你他她它们們这這那在有和与與不也都就还還什么麼怎吗嗎呢吧啊一个個上下中大小来來去会會说說要可以很多少几幾哪谁誰为為";
/// Tells a bare form from a word. For private use, so no letter and never in a word.
const BARE_MARK: char = '\u{e000}';
/// What is longer is no word but data, and is found by its beginning.
const WORD_CHARS_MAX: usize = 64;
/// How much of a query is read, so that a pasted book does not become one.
const QUERY_CHARS_MAX: usize = 4_096;
/// Words of one query: each is a look-up, and whoever sends a long message must not stop the reader for the others.
const QUERY_WORDS_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(indexed(text).replace(BARE_MARK, "~"), expected, "{text}");
    }

    #[test]
    fn a_text_is_indexed_by_its_words_and_pairs() {
        check("The API-key, file.name_2!", "the api key file name 2");
        check("He can't, can’t he?", "he cant cant he");
        check("ＡＢＣ１２", "abc12");
        check("北京天气", "北 京 天 气 北京 京天 天气");
        check("ｶﾞｽ", "が す がす");
        check("서울에서 김치", "서 울 에 서 서울 울에 에서 김 치 김치");
        check("wifi密码", "wifi 密 码 密码");
        check("Hà Nội", "~ha ha\u{300} ~noi nôi\u{323}");
        check("đường", "~duong đương\u{300}");
        check("Straße ΟΔΟΣ οδος", "~strasse straße οδοσ οδοσ");
        check("काम", "काम");
        check("!? \u{0} \u{e000} 🎉 \u{301}", "");
        check("", "");
    }

    #[test]
    fn both_ways_to_put_a_tone_are_one_word() {
        for (one, other) in [("hòa", "hoà"), ("thủy", "thuỷ"), ("Ho\u{300}a", "hoà"), ("KHỎE", "khoẻ")] {
            assert_eq!(indexed(one), indexed(other), "{one} {other}");
        }
    }

    #[test]
    fn a_query_is_made_of_quoted_words_only() {
        let asks = |text: &str, expected: Option<&str>| {
            assert_eq!(query(text).map(|query| query.replace(BARE_MARK, "~")).as_deref(), expected, "{text}");
        };
        asks("Ha Nội", Some("\"ha\" OR \"~ha\" OR \"nôi\u{323}\" OR \"noi\""));
        asks("京都", Some(r#""京都""#));
        asks("猫が好き", Some(r#""猫が" OR "が好" OR "好き" OR "猫" OR "好""#));
        asks("茶", Some(r#""茶""#));
        asks("a a A", Some(r#""a" OR "~a""#));
        asks(r#"" NEAR(words: * ^ -"#, Some(r#""near" OR "~near" OR "words" OR "~words""#));
        asks("\" * ( ) : ^ - + \0", None);
        asks("", None);
    }

    #[test]
    fn a_query_has_an_end() {
        let long = (0..2_000).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
        let query = query(&long).expect("words");
        assert_eq!(query.matches(" OR ").count() + 1, QUERY_WORDS_MAX);
        assert_eq!(indexed(&"x".repeat(10_000)).len(), WORD_CHARS_MAX);
    }
}
