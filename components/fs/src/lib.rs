//! The tool `chitin/fs`: reads, writes and searches files below the roots that are granted.
//!
//! One file for each family of functions: `read`, `write`, `edit`, `list`, `glob`, `grep`. They share `path` (which file a
//! text means), `roots` (what is granted), `walk` and `directory` (how a tree is visited, and at what cost), `store` (how
//! bytes replace a file) and `refusal` (what an error means).
//!
//! Never: paths of the host. A guest sees roots that the host opened for it, and asks the host for everything below.

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

chitin_sdk::export_tools!(read::file_read, write::file_write, edit::file_edit, list::list_dir, glob::glob, grep::grep,);

#[cfg(test)]
mod tests {
    use chitin_sdk::ToolFunction;

    #[test]
    fn the_model_is_told_which_directories_are_passed_over() {
        let said = format!("and into {}.", crate::walk::SKIPPED_DIRECTORIES.join(", "));
        for schema in [crate::glob::glob::tool().input_schema, crate::grep::grep::tool().input_schema] {
            assert!(schema.contains(&said), "{schema}");
        }
    }
}
