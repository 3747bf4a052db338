//! Which directories are granted to this call, by the names that the guest knows them under.

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::native::roots as granted;
use crate::path::GuestPath;
#[cfg(target_arch = "wasm32")]
pub(crate) use crate::wasi::roots as granted;

/// Whether a granted directory holds the path, as far as its text says. The host still may refuse, as for a path that
/// goes up with `..`.
pub(crate) fn hold(path: &GuestPath) -> bool {
    granted().iter().any(|root| path.as_path().starts_with(root))
}
