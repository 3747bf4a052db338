//! What is installed, and who changed it: everything about tools that lies on disk.
//!
//! ```text
//!   weather.wasm + .bundle.json ─ Installer::review ─→ Review ─ commit ─→ audit ─→ store ─→ grant ─→ lock
//!   trust/*.toml ─ ring ─┐
//!   tools.lock ──────────┼─ Catalog::resolve ─→ Installed { component digest, Grants }
//!   store/, policies/ ───┘         └─ verified bytes, read once, held in memory ─→ host
//!   native, tool dev ────── Catalog    offered in this process, never installed
//! ```
//!
//! Below the home directory it owns `store/sha256/<hex>/{component.wasm,bundle.json}`, `tools.lock`, `trust/*.toml`,
//! `keys/` and `policies/*.toml`. Every file is replaced as a whole (a temporary file beside it, synced, renamed),
//! every change happens under one lock file, and the audit record of a change is durable before the change is made.
//!
//! Never: how a call runs, what a model is, whether a call may happen. `policy` decides; `host` runs.

pub mod beside;
pub mod catalog;
mod channel;
mod disk;
mod edit;
pub mod error;
pub mod grants;
pub mod home;
pub mod install;
mod kept;
pub mod keys;
mod prove;
mod record;
pub mod remove;
pub mod review;
pub mod sign;
mod store;
mod tools;
pub mod trust;
mod writer;

pub use beside::{DevTool, NativeTool, is_unsigned};
pub use catalog::{Catalog, Tool};
pub use error::{RegistryError, Said};
pub use grants::{GrantFiles, load_defaults, load_grant, read_policy};
pub use home::Home;
pub use install::{GrantChoice, Installer, Versions};
pub use keys::{HomeKey, KeyFile, list_keys, load_key, new_key, remove_key};
pub use remove::{forget_damaged, remove};
pub use review::{GrantAfter, Review, describe_digest};
pub use sign::{Signed, sign};
pub use tools::installed;
pub use trust::{load_ring, preview_trust, revoke_trust, trust};
