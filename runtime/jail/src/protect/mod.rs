//! How do files that would run later on the host stay as they are? Hooks, start-up files, settings of editors and agents.
//!
//! ```text
//!   Guard::new      each writable mount is looked through, what must not change is remembered
//!      │ masks      where there are namespaces: what exists is locked, what is absent is covered by an empty directory
//!      ▼
//!   the program runs, ends, and nothing that it started is alive
//!      │
//!      ▼
//!   Guard::settle   covers are removed; what appeared is renamed to `<name>.blocked`, what changed is put back
//!                   what could not be looked at or put right makes the call an error
//! ```
//!
//! The second look is needed with namespaces too: a directory can be moved away and made anew, and a repository can be
//! made where none was. A new repository is welcome, so of its configuration only keys that can run nothing are kept,
//! and of its hooks only the samples that `git init` writes.
//!
//! Every step goes from directory to directory by descriptor and follows no link, because another program may be busy in
//! the same workspace.

mod at;
mod gitconfig;
mod guard;
mod names;
mod scan;
mod settle;

pub(crate) use guard::{Guard, Mask, MaskKind, look};
pub(crate) use names::is_protected;
pub(crate) use settle::Settled;
