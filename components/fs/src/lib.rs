//! The tool `chitin/fs`: reads, writes and searches files below the roots that are granted.
//!
//! One file for each family of functions: `read`, `write`, `edit`, `list`, `glob`, `grep`. They share `path` (which file a
//! text means), `roots` (what is granted), `walk` and `directory` (how a tree is visited, and at what cost), `store` (how
//! bytes replace a file) and `refusal` (what an error means).
//!
//! Never: paths of the host. A guest sees roots that the host opened for it, and asks the host for everything below.

mod describe;
mod directory;
mod edit;
mod glob;
mod grep;
mod list;
#[cfg(not(target_arch = "wasm32"))]
mod native;
mod path;
mod read;
mod refusal;
mod roots;
mod store;
mod walk;
#[cfg(target_arch = "wasm32")]
mod wasi;
mod write;

use chitin_sdk::{Call, Failure, Part, Tool, ToolPack, export_pack};

struct Files;

impl ToolPack for Files {
    fn tools() -> Vec<Tool> {
        describe::tools()
    }

    fn invoke(call: Call) -> Result<Vec<Part>, Failure> {
        match call.tool.as_str() {
            "file_read" => read::file_read(&call.args()?),
            "file_write" => write::file_write(&call.args()?),
            "file_edit" => edit::file_edit(&call.args()?),
            "list_dir" => list::list_dir(&call.args()?),
            "glob" => glob::glob(&call.args()?),
            "grep" => grep::grep(&call.args()?),
            _ => Err(call.unknown_tool()),
        }
    }
}

export_pack!(Files);
