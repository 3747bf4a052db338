//! When may a change be made? When its audit entries are on disk.

use chitin_ports::{Audit, AuditEntry};

use crate::RegistryError;

/// Appends the entries in order and waits until all of them survive a power loss.
///
/// # Errors
/// One could not be written; the change must not happen.
pub(crate) async fn durable(audit: &dyn Audit, entries: Vec<AuditEntry>) -> Result<(), RegistryError> {
    let receipts: Vec<_> = entries.into_iter().map(|entry| audit.append(entry)).collect();
    for receipt in receipts {
        receipt.durable().await?;
    }
    Ok(())
}
