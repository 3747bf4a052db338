//! Which Rust types stand for our WIT? Generated from `wit/`, so that host and guests cannot drift apart.

#![expect(missing_docs, reason = "the WIT files document what is generated from them")]

wasmtime::component::bindgen!({
    path: ["../../wit/types", "../../wit/host", "../../wit/tool"],
    world: "chitin:tool/tool-with-everything",
    imports: { default: async | trappable },
    exports: { default: async },
    with: {
        "chitin:types/types.blob": crate::capability::blobs::Blob,
        "chitin:host/blobs.blob-writer": crate::capability::blobs::BlobWriter,
    },
});

pub use chitin::types::types as wire;
pub use exports::chitin::tool::guest as pack;
