//! Native commands in an OS sandbox: an order goes in, the program runs behind walls or not at all, its end comes out.
//!
//! ```text
//!   Order ─ Jail ─ verdict (once) ─┬ bubblewrap  namespaces, then Landlock, seccomp, residue check, exec
//!                                  ├ landlock    user dropped, then Landlock, seccomp, residue check, exec
//!                                  └ neither     refused: SpawnError::NoSandbox
//! ```
//!
//! One helper process per order stands between daemon and program ([`child_main`]). It holds a stream to the daemon; when
//! that closes, everything that the program started is killed before the helper ends.
//!
//! **Root.** A daemon that is root never lets a program, nor bubblewrap, run as root: each call gets a free user from
//! 61184 to 65519 for its time. The granted directories are shown to that user through a mount that maps their owner on
//! disk to it, in a mount namespace that only this call has. So a workspace made by root works with git, compilers and
//! interpreters like one of an ordinary user; what they write belongs to the workspace's owner; nothing changes hands and
//! nobody has to give a directory away. Set-user-id bits cannot be set, so no program can leave a file that runs as
//! root. Where the file system cannot do that, the directory is read-only unless everybody may write it, and a notice
//! says which command would change that.
//!
//! **Files that run later** on the host (hooks, start-up files, settings of editors and agents) cannot be made, changed or
//! moved: locked by mounts where there are namespaces, and put right after each call in any case. The caller hears what was
//! put right ([`chitin_ports::Ended::notices`]); what could not be looked at is an error of the call. See `protect`.
//!
//! **Known gaps**, which `explain` lists: without namespaces, command lines of other processes are visible to an ordinary
//! user's programs, the existence of files is, and a protected file is put back after the call, not locked during it. A
//! kernel bug is out of reach for any of this.
//!
//! Never: what a command is for, that a model exists, where a grant file lies.

pub mod explain;
pub mod jail;
pub mod shell;
pub mod verdict;

mod child;
mod launch;
mod order;
mod plan;
mod protect;
mod raw;
mod uids;
mod wrapper;

pub use child::{HELPER_ARG, child_main};
pub use explain::{Explanation, Layer, Proof, explain};
pub use jail::{Choice, Jail, JailConfig};
pub use plan::Backend;
pub use shell::Shell;
pub use verdict::{Rejected, Verdict};
