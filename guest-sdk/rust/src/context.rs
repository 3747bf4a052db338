//! The call that a tool is answering: how much time is left, who wants to stop it, and what was attached to it.

use crate::host::run;
use crate::{Blob, Call, Part};

/// The running call, for a tool that takes a parameter of the type `&Context`.
///
/// On other targets than WebAssembly, where a tool runs only in its tests, progress goes nowhere and time does not run out.
#[derive(Debug, Default)]
pub struct Context {
    files: Vec<(String, Blob)>,
}

impl Context {
    /// What a call carries besides its arguments. Called by `#[tool]`.
    pub fn of(call: Call) -> Self {
        Self { files: call.files }
    }

    /// A line for the person who waits; `done` is a share from 0.0 to 1.0. Dropped by the host when sent too often.
    pub fn progress(&self, message: &str, done: Option<f32>) {
        if IS_HOSTED {
            run::progress(message, done);
        }
    }

    /// Milliseconds until the host ends the call.
    pub fn remaining_ms(&self) -> u64 {
        if IS_HOSTED { run::remaining_ms() } else { u64::MAX }
    }

    /// True once somebody asked to stop. A tool that looks can end cleanly; others are ended anyway.
    pub fn cancelled(&self) -> bool {
        IS_HOSTED && run::cancelled()
    }

    /// A piece of the result, ahead of its end. Counts towards the output limit.
    pub fn partial(&self, piece: Part) {
        if IS_HOSTED {
            run::partial(piece);
        }
    }

    /// The file that the user attached for this argument.
    pub fn file(&self, argument: &str) -> Option<&Blob> {
        self.files.iter().find(|(name, _)| name == argument).map(|(_, blob)| blob)
    }
}

const IS_HOSTED: bool = cfg!(target_arch = "wasm32");
