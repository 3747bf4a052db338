//! What holds while a file is broken? What it said when it was last good in this process, until it is repaired or removed.
//!
//! ```text
//!   read ─┬ good ───────→ holds, and is remembered
//!         ├ not there ──→ nothing holds: removing a file takes back what it gave
//!         └ broken ─┬ was good before ─→ that holds, and the problem is said once
//!                   └ never was ───────→ refused, as in a process that just started
//! ```
//!
//! A half-saved file must neither stop a daemon nor give anything new.

use std::{collections::BTreeMap, sync::Arc};

use chitin_package::{KeyRing, TrustedKey};
use chitin_policy::{Defaults, Grant};
use chitin_types::{DocumentError, ToolName};

use crate::{
    RegistryError,
    trust::{ReadFile, key_of},
};

/// What one process remembers of the files that people write.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) grants: BTreeMap<ToolName, LastGood<Grant>>,
    pub(crate) defaults: LastGood<Defaults>,
    pub(crate) trust: KeptRing,
}

/// One file.
pub(crate) struct LastGood<T> {
    good: Option<T>,
    problem: Option<String>,
}

/// Names and texts of trust files, and the ring that was made of them.
type Known = (Vec<(String, String)>, Arc<KeyRing>);

/// The trust files, each with what it last said.
#[derive(Default)]
pub(crate) struct KeptRing {
    files: BTreeMap<String, LastGood<TrustedKey>>,
    // The last ring of files that were all good, and their texts: a ring is not made again from the same texts.
    known: Option<Known>,
    twice: Option<String>,
}

impl Kept {
    /// Everything that is broken now, one line each.
    pub(crate) fn problems(&self) -> Vec<String> {
        let grants = self.grants.values().filter_map(LastGood::problem);
        let keys = self.trust.files.values().filter_map(LastGood::problem);
        let all = grants.chain(self.defaults.problem()).chain(keys).chain(self.trust.twice.as_deref());
        all.map(str::to_owned).collect()
    }
}

impl<T> Default for LastGood<T> {
    fn default() -> Self {
        Self { good: None, problem: None }
    }
}

impl<T: Clone> LastGood<T> {
    /// What holds now, after the file was read; `None` stands for a file that is not there.
    ///
    /// # Errors
    /// It is broken and never was good.
    pub(crate) fn settle(&mut self, read: Result<Option<T>, RegistryError>) -> Result<Option<T>, RegistryError> {
        let error = match read {
            Ok(value) => {
                self.good.clone_from(&value);
                self.problem = None;
                return Ok(value);
            }
            Err(error) => error,
        };
        let (good, until) = match &self.good {
            Some(good) => (Ok(Some(good.clone())), "what it said before stays in force"),
            None => (Err(()), "it gives nothing until it is repaired"),
        };
        let problem = format!("{error}; {until}");
        if self.problem.as_ref() != Some(&problem) {
            tracing::warn!("{problem}");
            self.problem = Some(problem);
        }
        good.map_err(|()| error)
    }

    fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }
}

impl KeptRing {
    /// The keys that are trusted now, after every file was read.
    ///
    /// # Errors
    /// One is broken and there never was a whole ring: leaving it out would silently shrink what is trusted.
    pub(crate) fn settle(
        &mut self,
        read: Vec<(String, Result<String, RegistryError>)>,
    ) -> Result<Arc<KeyRing>, RegistryError> {
        if let Some(ring) = self.unchanged(&read) {
            return Ok(ring);
        }
        // Whoever removes a file ends the trust in its key, also while another file is broken.
        self.files.retain(|file, _| read.iter().any(|(name, _)| name == file));
        self.twice = None;
        let (mut ring, mut texts, mut whole) = (KeyRing::default(), Vec::new(), true);
        for (file, text) in read {
            let key = text.and_then(|text| {
                let key = key_of(&file, &text)?;
                texts.push((file.clone(), text));
                Ok(Some(key))
            });
            whole &= key.is_ok();
            let key = match self.files.entry(file.clone()).or_default().settle(key) {
                Ok(key) => key,
                Err(_said) if self.known.is_some() => None,
                Err(error) => return Err(error),
            };
            if let Some(Err(twice)) = key.map(|key| ring.add(key)) {
                whole = false;
                let text = texts.last().map_or("", |(_, text)| text.as_str());
                let error = DocumentError::near(&format!("trust/{file}"), text, "fingerprint", twice.to_string());
                if self.known.is_none() {
                    return Err(error.into());
                }
                self.twice = Some(format!("{error}; the first file of the two holds"));
            }
        }
        let ring = Arc::new(ring);
        if whole {
            self.known = Some((texts, Arc::clone(&ring)));
        }
        Ok(ring)
    }

    // While something is broken it is looked at again each time: these files are few and small.
    fn unchanged(&self, read: &[ReadFile]) -> Option<Arc<KeyRing>> {
        let (texts, ring) = self.known.as_ref()?;
        let same = |((file, text), (known, before)): (&ReadFile, &(String, String))| {
            file == known && text.as_ref().is_ok_and(|text| text == before)
        };
        let healthy = self.twice.is_none() && self.files.values().all(|file| file.problem().is_none());
        (healthy && texts.len() == read.len() && read.iter().zip(texts).all(same)).then(|| Arc::clone(ring))
    }
}
