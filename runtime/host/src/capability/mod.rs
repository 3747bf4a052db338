//! One file for each capability, in one order: what a grant allows, how it is linked, state for one call, host functions.

pub mod blobs;
pub mod config;
pub mod denied;
pub(crate) mod failure;
pub mod fs;
pub mod fs_paths;
pub mod http;
pub mod keyvalue;
pub mod keyvalue_draft;
pub mod keyvalue_draft2;
pub mod logging;
pub(crate) mod plain;
pub mod recall;
pub mod run;
#[cfg(test)]
pub(crate) mod scene;
