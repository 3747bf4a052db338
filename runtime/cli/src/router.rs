//! Who runs a call? The one native tool is held by the jail, every component by the host; the permit is the same.

use std::sync::Arc;

use async_trait::async_trait;
use chitin_host::Host;
use chitin_jail::Shell;
use chitin_policy::Authorized;
use chitin_ports::{Invocation, Invoke};
use chitin_types::ToolOutcome;

/// Passes a call on by the identity that the permit is bound to.
pub(crate) struct Router {
    pub(crate) host: Arc<Host>,
    pub(crate) shell: Arc<Shell>,
}

#[async_trait]
impl Invoke for Router {
    async fn invoke(&self, permit: Authorized, call: Invocation) -> ToolOutcome {
        if call.component == Shell::identity() {
            self.shell.invoke(permit, call).await
        } else {
            self.host.invoke(permit, call).await
        }
    }
}
