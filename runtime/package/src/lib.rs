//! What a signed component is: bytes go in, a verdict comes out.
//!
//! ```text
//!   component.toml ─ Manifest ─┐
//!   component bytes ───────────┴─ Statement ─ Bundle::sign ─→ weather.wasm.bundle.json
//!
//!   component bytes ─┐
//!   bundle bytes ────┼─ verify ─→ Verified ─→ LockEntry ─→ one sealed block of tools.lock
//!   trust/*.toml ────┘   │
//!                        └─→ VerifyError, one variant for each thing that can be done about it
//! ```
//!
//! One signature covers everything that an install relies on: the bytes, the name, the version and what is asked for.
//! [`Verified`] is made by [`verify()`] and nowhere else:
//!
//! ```compile_fail
//! let forged = chitin_package::Verified { statement: todo!(), signer: todo!(), component: todo!(), bundle: todo!() };
//! ```
//!
//! ```
//! fn look(verified: &chitin_package::Verified) -> chitin_types::Digest {
//!     verified.component()
//! }
//! ```
//!
//! Never: a path, a file, the clock, a source of randomness; all of these are passed in.

pub mod asks;
pub mod bundle;
pub mod channel;
pub mod docs;
pub mod error;
pub mod key;
pub mod lock;
pub mod manifest;
pub mod statement;
pub mod text;
pub mod trust;
pub mod verify;
pub mod version;

pub use bundle::{BUNDLE_BYTES_MAX, Bundle};
pub use channel::{ChannelAsk, HmacRecipe, Route};
pub use docs::FunctionDoc;
pub use error::{DuplicateKey, KeyError, VerifyError};
pub use key::{Fingerprint, PublicKey, SigningKey};
pub use lock::{Damaged, LOCK_BYTES_MAX, LockEntry, LockFile, PinnedFunction};
pub use manifest::Manifest;
pub use statement::{Predicate, Statement};
pub use trust::{KeyRing, NamePattern, TrustedKey};
pub use verify::{COMPONENT_BYTES_MAX, Verified, check_component, verify};
pub use version::Version;
