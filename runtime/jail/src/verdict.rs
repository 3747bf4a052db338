//! Which sandbox works here? Each candidate runs `/bin/true` exactly as it would run anything else; what happened comes out.
//!
//! A version number or a file that exists is no answer: a wrapper can be installed and refused by the kernel, and a
//! kernel can know a feature and have it switched off.

use serde::Serialize;

use crate::plan::Backend;

/// What detection found. Made once for each jail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The sandbox that will be used; `None` means that no program will be started.
    pub backend: Option<Backend>,
    /// The version of Landlock that the kernel speaks; 0 when it has none.
    pub landlock_abi: u32,
    /// Whether programs run as a user of their own, because the daemon is root.
    pub user_dropped: bool,
    /// The other candidates and why each was not taken.
    pub rejected: Vec<Rejected>,
}

/// A candidate that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rejected {
    /// Which.
    pub backend: Backend,
    /// Why, as a fragment.
    pub why: String,
}

impl Verdict {
    /// Every rejected candidate with its reason, in one line.
    pub fn reasons(&self) -> String {
        let each: Vec<String> = self.rejected.iter().map(|r| format!("{}: {}", r.backend.word(), r.why)).collect();
        each.join("; ")
    }
}
