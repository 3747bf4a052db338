//! What an HTML page says: its title, and its text with headings, lists and links. Markup in, plain text out.
//!
//! Read as a stream of tags, without a tree: end tags may be missing and tags may overlap, as on many pages, and the
//! memory stays that of the text. When a page marks its main part, only that is given, since the rest is navigation.

use chitin_sdk::http::Url;
use html5gum::{DefaultEmitter, EndTag, HtmlString, StartTag, Token, Tokenizer};

use crate::outline::{Break, Outline};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
}

impl Page {
    /// `url` is what links on the page are relative to.
    pub(crate) fn from_html(source: &str, url: &Url) -> Self {
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        let mut reader = Reader::new(url.clone());
        for Ok(token) in Tokenizer::new_with_emitter(source, emitter) {
            match token {
                Token::StartTag(tag) => reader.start(&tag),
                Token::EndTag(tag) => reader.end(&tag),
                Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
                Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
            }
        }
        reader.finish()
    }
}

/// Where in the page the reader is.
struct Reader {
    base: Url,
    out: Outline,
    title: Option<String>,
    in_title: bool,
    /// The element whose content is passed over, and how deep it is nested in itself.
    passed_over: Option<(String, u32)>,
    verbatim_depth: u32,
    lists: Vec<List>,
    link: Option<Link>,
    main: Main,
}

enum List {
    Bullets,
    Numbers(u32),
}

struct Link {
    url: Option<String>,
    start: usize,
}

/// The part of the text that the page calls its main one.
enum Main {
    NotSeen,
    Open(usize),
    Closed(usize, usize),
}

