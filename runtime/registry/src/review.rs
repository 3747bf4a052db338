//! What would an install do? Everything that the install page shows, made before anything is written.

use std::{collections::BTreeSet, fmt};

use chitin_package::{
    Fingerprint, FunctionDoc, LockEntry, PinnedFunction, Predicate, Verified, Version, text::is_shown_text,
};
use chitin_ports::{LeftOut, PackDescription, PackFunction, PackKind};
use chitin_types::{Capabilities, Digest, Effects, FunctionName, ToolName, WireName, canonical::canonical};

use crate::{RegistryError, Said};

/// A component that was verified and described, and what installing it would change. It holds the very bytes that were
/// verified; the files that they came from are not read again.
pub struct Review {
    pub(crate) source: String,
    pub(crate) component_bytes: Vec<u8>,
    pub(crate) bundle_bytes: Vec<u8>,
    pub(crate) verified: Verified,
    pub(crate) kind: PackKind,
    pub(crate) functions: Vec<PinnedFunction>,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) imports: Vec<String>,
    pub(crate) describe: Digest,
    pub(crate) standing: Standing,
}

/// How a component stands to what is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) replaces: Option<LockEntry>,
    pub(crate) added: Capabilities,
    pub(crate) grant: GrantAfter,
}

/// What becomes of the grant that the user gave before, unless they give a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantAfter {
    /// There is none: the tool is installed and may not be called.
    None,
    /// It is bound to these very bytes, and holds.
    Holds,
    /// It follows to the new bytes: same key, nothing more asked, and the grant accepts that.
    Follows,
    /// It stays bound to other bytes, or to none: the tool may not be called until the user grants again.
    Stays,
}

impl Review {
    /// Publisher and name.
    pub fn name(&self) -> &ToolName {
        &self.signed().name
    }

    /// The version that would be installed.
    pub fn version(&self) -> &Version {
        &self.signed().version
    }

    /// The publisher's sentence.
    pub fn summary(&self) -> &str {
        &self.signed().summary
    }

    /// The WIT worlds that it was built for.
    pub fn worlds(&self) -> &[String] {
        &self.signed().worlds
    }

    /// Digest of the component.
    pub fn component(&self) -> Digest {
        self.verified.component()
    }

    /// The name under which the signing key is trusted.
    pub fn signer_name(&self) -> &str {
        self.verified.signer().name()
    }

    /// The signing key.
    pub fn signer_fingerprint(&self) -> Fingerprint {
        self.verified.signer().fingerprint()
    }

    /// The most that this key's tools can do, whatever is granted.
    pub fn ceiling(&self) -> &Capabilities {
        self.verified.signer().ceiling()
    }

    /// What it asks for, each with its reason.
    pub fn requests(&self) -> &Capabilities {
        &self.signed().requests
    }

    /// What it asks for and the installed version did not; everything, when it is new.
    pub fn added_requests(&self) -> &Capabilities {
        &self.standing.added
    }

    /// The interfaces that it imports.
    pub fn imports(&self) -> &[String] {
        &self.imports
    }

    /// The interfaces that it imports and the installed version did not.
    pub fn added_imports(&self) -> Vec<&str> {
        let before = self.standing.replaces.as_ref().map_or(&[][..], |entry| entry.imports.as_slice());
        self.imports.iter().filter(|import| !before.contains(import)).map(String::as_str).collect()
    }

    /// What it is: one that describes itself, one of ordinary functions, or a channel.
    pub fn kind(&self) -> PackKind {
        self.kind
    }

    /// Exports that are not offered, each with the reason.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// What it offers.
    pub fn functions(&self) -> &[PinnedFunction] {
        &self.functions
    }

    /// The version that is installed now.
    pub fn upgrade_from(&self) -> Option<&Version> {
        self.standing.replaces.as_ref().map(|entry| &entry.version)
    }

