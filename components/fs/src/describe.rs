//! What the model is told about each function: what it does, its arguments, and its effects.

use chitin_sdk::{Effects, Schema, Tool};

use crate::{glob, grep, list, walk};

pub(crate) fn tools() -> Vec<Tool> {
    vec![file_read(), file_write(), file_edit(), list_dir(), glob_files(), grep_files()]
}

fn file_read() -> Tool {
    Tool::new(
        "file_read",
        "Read a file",
        "Reads a UTF-8 text file, or a range of its lines. The answer is the text, then an object that says which lines \
         it holds and, when there are more, with which `offset_line` to go on.",
    )
    .input(
        Schema::object()
            .required("path", path("The file to read."))
            .optional("offset_line", Schema::integer("The first line to read, counted from 1.").minimum(1).default(1))
            .optional("limit_lines", Schema::integer("The most lines to read; all when left out.").minimum(1)),
    )
    .effects(Effects::READS | Effects::IDEMPOTENT | Effects::REPEATABLE)
}

fn file_write() -> Tool {
    Tool::new(
        "file_write",
        "Write a file",
        "Writes a whole text file: creates it, or replaces what it held. To change a part of a file use `file_edit`.",
    )
    .input(
        Schema::object()
            .required("path", path("The file to write."))
            .required("content", Schema::string("All that the file holds afterwards."))
            .optional("create_parents", Schema::boolean("Create missing directories above it.").default(true)),
    )
    .effects(Effects::WRITES | Effects::IDEMPOTENT)
}

fn file_edit() -> Tool {
    Tool::new(
        "file_edit",
        "Edit a file",
        "Replaces one exact piece of text in a file. `old` must occur exactly once, white space included, unless `all` \
         is set; nothing is changed otherwise.",
    )
    .input(
        Schema::object()
            .required("path", path("The file to change."))
            .required("old", Schema::string("The text to replace, as it stands in the file.").min_length(1))
            .required("new", Schema::string("The text that takes its place; empty to delete."))
            .optional("all", Schema::boolean("Replace every occurrence.").default(false)),
    )
    .effects(Effects::READS | Effects::WRITES)
}

fn list_dir() -> Tool {
    Tool::new(
        "list_dir",
        "List a directory",
        "Lists what a directory holds: name, kind (file, dir, link, other) and size. With `depth` above 1 it goes into \
         directories, but not through links.",
    )
    .input(Schema::object().optional("path", path("The directory; the workspace when left out.")).optional("depth", {
        let deepest = i64::from(list::DEPTH_MAX);
        Schema::integer("How many levels to list.").minimum(1).maximum(deepest).default(1)
    }))
    .effects(Effects::READS | Effects::IDEMPOTENT | Effects::REPEATABLE)
}

fn glob_files() -> Tool {
    Tool::new(
        "glob",
        "Find files by name",
        "Finds files and directories whose path matches a pattern: `*` and `?` within a name, `**` across directories, \
         `[a-z]`, `{a,b}`. A pattern without a slash matches names at any depth. Results are sorted by path.",
    )
    .input(
        Schema::object()
            .required("pattern", Schema::string("For example `src/**/*.rs` or `*.{md,txt}`.").min_length(1))
            .optional("path", path("Where to look; the workspace when left out."))
            .optional("hidden", hidden())
            .optional("max_results", results(glob::RESULTS_MAX, glob::RESULTS_MAX)),
    )
    .effects(Effects::READS | Effects::IDEMPOTENT | Effects::REPEATABLE)
}

fn grep_files() -> Tool {
    Tool::new(
        "grep",
        "Search in files",
        "Finds the lines of text files that match a regular expression (no look-around, no back-references) and gives \
         them as `path:line: text`. Binary and very large files are passed over and counted.",
    )
    .input(
        Schema::object()
            .required("pattern", Schema::string("The regular expression.").min_length(1))
            .optional("path", path("A directory or one file; the workspace when left out."))
            .optional("glob", Schema::string("Search only files that match this pattern, as in `glob`."))
            .optional("ignore_case", Schema::boolean("Treat capitals and small letters alike.").default(false))
            .optional("hidden", hidden())
            .optional("max_results", results(grep::RESULTS_DEFAULT, grep::RESULTS_MAX)),
    )
    .effects(Effects::READS | Effects::IDEMPOTENT | Effects::REPEATABLE)
}

fn path(description: &str) -> Schema {
    Schema::string(&format!("{description} Relative paths start at /workspace."))
        .max_length(crate::path::CHARACTERS_MAX)
}

fn hidden() -> Schema {
    let skipped = walk::SKIPPED_DIRECTORIES.join(", ");
    Schema::boolean(&format!("Also look at names that start with a dot, and into {skipped}.")).default(false)
}

fn results(usual: u32, most: u32) -> Schema {
    Schema::integer("The most results to give.").minimum(1).maximum(i64::from(most)).default(usual)
}
