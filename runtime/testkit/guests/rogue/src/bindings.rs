//! The Rust side of the channel world, with the sockets that no manifest can ask for yet, as wit-bindgen writes it.

#![expect(clippy::pedantic, reason = "generated")]

wit_bindgen::generate!({
    inline: "
        package test:rogue;
        world rogue {
            include chitin:channel/channel@0.1.0;
            import chitin:channel/sockets@0.1.0;
        }
    ",
    path: ["../../../../wit/types", "../../../../wit/host", "../../../../wit/channel"],
    world: "test:rogue/rogue",
    generate_all,
    with: { "chitin:types/types@0.1.0": chitin_sdk::bindings::chitin::types::types },
});
