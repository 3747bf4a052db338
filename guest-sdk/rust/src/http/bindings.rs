//! The Rust side of `wasi:http` 0.2.12, as wit-bindgen writes it from `wit/deps/`.

#![expect(clippy::pedantic, reason = "generated")]

wit_bindgen::generate!({
    inline: "
        package chitin:sdk-http;
        world client { import wasi:http/outgoing-handler@0.2.12; }
    ",
    path: [
        "../../wit/deps/io.wit",
        "../../wit/deps/clocks.wit",
        "../../wit/deps/random.wit",
        "../../wit/deps/filesystem.wit",
        "../../wit/deps/sockets.wit",
        "../../wit/deps/cli.wit",
        "../../wit/deps/http.wit",
    ],
    world: "chitin:sdk-http/client",
    generate_all,
});
