//! How is a secret kept out of an answer? Bytes as they come go in; the same bytes with every spelling of the secret
//! replaced come out, however the pieces were cut.
//!
//! A server that echoes its request, an error page that quotes a header: what was put in at egress must not come back to
//! the tool that was never to see it.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use bytes::Bytes;
use chitin_types::Secret;
use futures::{StreamExt, stream::BoxStream};

use crate::EgressError;

/// Replaces one secret.
#[derive(Clone)]
pub(crate) struct Redactor {
    needles: Vec<Vec<u8>>,
    longest: usize,
}

impl Redactor {
    /// For a secret, in each spelling that a server commonly echoes.
    pub(crate) fn new(secret: &Secret) -> Self {
        let raw = secret.expose().as_bytes();
        let hex = hex::encode(raw);
        let percent: String = raw.iter().map(|byte| percent(*byte, "0123456789ABCDEF")).collect();
        let percent_low: String = raw.iter().map(|byte| percent_lower(*byte)).collect();
        let json = serde_json::to_string(secret.expose()).unwrap_or_default();
        let spellings = [
            secret.expose().to_owned(),
            STANDARD.encode(raw),
            STANDARD_NO_PAD.encode(raw),
            URL_SAFE.encode(raw),
            URL_SAFE_NO_PAD.encode(raw),
            hex.to_uppercase(),
            hex,
            percent,
            percent_low,
            json.trim_matches('"').to_owned(),
        ];
        let mut needles: Vec<Vec<u8>> =
            spellings.into_iter().map(String::into_bytes).filter(|n| !n.is_empty()).collect();
        // The longest first: a padded spelling contains the one without.
        needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        needles.dedup();
        let longest = needles.first().map_or(0, Vec::len);
        Self { needles, longest }
    }

    /// A text with the secret replaced.
    pub(crate) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.replaced(text.as_bytes())).into_owned()
    }

    /// A body with the secret replaced, also where it was cut in pieces.
    pub(crate) fn body(
        self,
        body: BoxStream<'static, Result<Bytes, EgressError>>,
    ) -> BoxStream<'static, Result<Bytes, EgressError>> {
        let end = futures::stream::once(std::future::ready(None));
        body.map(Some)
            .chain(end)
            .scan(Vec::new(), move |held: &mut Vec<u8>, piece| {
                let out = match piece {
                    Some(Ok(bytes)) => {
                        held.extend_from_slice(&bytes);
                        Ok(self.settled(held))
                    }
                    Some(Err(error)) => Err(error),
                    None => Ok(self.replaced(&std::mem::take(held)).into()),
                };
                std::future::ready(Some(out))
            })
            .filter(|piece| std::future::ready(!piece.as_ref().is_ok_and(Bytes::is_empty)))
            .boxed()
    }

    /// What can no longer be part of a spelling that is still to come leaves `held`.
    fn settled(&self, held: &mut Vec<u8>) -> Bytes {
        let mut replaced = self.replaced(held);
        let keep = (self.longest.saturating_sub(1)).min(replaced.len());
        let rest = replaced.split_off(replaced.len() - keep);
        *held = rest;
        replaced.into()
    }

    fn replaced(&self, text: &[u8]) -> Vec<u8> {
        let mut out = text.to_vec();
        for needle in &self.needles {
            if memchr::memmem::find(&out, needle).is_none() {
                continue;
            }
            let mut next = Vec::with_capacity(out.len());
            let mut from = 0;
            for at in memchr::memmem::find_iter(&out, needle) {
                next.extend_from_slice(out.get(from..at).unwrap_or_default());
                next.extend_from_slice(REDACTED);
                from = at + needle.len();
            }
            next.extend_from_slice(out.get(from..).unwrap_or_default());
            out = next;
        }
        out
    }
}

fn percent(byte: u8, digits: &str) -> String {
    let digit = |n: u8| digits.chars().nth(usize::from(n)).unwrap_or('0');
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{}{}", digit(other >> 4), digit(other & 15)),
    }
}

fn percent_lower(byte: u8) -> String {
    percent(byte, "0123456789abcdef")
}

/// What stands where the secret stood.
const REDACTED: &[u8] = b"[redacted]";

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "s3cr\"et/+ value";

    async fn through(pieces: Vec<Vec<u8>>) -> String {
        let body = futures::stream::iter(pieces.into_iter().map(|p| Ok(Bytes::from(p)))).boxed();
        let pieces: Vec<_> = Redactor::new(&Secret::new(SECRET)).body(body).collect().await;
        let bytes: Vec<u8> = pieces.into_iter().flat_map(|p| p.expect("a piece").to_vec()).collect();
        String::from_utf8(bytes).expect("text")
    }

    #[tokio::test]
    async fn every_spelling_goes_wherever_it_is_cut() {
        let spellings = [
            SECRET.to_owned(),
            STANDARD.encode(SECRET),
            URL_SAFE_NO_PAD.encode(SECRET),
            hex::encode(SECRET),
            SECRET.bytes().map(|b| percent(b, "0123456789ABCDEF")).collect(),
            SECRET.replace('"', "\\\""),
        ];
        for spelling in spellings {
            let whole = format!("before {spelling} between {spelling} after").into_bytes();
            for cut in 0..whole.len() {
                let (head, tail) = whole.split_at(cut);
                let seen = through(vec![head.to_vec(), tail.to_vec()]).await;
                assert_eq!(seen, "before [redacted] between [redacted] after", "{spelling} cut at {cut}");
            }
            let single = whole.iter().map(|byte| vec![*byte]).collect();
            assert_eq!(through(single).await, "before [redacted] between [redacted] after", "{spelling}");
        }
    }

    #[tokio::test]
    async fn other_text_passes_unchanged() {
        let text = "a long answer without anything to hide, and s3cr and et/+ apart";
        assert_eq!(through(vec![text.as_bytes().to_vec()]).await, text);
        assert_eq!(through(vec![]).await, "");
    }
}
