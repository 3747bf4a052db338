//! What did the user give to which tool? `policies/<publisher>__<name>.toml`, read as a whole and changed by a person
//! only.
//!
//! Every change is checked by `policy` before anything is written, and its audit entry is durable before the file
//! changes.

use std::sync::Arc;

use chitin_policy::{Defaults, FsGrant, Grant, HttpGrant, Inject};
use chitin_ports::{Audit, AuditEntry, AuditKind};
use chitin_types::{Digest, DocumentError, RecallMode, ToolName};
use serde_json::json;
use toml_edit::DocumentMut;

use crate::{
    Home, HomeKey, RegistryError, Said,
    disk::{Privacy, read_below, remove_file, write_file},
    edit,
    home::POLICIES,
    record::durable,
    tools::installed,
    trust::text_of,
    writer::Writer,
};

/// The grant files of one home.
#[derive(Clone)]
pub struct GrantFiles {
    home: Home,
    key: HomeKey,
    audit: Arc<dyn Audit>,
}

impl GrantFiles {
    /// The grant files of this home.
    ///
    /// # Errors
    /// The home's key cannot be read or made.
    pub fn new(home: Home, audit: Arc<dyn Audit>) -> Result<Self, RegistryError> {
        let key = HomeKey::load_or_create(&home)?;
        Ok(Self { home, key, audit })
    }

    /// The grant of a tool. `None` when it has no file.
    ///
    /// # Errors
    /// As [`load_grant`].
    pub fn load(&self, tool: &ToolName) -> Result<Option<Grant>, RegistryError> {
        load_grant(&self.home, tool)
    }

    /// Writes a whole grant, in the place of what was given before.
    ///
    /// # Errors
    /// It would not be read back, or the audit or the disk fails; then the old one holds.
    pub async fn give(&self, grant: &Grant) -> Result<(), RegistryError> {
        let text = grant.to_text();
        parse(&grant.tool, &text)?;
        let _writer = Writer::take(&self.home).await?;
        self.write(&grant.tool, "granted", None, &text).await
    }

    /// Binds the grant to the component that is installed now. A tool without a grant file gets one that gives nothing,
    /// with which it may compute.
    ///
    /// # Errors
    /// The tool is not installed, its file is refused, or the audit or the disk fails.
    pub async fn bind(&self, tool: &ToolName) -> Result<(), RegistryError> {
        let component = self.component(tool)?.ok_or_else(|| not_installed(tool))?;
        self.bind_to(tool, component).await
    }

    /// Binds the grant to a tool that is not installed but part of the program, by its identity. A tool without a grant
    /// file gets one that gives nothing.
    ///
    /// # Errors
    /// Its file is refused, or the audit or the disk fails.
    pub async fn bind_to(&self, tool: &ToolName, identity: Digest) -> Result<(), RegistryError> {
        let _writer = Writer::take(&self.home).await?;
        let text = match read_text(&self.home, &Home::grant_file(tool))? {
            Some(before) => {
                parse(tool, &before)?;
                edited_text(tool, &before, |document| {
                    edit::set_pin(document, identity);
                    Ok(())
                })?
            }
            None => Grant::nothing(tool.clone(), identity).to_text(),
        };
        parse(tool, &text)?;
        self.write(tool, "bound", None, &text).await
    }

    /// Gives a directory, or changes how the one at the same place is given.
    ///
    /// # Errors
    /// The tool has neither a grant nor an installed component, the rule or the file is refused, or the audit or the
    /// disk fails.
    pub async fn add_fs(&self, tool: &ToolName, grant: &FsGrant) -> Result<(), RegistryError> {
        let rule = format!("fs:{}", grant.at);
        self.change(tool, "granted", Some(&rule), |document| {
            edit::put_fs(document, grant);
            Ok(())
        })
        .await
    }

    /// Gives requests by a rule of a new name.
    ///
    /// # Errors
    /// As [`GrantFiles::add_fs`]; also when the file has a rule of this name.
    pub async fn add_http(&self, tool: &ToolName, grant: &HttpGrant) -> Result<(), RegistryError> {
        let rule = format!("http:{}", grant.id);
        self.change(tool, "granted", Some(&rule), |document| {
            edit::add_http(document, grant);
            Ok(())
        })
        .await
    }

