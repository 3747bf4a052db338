//! What does the tool say of itself? The same things that a signed manifest and `describe` say of a component.

use chitin_types::{Capabilities, Digest, Effects, FsAsk, FsMode, FunctionName, ToolName, ToolSpec};
use serde_json::json;

/// The tool.
pub(super) const TOOL: &str = "chitin/shell";
/// Its function.
pub(super) const FUNCTION: &str = "run";

/// The specification that a model reads.
pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        tool: ToolName::parse(TOOL).expect("a literal name in the right spelling"),
        function: FunctionName::parse(FUNCTION).expect("a literal name in the right spelling"),
        title: "Run a command".to_owned(),
        summary:
            "Runs a command in a sandbox without network, in the workspace. Give either `command`, a line for sh, \
                  or `argv`, a program and its arguments. Use relative paths. Files outside the workspace are not \
                  there, nothing keeps running after the call, and hooks, start-up files and settings of editors \
                  cannot be written. The result is the exit code, standard output and standard error."
                .to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1, "description": "A line for sh -c"},
                "argv": {
                    "type": "array", "items": {"type": "string"}, "minItems": 1,
                    "description": "A program and its arguments, run without a shell"
                },
                "cwd": {"type": "string", "description": "A directory of the workspace, relative to it"},
                "timeout_ms": {
                    "type": "integer", "minimum": 1,
                    "description": "Milliseconds after which it is ended; never more than the grant allows"
                }
            },
            "additionalProperties": false
        }),
        effects: Effects { reads: true, writes: true, destroys: true, ..Effects::default() },
    }
}

/// What stands for the tool where a component has the digest of its bytes. Changes when the tool may do other things.
pub(super) fn identity() -> Digest {
    Digest::of(b"chitin native tool chitin/shell, version 1: one command in the jail, mounts of the grant, no network")
}

/// What it asks for: any directory that the user may grant. It has no way to the network to ask for.
pub(super) fn requests() -> Capabilities {
    let reason = "commands work on the files of the workspace".to_owned();
    Capabilities {
        fs: vec![FsAsk { at: "*".to_owned(), mode: FsMode::Rw, reason: Some(reason) }],
        ..Capabilities::default()
    }
}