impl Reader {
    fn new(base: Url) -> Self {
        Self {
            base,
            out: Outline::default(),
            title: None,
            in_title: false,
            passed_over: None,
            verbatim_depth: 0,
            lists: Vec::new(),
            link: None,
            main: Main::NotSeen,
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        if let Some((passed_over, depth)) = &mut self.passed_over {
            *depth += u32::from(*passed_over == name && !tag.self_closing);
            return;
        }
        if PASSED_OVER.contains(&name.as_str()) {
            if !tag.self_closing {
                self.passed_over = Some((name, 1));
            }
            return;
        }
        match name.as_str() {
            "title" => self.in_title = self.title.is_none(),
            "base" => self.set_base(tag),
            "main" => self.open_main(),
            "a" => self.open_link(tag),
            "img" => self.image(tag),
            "br" => self.out.set_off(Break::Line),
            "hr" => self.rule(),
            "pre" => {
                self.out.set_off(Break::Paragraph);
                self.verbatim_depth += 1;
            }
            "ul" | "menu" => self.open_list(List::Bullets),
            "ol" => self.open_list(List::Numbers(0)),
            "li" => self.item(),
            "td" | "th" => self.cell(),
            other => self.set_off_block(other, true),
        }
    }

    fn end(&mut self, tag: &EndTag<()>) {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        if let Some((passed_over, depth)) = &mut self.passed_over {
            *depth -= u32::from(*passed_over == name);
            if *depth == 0 {
                self.passed_over = None;
            }
            return;
        }
        match name.as_str() {
            "title" => self.in_title = false,
            "main" => self.close_main(),
            "a" => self.close_link(),
            "pre" => {
                self.out.set_off(Break::Paragraph);
                self.verbatim_depth = self.verbatim_depth.saturating_sub(1);
            }
            "ul" | "ol" | "menu" => {
                self.lists.pop();
                self.out.set_off(if self.lists.is_empty() { Break::Paragraph } else { Break::Line });
            }
            other => self.set_off_block(other, false),
        }
    }

    fn text(&mut self, text: &str) {
        if self.passed_over.is_some() {
            return;
        }
        if self.in_title {
            self.title.get_or_insert_default().push_str(text);
        } else if self.verbatim_depth > 0 {
            self.out.verbatim(text);
        } else {
            self.out.words(text);
        }
    }

    fn finish(mut self) -> Page {
        self.close_link();
        self.close_main();
        let title = self.title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        let text = self.out.into_text();
        let main = match self.main {
            Main::Closed(start, end) => text.get(start..end).unwrap_or_default().trim(),
            Main::NotSeen | Main::Open(_) => "",
        };
        let text = if main.len() >= MAIN_BYTES_MIN { main } else { text.trim() };
        Page { title: title.filter(|title| !title.is_empty()), text: text.to_owned() }
    }

    fn set_off_block(&mut self, name: &str, is_start: bool) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if is_start => {
                let level = name.as_bytes().get(1).map_or(1, |digit| usize::from(digit.saturating_sub(b'0')));
                self.out.start_line(Break::Paragraph, &format!("{} ", "#".repeat(level)));
            }
            // Inside of a list item a paragraph would tear the item from its mark.
            "p" if !self.lists.is_empty() => self.out.set_off(Break::Line),
            "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "blockquote" | "table" | "section" | "article"
            | "header" | "footer" | "nav" | "aside" | "figure" | "form" | "dl" | "details" => {
                self.out.set_off(Break::Paragraph);
            }
            "div" | "tr" | "dt" | "dd" | "figcaption" | "caption" | "address" | "summary" | "option" | "fieldset"
            | "legend" | "body" => self.out.set_off(Break::Line),
            _ => {}
        }
    }

    fn set_base(&mut self, tag: &StartTag<()>) {
        if let Some(Ok(base)) = attribute(tag, b"href").map(|href| self.base.join(&href)) {
            self.base = base;
        }
    }

    fn open_main(&mut self) {
        self.out.set_off(Break::Paragraph);
        if matches!(self.main, Main::NotSeen) {
            self.main = Main::Open(self.out.position());
        }
    }

    fn close_main(&mut self) {
        if let Main::Open(start) = self.main {
            self.main = Main::Closed(start, self.out.position());
        }
        self.out.set_off(Break::Paragraph);
    }

    fn open_link(&mut self, tag: &StartTag<()>) {
        // Links do not nest: a second one ends the first, as in a browser.
        self.close_link();
        let href = attribute(tag, b"href").filter(|href| !href.trim_start().starts_with('#'));
        let url = href.and_then(|href| self.base.join(&href).ok()).map(|url| url.to_string());
        self.link = Some(Link { url, start: self.out.position() });
    }

    fn close_link(&mut self) {
        let Some(Link { url: Some(url), start }) = self.link.take() else { return };
        let shown = self.out.since(start);
        if !shown.is_empty() && shown.trim_end_matches('/') != url.trim_end_matches('/') {
            self.out.remark(&format!("({url})"));
        }
    }

    fn image(&mut self, tag: &StartTag<()>) {
        if let Some(described) = attribute(tag, b"alt").filter(|text| !text.trim().is_empty()) {
            self.out.words(&format!("[image: {}]", described.trim()));
        }
    }

    fn rule(&mut self) {
        self.out.set_off(Break::Paragraph);
        self.out.piece("---");
        self.out.set_off(Break::Paragraph);
    }

    fn open_list(&mut self, list: List) {
        self.out.set_off(if self.lists.is_empty() { Break::Paragraph } else { Break::Line });
        if self.lists.len() < LISTS_MAX {
            self.lists.push(list);
        }
    }

    fn item(&mut self) {
        let indent = "  ".repeat(self.lists.len().saturating_sub(1));
        let mark = match self.lists.last_mut() {
            Some(List::Numbers(count)) => {
                *count += 1;
                format!("{indent}{count}. ")
            }
            Some(List::Bullets) | None => format!("{indent}- "),
        };
        self.out.start_line(Break::Line, &mark);
    }

    fn cell(&mut self) {
        // The first cell of a row follows the break of the row; a mark between the others keeps columns apart.
        if self.out.is_mid_line() {
            self.out.set_off(Break::Space);
            self.out.piece("|");
            self.out.set_off(Break::Space);
        }
    }
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    tag.attributes.get(&HtmlString(name.to_vec())).map(|value| String::from_utf8_lossy(value).into_owned())
}

/// Elements whose content nobody reads: programs, drawings, what is shown instead of them, and lists to choose from.
const PASSED_OVER: [&str; 10] =
    ["script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "select", "datalist"];
/// A main part shorter than this is a frame that a script fills.
const MAIN_BYTES_MIN: usize = 200;
/// Deeper nesting is an attack on the indentation, which grows with it.
const LISTS_MAX: usize = 8;

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
