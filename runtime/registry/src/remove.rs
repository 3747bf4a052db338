//! How does a tool go? Its audit entry first, then the lock, so that it is gone at once; then its grant and its bytes.

use chitin_package::Damaged;
use chitin_ports::{Audit, AuditEntry, AuditKind};
use chitin_types::ToolName;
use serde_json::json;

use crate::{
    Home, HomeKey, RegistryError, Said,
    disk::remove_file,
    record::durable,
    store,
    tools::{installed, save},
    writer::Writer,
};

/// Removes a tool and what was granted to it. Works on a tool whose block of the lock is damaged, too.
///
/// # Errors
/// It is not installed, or the audit or the disk fails.
pub async fn remove(home: &Home, tool: &ToolName, audit: &dyn Audit) -> Result<(), RegistryError> {
    let key = HomeKey::load_or_create(home)?;
    let _writer = Writer::take(home).await?;
    let mut lock = installed(home, &key)?;
    if !lock.take(tool) {
        let said = Said::new(format!("{tool} is not installed"));
        return Err(RegistryError::NotFound(said.help("chitin tool list")));
    }
    durable(audit, vec![AuditEntry::new(AuditKind::Install, tool.as_str(), "removed")]).await?;
    save(home, &key, &lock)?;
    remove_file(&home.policies(), &Home::grant_file(tool))?;
    store::sweep(home, &lock)
}

/// Drops every damaged block of the lock, and with the last of them the files that no tool refers to. Tells how many
/// there were. Their tools are then not installed; until then, any name that is not known might be one of theirs.
///
/// # Errors
/// The audit or the disk fails.
pub async fn forget_damaged(home: &Home, audit: &dyn Audit) -> Result<usize, RegistryError> {
    let key = HomeKey::load_or_create(home)?;
    let _writer = Writer::take(home).await?;
    let mut lock = installed(home, &key)?;
    let dropped = std::mem::take(&mut lock.damaged);
    if dropped.is_empty() {
        return Ok(0);
    }
    let removed = |damaged: &Damaged| {
        let subject = damaged.name_guess.as_ref().map_or("tools.lock", ToolName::as_str);
        AuditEntry::new(AuditKind::Install, subject, "forgotten").detail(json!({ "reason": damaged.reason }))
    };
    durable(audit, dropped.iter().map(removed).collect()).await?;
    save(home, &key, &lock)?;
    store::sweep(home, &lock)?;
    Ok(dropped.len())
}
