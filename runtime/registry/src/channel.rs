//! Which installed tool is a channel, and may it run? Its name goes in; its component, its grants and what its signed
//! manifest asks of the host come out.
//!
//! A channel is started by the host and not by a permit for a call, so what a permit would check is checked here: that
//! something is granted to it, and to these very bytes.

use async_trait::async_trait;
use chitin_ports::{ChannelSource, ChannelTool, PortError};
use chitin_types::ToolName;

use crate::Catalog;

#[async_trait]
impl ChannelSource for Catalog {
    async fn channel(&self, tool: &ToolName) -> Result<ChannelTool, PortError> {
        let refused = |why: String| PortError(format!("use {tool} as a channel: {why}"));
        let found = self.tool(tool).await.map_err(|error| refused(error.to_string()))?;
        let Some(ask) = found.verified.statement().predicate.channel.clone() else {
            return Err(refused("its signed manifest has no [channel]".to_owned()));
        };
        let component = found.entry.component;
        match found.grants.component() {
            Some(bound) if bound == component => Ok(ChannelTool { component, grants: found.grants, ask }),
            Some(_) => Err(refused(format!("its grant is bound to other bytes; chitin tool grant {tool}"))),
            None => Err(refused(format!("nothing is granted to it; chitin tool grant {tool}"))),
        }
    }
}
