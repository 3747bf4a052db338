//! What the probe's functions are called and which arguments they take.

use chitin_sdk::{Effects, ObjectSchema, Schema, Tool};

pub(crate) fn tools() -> Vec<Tool> {
    [bounds_and_surroundings(), capabilities(), stores()].concat()
}

fn bounds_and_surroundings() -> Vec<Tool> {
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
    ]
}

fn capabilities() -> Vec<Tool> {
    let none = Schema::object;
    vec![
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
        tool(
            "write_blob",
            "Writes a file in pieces.",
            one("name", Schema::string("Its name."))
                .required("media_type", Schema::string("Its type."))
                .required("kib", count("Its size in KiB."))
                .required("piece_kib", count("KiB of one write."))
                .optional("partial", Schema::boolean("As a partial result.")),
        ),
        tool("config", "Reads settings.", one("key", Schema::string("Which one."))),
        tool(
            "log",
            "Writes lines for the log.",
            one("message", Schema::string("The line."))
                .optional("context", Schema::string("Its context."))
                .optional("times", count("How often.")),
        ),
    ]
}

/// What outlives a call: values by key, and the memory.
fn stores() -> Vec<Tool> {
    vec![
        tool("kv_get", "Gets a value.", bucket().required("key", key())),
        tool(
            "kv_set",
            "Keeps a value.",
            bucket().required("key", key()).required("value", Schema::string("The value.")),
        ),
        tool("kv_fill", "Keeps a large value.", bucket().required("key", key()).required("kib", count("Its KiB."))),
        tool("kv_flood", "Keeps many values.", bucket().required("n", count("How many.")).optional("value", key())),
        tool("kv_delete", "Deletes a value.", bucket().required("key", key())),
        tool("kv_list", "Lists every key.", bucket()),
        tool(
            "kv_increment",
            "Counts up or down.",
            bucket().required("key", key()).required("by", Schema::integer("By how much.")),
        ),
        tool(
            "kv_batch",
            "Sets, gets and deletes several.",
            bucket().required("keys", Schema::list("The keys.", &key())).optional("value", key()),
        ),
        tool(
            "kv_cas",
            "Compares and swaps.",
            bucket()
                .required("key", key())
                .required("value", Schema::string("The new value."))
                .optional("meanwhile", Schema::string("What somebody else writes in between.")),
        ),
        tool(
            "recall_remember",
            "Stores a memory.",
            scope().optional("text", Schema::string("What to store.")).optional("kib", count("Or how much of it.")),
        ),
        tool(
            "recall_query",
            "Looks things up.",
            scope().required("text", Schema::string("What for.")).optional("limit", limit()),
        ),
        tool("recall_forget", "Forgets a memory.", one("id", Schema::string("Its id."))),
        tool(
            "recall_entries",
            "Lists the memory.",
            scope().optional("after", Schema::string("The entry before the first.")).optional("limit", limit()),
        ),
    ]
}

/// The arguments that every function on values has.
fn bucket() -> ObjectSchema {
    Schema::object()
        .optional("version", Schema::choice("Which draft; draft2 unless said.", &["draft", "draft2"]))
        .optional("bucket", Schema::string("Which bucket."))
}

fn scope() -> ObjectSchema {
    Schema::object().optional("scope", Schema::string("The scope."))
}

fn limit() -> Schema {
    count("At most how many.")
}

fn key() -> Schema {
    Schema::string("A key or a value.")
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