    /// What becomes of an earlier grant.
    pub fn grant_after(&self) -> GrantAfter {
        self.standing.grant
    }

    pub(crate) fn signed(&self) -> &Predicate {
        &self.verified.statement().predicate
    }

    pub(crate) fn lock_entry(&self) -> LockEntry {
        LockEntry {
            name: self.name().clone(),
            version: self.version().clone(),
            source: self.source.clone(),
            component: self.verified.component(),
            bundle: self.verified.bundle(),
            describe: self.describe,
            signer: self.signer_fingerprint(),
            worlds: self.worlds().to_vec(),
            imports: self.imports.clone(),
            functions: self.functions.clone(),
        }
    }
}

impl fmt::Debug for Review {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Review({} {} {})", self.name(), self.version(), self.component())
    }
}

/// The digest under which a description is pinned. It covers names, texts, schemas and claims, in the component's
/// order.
///
/// # Panics
/// Never: every field of a description has a JSON form.
pub fn describe_digest(functions: &[PackFunction]) -> Digest {
    let value = serde_json::to_value(functions).expect("every field of a description has a JSON form");
    Digest::of(canonical(&value).as_bytes())
}

/// Checks what a component said about itself, which is the word of whoever wrote it, and puts in what its signed manifest
/// says of functions that cannot say it themselves.
///
/// # Errors
/// There is nothing to offer; or a name, a text or a schema is not one that a model, a provider and a terminal can be
/// given; or the manifest speaks of a function that is not there.
pub(crate) fn pinned(
    tool: &ToolName,
    described: &PackDescription,
    docs: &[FunctionDoc],
) -> Result<Vec<PinnedFunction>, RegistryError> {
    check_count(tool, described)?;
    check_lists(tool, described)?;
    check_docs(tool, described, docs)?;
    let mut names = BTreeSet::new();
    described
        .functions
        .iter()
        .map(|function| {
            if !names.insert(&function.name) {
                return Err(unusable(tool, &format!("it offers {} twice", function.name)));
            }
            pinned_function(tool, &documented(function, docs))
        })
        .collect()
}

