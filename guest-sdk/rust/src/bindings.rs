//! The Rust side of `wit/`: types, host imports and the exports of a tool pack, as wit-bindgen writes them.
//!
//! Generated for the world with every import. The linker keeps only those that the guest calls, so the component of a
//! tool that never asks for secrets does not import them.

#![expect(missing_docs, reason = "generated; the packages in `wit/` carry the documentation")]
#![expect(clippy::pedantic, reason = "generated")]

wit_bindgen::generate!({
    path: ["../../wit/types", "../../wit/host", "../../wit/tool"],
    world: "chitin:tool/tool-with-everything",
    generate_all,
    pub_export_macro: true,
    export_macro_name: "export_guest",
    default_bindings_module: "chitin_sdk::bindings",
});
