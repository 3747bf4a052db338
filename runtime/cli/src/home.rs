//! Where does this user's chitin live? A flag, an environment variable, or the user's data directory.

use std::path::PathBuf;

use etcetera::BaseStrategy;

use crate::{args::Global, error::CliError};

/// The home directory, whether or not it exists.
pub(crate) fn locate(global: &Global) -> Result<PathBuf, CliError> {
    let chosen = match &global.home {
        Some(dir) => dir.clone(),
        None => etcetera::choose_base_strategy()
            .map_err(|e| CliError::failed(format!("find the home directory: {e}")).help("pass --home DIR"))?
            .data_dir()
            .join("chitin"),
    };
    Ok(std::path::absolute(chosen)?)
}

/// The user's own home directory, which no root may contain.
pub(crate) fn of_user() -> Option<PathBuf> {
    etcetera::home_dir().ok()
}