fn check_count(tool: &ToolName, described: &PackDescription) -> Result<(), RegistryError> {
    let count = described.functions.len();
    let least = match described.kind {
        PackKind::Channel => 0,
        PackKind::Pack | PackKind::Typed => 1,
    };
    if (least..=FUNCTIONS_MAX).contains(&count) {
        return Ok(());
    }
    if count == 0 && !described.left_out.is_empty() {
        let each = |left: &LeftOut| format!("{} ({})", left.export, left.reason);
        let reasons: Vec<String> = described.left_out.iter().take(REASONS_MAX).map(each).collect();
        let more = described.left_out.len().saturating_sub(REASONS_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return Err(unusable(tool, &format!("none of its exports can be called: {}{more}", reasons.join(", "))));
    }
    Err(unusable(tool, &format!("it offers {count} functions; {least} to {FUNCTIONS_MAX} are accepted")))
}

fn check_lists(tool: &ToolName, described: &PackDescription) -> Result<(), RegistryError> {
    if described.imports.len() > IMPORTS_MAX
        || !described.imports.iter().all(|import| is_shown_text(import, IMPORT_CHARS_MAX))
    {
        return Err(unusable(tool, "its imports are too many, too long or no text"));
    }
    let shown = |left: &LeftOut| {
        is_shown_text(&left.export, LEFT_OUT_CHARS_MAX) && is_shown_text(&left.reason, LEFT_OUT_CHARS_MAX)
    };
    if described.left_out.len() > LEFT_OUT_MAX || !described.left_out.iter().all(shown) {
        return Err(unusable(tool, "its exports are too many, too long or no text"));
    }
    Ok(())
}

fn check_docs(tool: &ToolName, described: &PackDescription, docs: &[FunctionDoc]) -> Result<(), RegistryError> {
    let known = |doc: &&FunctionDoc| described.functions.iter().any(|function| function.name == doc.name);
    let unknown: Vec<&str> = docs.iter().filter(|doc| !known(doc)).map(|doc| doc.name.as_str()).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let names = described.functions.iter().map(|function| &function.name).map(FunctionName::as_str);
    let names: Vec<&str> = names.take(REASONS_MAX).collect();
    let said =
        Said::new(format!("the manifest of {tool} describes functions that are not there: {}", unknown.join(", ")));
    let help = if names.is_empty() {
        "it offers no functions".to_owned()
    } else {
        format!("the functions are called {}", names.join(", "))
    };
    Err(RegistryError::Unusable(said.help(help)))
}

// Both texts are the publisher's word, and the manifest is the signed one. Claims that it does not make leave those that
// are there: for a function that says nothing of itself they are the strict ones.
fn documented(function: &PackFunction, docs: &[FunctionDoc]) -> PackFunction {
    let Some(doc) = docs.iter().find(|doc| doc.name == function.name) else { return function.clone() };
    let claimed = doc.effects != Effects::default();
    PackFunction {
        title: doc.title.clone().unwrap_or_else(|| function.title.clone()),
        summary: doc.summary.clone(),
        effects: if claimed { doc.effects } else { function.effects },
        ..function.clone()
    }
}

fn pinned_function(tool: &ToolName, function: &PackFunction) -> Result<PinnedFunction, RegistryError> {
    let wrong = |what: String| Err(unusable(tool, &format!("function {}: {what}", function.name)));
    if let Err(error) = WireName::of(tool, &function.name) {
        return wrong(error.to_string());
    }
    if !function.title.is_empty() && !is_shown_text(&function.title, TITLE_CHARS_MAX) {
        return wrong(format!("the title is longer than {TITLE_CHARS_MAX} characters or has control characters"));
    }
    // A summary may have paragraphs.
    let one_line = function.summary.replace(['\n', '\t'], " ");
    if !is_shown_text(&one_line, SUMMARY_CHARS_MAX) {
        return wrong(format!(
            "the summary is empty, longer than {SUMMARY_CHARS_MAX} characters or has control characters"
        ));
    }
    if function.input_schema.get("type").and_then(|kind| kind.as_str()) != Some("object") {
        return wrong("the schema of its arguments is not that of an object".to_owned());
    }
    let input_schema = function.input_schema.to_string();
    if input_schema.len() > SCHEMA_BYTES_MAX {
        return wrong(format!("the schema of its arguments has more than {SCHEMA_BYTES_MAX} bytes"));
    }
    let title =
        if function.title.is_empty() { function.name.as_str().replace('_', " ") } else { function.title.clone() };
    let (name, summary, effects) = (function.name.clone(), function.summary.clone(), function.effects);
    Ok(PinnedFunction { name, title, summary, input_schema, effects })
}

fn unusable(tool: &ToolName, what: &str) -> RegistryError {
    let said = Said::new(format!("{tool} cannot be offered as a tool: {what}"));
    RegistryError::Unusable(said.help("tell the publisher; nothing was installed"))
}

/// Functions of one pack; more would crowd out every other tool of the model's list.
const FUNCTIONS_MAX: usize = 64;
/// Reasons or names in one message; a terminal shows a screenful.
const REASONS_MAX: usize = 8;
/// Exports that are left out and listed; more are not read.
const LEFT_OUT_MAX: usize = 256;
const LEFT_OUT_CHARS_MAX: usize = 300;
/// Interfaces that one component imports. All of WASI 0.2 are about 40.
const IMPORTS_MAX: usize = 256;
const IMPORT_CHARS_MAX: usize = 160;
const TITLE_CHARS_MAX: usize = 128;
/// The model reads every summary in every turn.
const SUMMARY_CHARS_MAX: usize = 1_024;
/// The model reads every schema in every turn; the largest in use have a few KiB.
const SCHEMA_BYTES_MAX: usize = 64 * 1024;
