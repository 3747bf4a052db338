//! One file for each capability, in one order: what a grant allows, how it is linked, state for one call, host functions.

pub mod denied;
pub mod fs;
pub mod fs_paths;
pub mod http;
pub mod run;
