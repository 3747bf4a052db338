//! Which Rust types stand for the WIT of channels? Generated from `wit/`; what tools and channels share is the same type.

#![expect(missing_docs, reason = "the WIT files document what is generated from them")]

wasmtime::component::bindgen!({
    inline: "
        package chitin:hosted;
        world channel-host {
            include chitin:channel/channel@0.1.0;
            import chitin:channel/sockets@0.1.0;
        }
    ",
    path: ["../../wit/types", "../../wit/host", "../../wit/channel"],
    world: "chitin:hosted/channel-host",
    imports: { default: async | trappable },
    exports: { default: async },
    with: { "chitin:types/types": crate::wit::chitin::types::types },
});
