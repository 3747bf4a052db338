//! The Rust side of the channel world and of `wasi:config`, as wit-bindgen writes it from `wit/`. What every package shares
//! is the type of the SDK.

#![expect(clippy::pedantic, reason = "generated")]

wit_bindgen::generate!({
    inline: "
        package chitin:webhook;
        world webhook {
            include chitin:channel/channel@0.1.0;
            import wasi:config/store@0.2.0-rc.1;
        }
    ",
    path: [
        "../../wit/types",
        "../../wit/host",
        "../../wit/channel",
        "../../wit/deps/config-0.2.0-rc.1.wit",
    ],
    world: "chitin:webhook/webhook",
    generate_all,
    with: { "chitin:types/types@0.1.0": chitin_sdk::bindings::chitin::types::types },
});
