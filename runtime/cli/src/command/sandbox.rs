//! Which sandbox holds native commands here? It is shown, and tried.
use crate::{error::CliError, output::Output, wire::Wire};

pub(crate) async fn explain(wire: &Wire, output: &Output) -> Result<(), CliError> {
    output.note(&wire.jail()?.verdict().await.reasons());
    Ok(())
}
