//! How does a component become a tool? Review first, which writes nothing; then commit, in an order that survives a
//! crash.
//!
//! ```text
//!   review:  read ─ verify ─ name free? ─ version? ─ compile and describe ─ check ─→ Review
//!   commit:  lock ─ sweep ─ compare again ─ audit durable ─ store ─ grant ─ tools.lock
//!                                                │            │        │        └ now it is installed
//!                                                │            │        └ a crash here: a grant for unused bytes
//!                                                │            └ a crash here: an entry without a reference, swept
//!                                                └ a crash here: a record of something that was about to happen
//! ```

use std::{path::Path, sync::Arc};

use chitin_package::{
    BUNDLE_BYTES_MAX, COMPONENT_BYTES_MAX, KeyRing, LockEntry, LockFile, Predicate, Verified, VerifyError, Version,
    asks::added, verify,
};
use chitin_policy::{Accept, Grant, Pin};
use chitin_ports::{Audit, AuditEntry, AuditKind, Clock, Describe, PackDescription};
use chitin_types::{Capabilities, Digest};
use serde_json::json;

use crate::{
    GrantAfter, Home, HomeKey, RegistryError, Review, Said,
    beside::DEV,
    disk::{read_named, write_file},
    edit,
    grants::{edited_text, load_grant, parse, read_text},
    prove::prove,
    record::durable,
    review::{Standing, describe_digest, pinned},
    sign::{bundle_path, read_present},
    store,
    tools::{installed, save},
    trust::load_ring,
    writer::Writer,
};

/// Installs tools into one home.
pub struct Installer {
    home: Home,
    key: HomeKey,
    describe: Arc<dyn Describe>,
    audit: Arc<dyn Audit>,
    clock: Arc<dyn Clock>,
    versions: Versions,
}

/// Which versions may replace the installed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    /// Newer ones, and the same bytes again.
    NotOlder,
    /// Older ones too, because the user said so.
    AlsoOlder,
}

/// What the user decided about the grant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one is made for each install and moved once")]
pub enum GrantChoice {
    /// What [`Review::grant_after`] says.
    Leave,
    /// This grant, bound to the component under review.
    Give(Grant),
}

