//! A guest that tries everything a guest can try and reports what happened as data. Only tests and benches call it.
//!
//! A try that the host refuses is a result here, not a failure: `{"ok": false, "error": …}`. So a test tells "the host said
//! no to the guest" from "the guest said no", which is the point of most of them.
//!
//! Never: anything that a user should install.

mod bounds;
mod capability;
mod describe;
mod keyvalue;
mod memory;
mod report;
mod surroundings;
mod telling;
mod wasi;

use chitin_sdk::{Call, Failure, Part, Tool, ToolPack, export_pack};

struct Probe;

impl ToolPack for Probe {
    fn tools() -> Vec<Tool> {
        describe::tools()
    }

    fn invoke(call: Call) -> Result<Vec<Part>, Failure> {
        match call.tool.as_str() {
            "echo" => bounds::echo(&call),
            "spin" => bounds::spin(),
            "eat_memory" => bounds::eat_memory(&call),
            "recurse" => bounds::recurse(),
            "panic" => bounds::panic(),
            "exit" => bounds::exit(&call),
            "print" => bounds::print(&call),
            "flood" => bounds::flood(&call),
            "many_files" => bounds::many_files(&call),
            "env" => surroundings::env(),
            "open_read" => surroundings::open_read(&call),
            "open_write" => surroundings::open_write(&call),
            "fetch" => surroundings::fetch(&call),
            "sleep" => surroundings::sleep(&call),
            "random" => surroundings::random(&call),
            "clock" => surroundings::clock(),
            "socket" => surroundings::socket(&call),
            "run_info" => capability::run_info(),
            "use_secret" => capability::use_secret(&call),
            "remember" => capability::remember(&call),
            "subcall" => capability::subcall(&call),
            "schedule_add" => capability::schedule_add(),
            "make_blob" => capability::make_blob(),
            "write_blob" => capability::write_blob(&call),
            "kv_get" => keyvalue::get(&call),
            "kv_set" => keyvalue::set(&call),
            "kv_fill" => keyvalue::fill(&call),
            "kv_flood" => keyvalue::flood(&call),
            "kv_delete" => keyvalue::delete(&call),
            "kv_list" => keyvalue::list(&call),
            "kv_increment" => keyvalue::increment(&call),
            "kv_batch" => keyvalue::batch(&call),
            "kv_cas" => keyvalue::cas(&call),
            "config" => telling::config(&call),
            "log" => telling::log(&call),
            "recall_remember" => memory::remember(&call),
            "recall_query" => memory::query(&call),
            "recall_forget" => memory::forget(&call),
            "recall_entries" => memory::entries(&call),
            _ => Err(call.unknown_tool()),
        }
    }
}

export_pack!(Probe);