    /// Puts a secret into the requests of a rule that is there. The tool never sees it.
    ///
    /// # Errors
    /// There is no such rule, it names more than one host, the file is refused, or the audit or the disk fails.
    pub async fn set_secret(
        &self,
        tool: &ToolName,
        rule_id: &str,
        secret: &str,
        inject: &Inject,
    ) -> Result<(), RegistryError> {
        let rule = format!("http:{rule_id}");
        self.change(tool, "granted", Some(&rule), |document| {
            if edit::put_secret(document, rule_id, secret, inject) { Ok(()) } else { Err(no_rule(tool, &rule)) }
        })
        .await
    }

    /// Gives a store of its own, or changes its size.
    ///
    /// # Errors
    /// As [`GrantFiles::add_fs`].
    pub async fn set_kv(&self, tool: &ToolName, quota_kib: u64) -> Result<(), RegistryError> {
        self.change(tool, "granted", Some("kv"), |document| {
            edit::set_kv(document, quota_kib);
            Ok(())
        })
        .await
    }

    /// Gives a scope of the memory, for one use.
    ///
    /// # Errors
    /// As [`GrantFiles::add_fs`].
    pub async fn add_recall(&self, tool: &ToolName, scope: &str, mode: RecallMode) -> Result<(), RegistryError> {
        let rule = format!("recall:{scope}");
        self.change(tool, "granted", Some(&rule), |document| {
            edit::put_scope(document, scope, mode);
            Ok(())
        })
        .await
    }

    /// Gives a setting, or changes it. It is shown to the tool and to whoever reads the file: no place for a secret.
    ///
    /// # Errors
    /// As [`GrantFiles::add_fs`].
    pub async fn set_config(&self, tool: &ToolName, key: &str, value: &str) -> Result<(), RegistryError> {
        let rule = format!("config:{key}");
        self.change(tool, "granted", Some(&rule), |document| {
            edit::put_setting(document, key, value);
            Ok(())
        })
        .await
    }

    /// Takes everything back. The tool stays installed and may not be called.
    ///
    /// # Errors
    /// There is no grant file, or the audit or the disk fails.
    pub async fn revoke(&self, tool: &ToolName) -> Result<(), RegistryError> {
        let _writer = Writer::take(&self.home).await?;
        if read_text(&self.home, &Home::grant_file(tool))?.is_none() {
            return Err(RegistryError::NotFound(Said::new(format!("nothing is granted to {tool}"))));
        }
        durable(&*self.audit, vec![AuditEntry::new(AuditKind::Grant, tool.as_str(), "revoked")]).await?;
        remove_file(&self.home.policies(), &Home::grant_file(tool)).map(|_| ())
    }

    /// Takes one rule back, by the name that the audit knows it by: `http:<id>`, `fs:<place>`, `kv`, `recall:<scope>` or
    /// `config:<key>`.
    ///
    /// # Errors
    /// There is no such rule, the file is refused, or the audit or the disk fails.
    pub async fn revoke_rule(&self, tool: &ToolName, rule: &str) -> Result<(), RegistryError> {
        self.change(tool, "revoked", Some(rule), |document| {
            if edit::remove_rule(document, rule) { Ok(()) } else { Err(no_rule(tool, rule)) }
        })
        .await
    }

    async fn change(
        &self,
        tool: &ToolName,
        verdict: &str,
        rule: Option<&str>,
        edit: impl FnOnce(&mut DocumentMut) -> Result<(), RegistryError> + Send,
    ) -> Result<(), RegistryError> {
        let _writer = Writer::take(&self.home).await?;
        let text = self.edited(tool, edit)?;
        self.write(tool, verdict, rule, &text).await
    }

    fn edited(
        &self,
        tool: &ToolName,
        edit: impl FnOnce(&mut DocumentMut) -> Result<(), RegistryError>,
    ) -> Result<String, RegistryError> {
        let component = self.component(tool)?;
        let before = match read_text(&self.home, &Home::grant_file(tool))? {
            Some(text) => text,
            None => Grant::nothing(tool.clone(), component.ok_or_else(|| not_installed(tool))?).to_text(),
        };
        parse(tool, &before)?;
        let text = edited_text(tool, &before, |document| {
            edit(document)?;
            // A template that was copied by hand is bound by the first rule that is given through us.
            if let Some(component) = component {
                edit::fill_pin(document, component);
            }
            Ok(())
        })?;
        parse(tool, &text)?;
        Ok(text)
    }

