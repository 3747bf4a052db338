//! Which sandbox holds native commands here? It is shown, and tried.

use serde_json::json;

use crate::{
    error::{CliError, Exit},
    output::Output,
    wire::Wire,
};

pub(crate) async fn explain(wire: &Wire, output: &Output) -> Result<(), CliError> {
    let jail = wire.jail()?;
    let explanation = chitin_jail::explain(&jail).await;
    let document = json!(explanation);
    output.result("sandbox", document, &explanation.lines().join("\n"));
    if explanation.holds() {
        Ok(())
    } else {
        let error = CliError::new(Exit::Failed, "native commands are refused here, because no sandbox holds them");
        Err(error.help("apt install bubblewrap"))
    }
}
