//! What happens in the helper process? It reads a plan, builds the sandbox, runs the program, ends everything, reports.
//!
//! ```text
//!   daemon
//!     └ helper (entry → supervise): new session, subreaper, own mounts when root, protected files noted
//!         ├ bubblewrap (user dropped)
//!         │   └ helper again (inside): first process of the namespaces
//!         │       └ program: limits, Landlock, seccomp, residue check, exec
//!         └ or, without namespaces: program: user dropped, limits, Landlock, seccomp, residue check, exec
//! ```
//!
//! Between the steps nothing returns to the daemon's code: the helper is a fresh process with one thread and without the
//! daemon's environment or descriptors.

mod bubblewrap;
mod calls;
mod entry;
mod inside;
mod paths;
mod residue;
mod rules;
mod shift;
mod stage;
mod supervise;
mod sweep;
mod tighten;

pub use entry::{HELPER_ARG, child_main};