impl Installer {
    /// An installer that refuses older versions.
    ///
    /// # Errors
    /// The home's key cannot be read or made.
    pub fn new(
        home: Home,
        describe: Arc<dyn Describe>,
        audit: Arc<dyn Audit>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, RegistryError> {
        let key = HomeKey::load_or_create(&home)?;
        Ok(Self { home, key, describe, audit, clock, versions: Versions::NotOlder })
    }

    /// The same installer with another rule for versions.
    #[must_use]
    pub fn versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    /// Verifies and describes the component at `path` (its bundle lies beside it) and compares it with what is
    /// installed.
    ///
    /// # Errors
    /// Whatever refuses the install. Nothing was written but the compiled code, in the cache.
    pub async fn review(&self, path: &Path) -> Result<Review, RegistryError> {
        let component = read_present(path, COMPONENT_BYTES_MAX)?;
        let bundle = read_named(&bundle_path(path), BUNDLE_BYTES_MAX)?.unwrap_or_default();
        let ring = load_ring(&self.home)?;
        let verified = verify(&component, &bundle, &ring, self.clock.now_ms())?;
        let signed = &verified.statement().predicate;
        check_runtime(signed)?;
        let lock = installed(&self.home, &self.key)?;
        let standing = self.standing(&lock, &ring, &verified)?;
        let described = self.describe.describe(&component).await?;
        let functions = pinned(&signed.name, &described, &signed.functions)?;
        let describe = describe_digest(&described.functions);
        let PackDescription { kind, functions: _, left_out, imports } = described;
        let review = Review {
            source: path.display().to_string(),
            component_bytes: component,
            bundle_bytes: bundle,
            verified,
            kind,
            functions,
            left_out,
            imports,
            describe,
            standing,
        };
        if !review.lock_entry().fits() {
            let message = format!("what {} says about itself is too long to be kept", review.name());
            return Err(RegistryError::Limit(Said::new(message)));
        }
        Ok(review)
    }

    /// Installs what was reviewed.
    ///
    /// # Errors
    /// What is installed or trusted changed since the review, the grant is refused, or the audit fails: then the tool is
    /// as it was before. When the disk fails half-way, it is as before or may not be called until it is installed again.
    pub async fn commit(&self, review: Review, choice: GrantChoice) -> Result<(), RegistryError> {
        let _writer = Writer::take(&self.home).await?;
        let mut lock = installed(&self.home, &self.key)?;
        store::sweep(&self.home, &lock)?;
        let standing = self.compared_again(&lock, &review)?;
        let grant = grant_text(&self.home, &review, &standing, choice)?;
        durable(&*self.audit, vec![install_entry(&review), grant_entry(&review, grant.as_deref())]).await?;
        store::write(&self.home, &review.component(), &review.component_bytes, &review.bundle_bytes)?;
        if let Some(text) = grant {
            write_file(&self.home.policies(), &Home::grant_file(review.name()), text.as_bytes())?;
        }
        lock.put(review.lock_entry());
        save(&self.home, &self.key, &lock)?;
        if let Err(error) = store::sweep(&self.home, &lock) {
            // The tool is installed; what is left over is swept by the next change.
            tracing::warn!(%error, "the old version's files were not removed");
        }
        Ok(())
    }

    fn standing(&self, lock: &LockFile, ring: &KeyRing, verified: &Verified) -> Result<Standing, RegistryError> {
        let signed = &verified.statement().predicate;
        check_name(lock, signed)?;
        let replaces = lock.find(&signed.name).cloned();
        let before = match &replaces {
            Some(entry) => {
                check_version(entry, verified, self.versions)?;
                // An installed version that cannot be verified any more vouches for nothing: everything counts as new.
                prove(&self.home, entry, ring, self.clock.now_ms())
                    .map_or_else(|_| Capabilities::default(), |old| old.verified.statement().predicate.requests.clone())
            }
            None => Capabilities::default(),
        };
        let added = added(&before, &signed.requests);
        let grant = match load_grant(&self.home, &signed.name)? {
            Some(grant) => grant_after(&grant, replaces.as_ref(), verified, &added),
            None => GrantAfter::None,
        };
        Ok(Standing { replaces, added, grant })
    }

    // Between review and commit lies a person reading; another process may have been faster.
    fn compared_again(&self, lock: &LockFile, review: &Review) -> Result<Standing, RegistryError> {
        let ring = load_ring(&self.home)?;
        let fingerprint = review.signer_fingerprint();
        if ring.find(fingerprint) != Some(review.verified.signer()) {
            return Err(VerifyError::UnknownKey { fingerprint }.into());
        }
        let standing = self.standing(lock, &ring, &review.verified)?;
        if standing != review.standing {
            let said = Said::new(format!("{} was changed while it was reviewed", review.name()));
            return Err(RegistryError::Busy(said.help("review it again")));
        }
        Ok(standing)
    }
}

fn check_runtime(signed: &Predicate) -> Result<(), RegistryError> {
    let ours = Version::parse(env!("CARGO_PKG_VERSION")).expect("the workspace's version is a version");
    if signed.min_runtime > ours {
        let message = format!("{} needs chitin {}, and this is {ours}", signed.name, signed.min_runtime);
        return Err(RegistryError::Unusable(Said::new(message).help("upgrade chitin")));
    }
    Ok(())
}

// A model is shown `name__function`. With two tools of one short name, a newcomer could stand in for the one it knows.
fn check_name(lock: &LockFile, signed: &Predicate) -> Result<(), RegistryError> {
    if signed.name.publisher() == DEV {
        let message = format!("{} cannot be installed: names of {DEV} are those of unsigned tools", signed.name);
        return Err(RegistryError::Denied(Said::new(message).help("the publisher must sign it under another name")));
    }
    let short = signed.name.short();
    match lock.entries.iter().find(|entry| entry.name != signed.name && entry.name.short() == short) {
        Some(other) => {
            let message = format!("{} is offered to models as {short}__… already", other.name);
            Err(RegistryError::Denied(Said::new(message).help(format!("chitin tool remove {}", other.name))))
        }
        None => Ok(()),
    }
}

fn check_version(old: &LockEntry, verified: &Verified, versions: Versions) -> Result<(), RegistryError> {
    let new = &verified.statement().predicate;
    let name = &new.name;
    if new.version == old.version && verified.component() != old.component {
        let message = format!("{name} {} is installed with other bytes", old.version);
        let help = "the publisher must give other bytes another version";
        return Err(RegistryError::Untrusted(Said::new(message).help(help)));
    }
    if new.version < old.version && versions == Versions::NotOlder {
        let message = format!("{name} {} is installed, and {} is older", old.version, new.version);
        return Err(RegistryError::Denied(Said::new(message).help("add --allow-downgrade if that is what you want")));
    }
    Ok(())
}

// The grant must have been bound to what is installed now: one that an earlier upgrade left behind, because that one
// asked for more, must not be picked up by the release after it.
fn grant_after(grant: &Grant, old: Option<&LockEntry>, verified: &Verified, added: &Capabilities) -> GrantAfter {
    let Some(pin) = &grant.pin else { return GrantAfter::Stays };
    if pin.component == verified.component() {
        return GrantAfter::Holds;
    }
    let accepts = match pin.accept {
        Accept::SameSignerNoNewCaps => true,
        Accept::Exact => false,
    };
    let same_signer = |old: &LockEntry| old.signer == verified.signer().fingerprint();
    let follows = accepts
        && *added == Capabilities::default()
        && old.is_some_and(|old| old.component == pin.component && same_signer(old));
    if follows { GrantAfter::Follows } else { GrantAfter::Stays }
}

// The text to write; `None` leaves the file as it is.
fn grant_text(
    home: &Home,
    review: &Review,
    standing: &Standing,
    choice: GrantChoice,
) -> Result<Option<String>, RegistryError> {
    let (tool, component) = (review.name(), review.component());
    let text = match (choice, standing.grant) {
        (GrantChoice::Give(mut grant), _) => {
            if grant.tool != *tool {
                let message = format!("the grant is for {}, and {tool} is being installed", grant.tool);
                return Err(RegistryError::Usage(Said::new(message)));
            }
            let accept = grant.pin.map(|pin| pin.accept).unwrap_or_default();
            grant.pin = Some(Pin { component, accept });
            grant.to_text()
        }
        (GrantChoice::Leave, GrantAfter::Follows) => {
            let before = read_text(home, &Home::grant_file(tool))?.unwrap_or_default();
            edited_text(tool, &before, |document| {
                edit::set_pin(document, component);
                Ok(())
            })?
        }
        (GrantChoice::Leave, GrantAfter::None | GrantAfter::Holds | GrantAfter::Stays) => return Ok(None),
    };
    parse(tool, &text)?;
    Ok(Some(text))
}

fn install_entry(review: &Review) -> AuditEntry {
    let replaces = review.upgrade_from().map(ToString::to_string);
    let verdict = if replaces.is_some() { "upgraded" } else { "installed" };
    AuditEntry::new(AuditKind::Install, review.name().as_str(), verdict).detail(json!({
        "version": review.version().to_string(),
        "replaces": replaces,
        "component": review.component().to_string(),
        "bundle": review.verified.bundle().to_string(),
        "signer": review.signer_fingerprint().to_string(),
        "source": review.source,
    }))
}

fn grant_entry(review: &Review, text: Option<&str>) -> AuditEntry {
    let verdict = match text {
        Some(_) => "granted",
        None => "unchanged",
    };
    let grant = text.map(|text| Digest::of(text.as_bytes()).to_string());
    AuditEntry::new(AuditKind::Grant, review.name().as_str(), verdict)
        .detail(json!({ "component": review.component().to_string(), "grant": grant }))
}
