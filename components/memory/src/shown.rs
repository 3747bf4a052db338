//! How a memory is given back, and how many fit into one answer.

use chitin_sdk::host::recall::Memory;
use jiff::Timestamp;
use serde::Serialize;

#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Shown {
    pub(crate) id: String,
    scope: String,
    text: String,
    /// True when the text is longer than shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    /// ISO 8601 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    stored_at: Option<String>,
    /// Higher is closer to the question; comparable only inside of one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f32>,
}

/// As many memories as one answer holds.
#[derive(Debug, PartialEq)]
pub(crate) struct Fitting {
    pub(crate) memories: Vec<Shown>,
    pub(crate) left_out: usize,
}

impl Shown {
    pub(crate) fn scored(memory: Memory) -> Self {
        let score = Some(memory.score);
        Self { score, ..Self::unscored(memory) }
    }

    pub(crate) fn unscored(memory: Memory) -> Self {
        let Memory { id, scope, text, stored_at_ms, score: _ } = memory;
        let stored_at = i64::try_from(stored_at_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        Self { id, scope, text, cut: false, stored_at: stored_at.map(|at| format!("{at:.3}")), score: None }
    }

    fn shortened(mut self, text_bytes_max: usize) -> Self {
        if self.text.len() > text_bytes_max {
            self.text.truncate(self.text.floor_char_boundary(text_bytes_max));
            self.cut = true;
        }
        self
    }

    /// Measured as it is sent: a text of quotation marks doubles in size on its way out.
    fn json_bytes(&self) -> usize {
        serde_json::to_string(self).map_or(usize::MAX, |json| json.len())
    }
}

impl Fitting {
    /// The first is always there, shortened further where it alone would be too long.
    pub(crate) fn of(found: impl Iterator<Item = Shown>, text_bytes_max: usize) -> Self {
        let mut fitting = Self { memories: Vec::new(), left_out: 0 };
        let mut room = ANSWER_BYTES_MAX;
        for memory in found {
            let mut memory = memory.shortened(text_bytes_max);
            if fitting.memories.is_empty() && memory.json_bytes() > room {
                memory = memory.shortened(ANSWER_BYTES_MAX / ESCAPED_BYTES_MAX / 2);
            }
            match room.checked_sub(memory.json_bytes()) {
                Some(left) if fitting.left_out == 0 => {
                    room = left;
                    fitting.memories.push(memory);
                }
                _ => fitting.left_out += 1,
            }
        }
        fitting
    }
}

/// Leaves a quarter of what a call may give back by default, for the object around the memories.
pub(crate) const ANSWER_BYTES_MAX: usize = 192 * 1024;
/// A control character becomes `\u0001`.
const ESCAPED_BYTES_MAX: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(text: &str) -> Memory {
        Memory {
            id: "m1".to_owned(),
            scope: "default".to_owned(),
            text: text.to_owned(),
            stored_at_ms: 1_772_366_400_000,
            score: 0.5,
        }
    }

    fn check(memory: &Shown, expected: &str) {
        assert_eq!(serde_json::to_string(memory).expect("JSON"), expected);
    }

    #[test]
    fn a_memory_is_shown_with_its_time_and_its_score() {
        let stored = r#""stored_at":"2026-03-01T12:00:00.000Z""#;
        let expected = format!(r#"{{"id":"m1","scope":"default","text":"tea",{stored},"score":0.5}}"#);
        check(&Shown::scored(memory("tea")), &expected);
        let expected = format!(r#"{{"id":"m1","scope":"default","text":"té","cut":true,{stored}}}"#);
        check(&Shown::unscored(memory("téa")).shortened(3), &expected);
        let before_all_clocks = Shown::unscored(Memory { stored_at_ms: u64::MAX, ..memory("tea") });
        check(&before_all_clocks, r#"{"id":"m1","scope":"default","text":"tea"}"#);
    }

    fn check_fit(texts: &[String], text_bytes_max: usize, expected: (usize, usize)) {
        let found = texts.iter().map(|text| Shown::unscored(memory(text)));
        let fitting = Fitting::of(found, text_bytes_max);
        let bytes: usize = fitting.memories.iter().map(Shown::json_bytes).sum();
        assert!(bytes <= ANSWER_BYTES_MAX, "{bytes}");
        assert_eq!((fitting.memories.len(), fitting.left_out), expected);
    }

    #[test]
    fn an_answer_never_outgrows_what_a_call_may_give() {
        check_fit(&[], 4000, (0, 0));
        check_fit(&vec!["x".repeat(64_000); 50], 4000, (48, 2));
        check_fit(&vec!["\"".repeat(64_000); 50], ANSWER_BYTES_MAX, (1, 49));
        check_fit(&["\u{1}".repeat(64_000), "tea".to_owned()], ANSWER_BYTES_MAX, (2, 0));
        // What comes after one that did not fit is left out too, so that a page has no hole.
        check_fit(&["x".repeat(64_000), "\u{1}".repeat(64_000), "tea".to_owned()], ANSWER_BYTES_MAX, (1, 2));
    }
}
