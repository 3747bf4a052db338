//! Text that grows word by word, with breaks that never pile up.
//!
//! A break is asked for, not written: it is written before the next word, and the largest one that was asked for wins.

/// How far the next word is set off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Break {
    #[default]
    None,
    Space,
    Line,
    Paragraph,
}

#[derive(Debug, Default)]
pub(crate) struct Outline {
    text: String,
    pending: Break,
    /// Written before the next word: the mark of a list item or of a heading.
    mark: String,
}

impl Outline {
    pub(crate) fn set_off(&mut self, wanted: Break) {
        self.pending = self.pending.max(wanted);
    }

    /// Starts a line that begins with `mark`, if anything follows it.
    pub(crate) fn start_line(&mut self, wanted: Break, mark: &str) {
        self.set_off(wanted);
        mark.clone_into(&mut self.mark);
    }

    /// Text in which white space only separates words.
    pub(crate) fn words(&mut self, text: &str) {
        let visible = text.replace(['\u{ad}', '\u{200b}', '\u{feff}'], "");
        if visible.starts_with(char::is_whitespace) {
            self.set_off(Break::Space);
        }
        for word in visible.split_whitespace() {
            self.piece(word);
            self.set_off(Break::Space);
        }
        if !visible.ends_with(char::is_whitespace) && self.pending == Break::Space {
            self.pending = Break::None;
        }
    }

    /// Text in which white space counts.
    pub(crate) fn verbatim(&mut self, text: &str) {
        // The first line feed after `<pre>` is not part of its text.
        let text = if self.pending >= Break::Line { text.strip_prefix('\n').unwrap_or(text) } else { text };
        if !text.is_empty() {
            self.piece(text);
        }
    }

    /// A remark on the words before it; the break that they asked for comes after it.
    pub(crate) fn remark(&mut self, remark: &str) {
        let due = std::mem::replace(&mut self.pending, Break::Space);
        self.piece(remark);
        self.set_off(due);
    }

    /// Something that is written as it is, after the break that is due.
    pub(crate) fn piece(&mut self, piece: &str) {
        let gap = match self.pending {
            Break::None => "",
            _ if self.text.is_empty() => "",
            Break::Space => " ",
            Break::Line => "\n",
            Break::Paragraph => "\n\n",
        };
        if gap.starts_with('\n') {
            self.text.truncate(self.text.trim_end_matches([' ', '\n']).len());
        }
        self.text.push_str(gap);
        self.text.push_str(&std::mem::take(&mut self.mark));
        self.text.push_str(piece);
        self.pending = Break::None;
    }

    /// True when the next word would continue a line.
    pub(crate) fn is_mid_line(&self) -> bool {
        !self.text.is_empty() && self.pending < Break::Line
    }

    /// Where the next word will be, at the earliest.
    pub(crate) fn position(&self) -> usize {
        self.text.len()
    }

    /// What was written since a position.
    pub(crate) fn since(&self, position: usize) -> &str {
        self.text.get(position..).unwrap_or_default().trim()
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}
