//! What the probe's functions are called and which arguments they take.

use chitin_sdk::{Effects, ObjectSchema, Schema, Tool};

pub(crate) fn tools() -> Vec<Tool> {
    let none = Schema::object;
    vec![
        tool("echo", "Returns the text.", one("text", Schema::string("What comes back."))),
        tool("spin", "Never returns.", none()),
        tool("eat_memory", "Takes memory and touches it.", one("mib", count("How many MiB."))),
        tool("recurse", "Runs out of stack.", none()),
        tool("panic", "Traps.", none()),
        tool("exit", "Ends the process.", one("code", Schema::integer("The status."))),
        tool(
            "print",
            "Writes to both streams.",
            one("stdout_kib", count("KiB to stdout.")).required("stderr_kib", count("KiB to stderr.")),
        ),
        tool("flood", "Calls the host many times.", one("n", count("How many calls."))),
        tool("many_files", "Creates files and holds them open.", one("n", count("How many files."))),
        tool("env", "Shows variables, arguments, directory and roots.", none()),
        tool("open_read", "Reads a file.", one("path", path())),
        tool("open_write", "Writes a file.", one("path", path()).required("text", Schema::string("The content."))),
        tool(
            "fetch",
            "Sends a request.",
            one("method", Schema::string("The method."))
                .required("url", Schema::string("The address."))
                .optional("headers", Schema::map("Headers.", &Schema::string("A value.")))
                .optional("body", Schema::string("The body.")),
        ),
        tool("sleep", "Waits.", one("ms", count("Milliseconds."))),
        tool("random", "Draws random bytes.", one("bytes", count("How many."))),
        tool("clock", "Reads both clocks.", none()),
        tool("socket", "Connects by TCP.", one("addr", Schema::string("Host and port."))),
        tool("run_info", "Reads about the running call.", none()),
        tool(
            "use_secret",
            "Asks for a stand-in and may send it.",
            one("name", Schema::string("The secret.")).optional("url", Schema::string("Where to send it.")),
        ),
        tool(
            "remember",
            "Stores, finds and forgets a memory.",
            one("text", Schema::string("What to store.")).optional("scope", Schema::string("The scope.")),
        ),
        tool(
            "subcall",
            "Calls another tool.",
            one("alias", Schema::string("Its alias."))
                .optional("args", Schema::object().describe("Its arguments.").open().nested()),
        ),
        tool("schedule_add", "Adds a schedule and removes it.", none()),
        tool("make_blob", "Returns a file.", none()),
    ]
}

/// Every function claims every effect but payment, so that no test passes because a claim was missing.
fn tool(name: &str, summary: &str, input: ObjectSchema) -> Tool {
    let effects = Effects::READS | Effects::WRITES | Effects::OPEN_WORLD | Effects::REPEATABLE;
    Tool::new(name, name, summary).input(input).effects(effects)
}

fn one(name: &str, schema: Schema) -> ObjectSchema {
    Schema::object().required(name, schema)
}

fn count(description: &str) -> Schema {
    Schema::integer(description).minimum(0)
}

fn path() -> Schema {
    Schema::string("A path of the guest.")
}
