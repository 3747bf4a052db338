//! The tool `chitin/memory`: stores, finds, lists and removes what the assistant is to remember.
//!
//! One file for each function: `store`, `recall`, `forget`, `export`. The two that read share `shown` (how a memory is given
//! back, and how many fit into an answer).
//!
//! Never: a file or a database. The memory is the host's, in scopes that the grant names; this is the door for a model.

mod export;
mod forget;
mod recall;
mod shown;
mod store;

chitin_sdk::export_tools!(store::store, recall::recall, forget::forget, export::export);

/// What an id has at most; ids of the host are shorter.
const ID_CHARACTERS_MAX: u32 = 128;
/// What the name of a scope has at most, by the rules of a grant.
const SCOPE_CHARACTERS_MAX: u32 = 48;
