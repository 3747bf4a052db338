//! Which directories are granted to this call, by the names that the guest knows them under.

use crate::path::GuestPath;

/// In the order in which the host gives them, for example `/workspace` and `/project`.
#[cfg(target_arch = "wasm32")]
pub(crate) fn granted() -> Vec<String> {
    bindings::wasi::filesystem::preopens::get_directories().into_iter().map(|(_, at)| at).collect()
}

/// Native tests run on a machine where everything is below one root.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn granted() -> Vec<String> {
    vec!["/".to_owned()]
}

/// Whether the host has to be asked at all. It still may refuse, as for a path that goes up from a root with `..`.
pub(crate) fn hold(path: &GuestPath) -> bool {
    granted().iter().any(|root| path.as_path().starts_with(root))
}

#[cfg(target_arch = "wasm32")]
#[expect(clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({
        inline: "
            package chitin:fs-guest;
            world roots { import wasi:filesystem/preopens@0.2.12; }
        ",
        path: ["../../wit/deps/io.wit", "../../wit/deps/clocks.wit", "../../wit/deps/filesystem.wit"],
        world: "chitin:fs-guest/roots",
        generate_all,
    });
}