    async fn write(&self, tool: &ToolName, verdict: &str, rule: Option<&str>, text: &str) -> Result<(), RegistryError> {
        let mut entry = AuditEntry::new(AuditKind::Grant, tool.as_str(), verdict)
            .detail(json!({ "grant": Digest::of(text.as_bytes()).to_string() }));
        if let Some(rule) = rule {
            entry = entry.rule(rule);
        }
        durable(&*self.audit, vec![entry]).await?;
        write_file(&self.home.policies(), &Home::grant_file(tool), text.as_bytes())
    }

    fn component(&self, tool: &ToolName) -> Result<Option<Digest>, RegistryError> {
        Ok(installed(&self.home, &self.key)?.find(tool).map(|entry| entry.component))
    }
}

/// The grant of a tool. `None` when it has no file.
///
/// # Errors
/// The file is refused, with its place, or cannot be read.
pub fn load_grant(home: &Home, tool: &ToolName) -> Result<Option<Grant>, RegistryError> {
    let Some(text) = read_text(home, &Home::grant_file(tool))? else { return Ok(None) };
    Ok(Some(parse(tool, &text)?))
}

/// The text of a policy file, by its name, read as every call reads it: no link is followed, no pipe is waited for.
///
/// # Errors
/// It cannot be read, anyone may write it, or it is no text.
pub fn read_policy(home: &Home, file: &str) -> Result<Option<String>, RegistryError> {
    read_text(home, file)
}

/// What holds for every tool: `policies/default.toml`, or the built-in limits when it is not there.
///
/// # Errors
/// The file is refused, with its place, or cannot be read.
pub fn load_defaults(home: &Home) -> Result<Defaults, RegistryError> {
    match read_text(home, DEFAULT_FILE)? {
        Some(text) => Ok(Defaults::parse(&shown(DEFAULT_FILE), &text)?),
        None => Ok(Defaults::default()),
    }
}

/// The text of a grant file, and `None` when there is none.
pub(crate) fn read_text(home: &Home, file: &str) -> Result<Option<String>, RegistryError> {
    let bytes = read_below(home.root(), &[POLICIES, file], GRANT_BYTES_MAX, Privacy::OwnedDocument)?;
    bytes.map(|bytes| text_of(&shown(file), bytes)).transpose()
}

/// The text after an edit that keeps comments and order.
pub(crate) fn edited_text(
    tool: &ToolName,
    text: &str,
    edit: impl FnOnce(&mut DocumentMut) -> Result<(), RegistryError>,
) -> Result<String, RegistryError> {
    let file = shown(&Home::grant_file(tool));
    let mut document: DocumentMut =
        text.parse().map_err(|e: toml_edit::TomlError| DocumentError::near(&file, text, "\0", e.message()))?;
    edit(&mut document)?;
    Ok(document.to_string())
}

/// Reads the text of a tool's grant file.
pub(crate) fn parse(tool: &ToolName, text: &str) -> Result<Grant, RegistryError> {
    let file = shown(&Home::grant_file(tool));
    let grant = Grant::parse(&file, text)?;
    if grant.tool != *tool {
        let message = format!("the file is that of {tool}, and the grant is for {}", grant.tool);
        return Err(DocumentError::near(&file, text, "tool", message).into());
    }
    Ok(grant)
}

fn shown(file: &str) -> String {
    format!("{POLICIES}/{file}")
}

fn no_rule(tool: &ToolName, rule: &str) -> RegistryError {
    let said = Said::new(format!("the grant of {tool} has no rule {rule:?}"));
    RegistryError::NotFound(said.help(format!("chitin policy explain {tool}")))
}

fn not_installed(tool: &ToolName) -> RegistryError {
    RegistryError::NotFound(Said::new(format!("{tool} is not installed")).help("chitin tool list"))
}

const DEFAULT_FILE: &str = "default.toml";
/// A grant file has a few KiB; a file without an end would fill the memory at every call.
const GRANT_BYTES_MAX: usize = 256 * 1024;
