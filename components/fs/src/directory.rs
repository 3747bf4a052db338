//! What a directory holds, and how many calls to the host may be spent on finding out.

use std::cell::Cell;
use std::ops::ControlFlow;

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::native::{list, size};
#[cfg(target_arch = "wasm32")]
pub(crate) use crate::wasi::{list, size};

#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// In no order.
    pub(crate) entries: Vec<Entry>,
    /// How many more there are whose names cannot be told.
    pub(crate) unnamed: u32,
    /// True when the directory holds more than was asked for.
    pub(crate) is_cut: bool,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Dir,
    Link,
    Other,
}

/// Calls to the host that are left. A guest that makes more than it is allowed is ended and its answer lost, so it
/// stops by itself shortly before and gives what it has.
#[derive(Debug)]
pub(crate) struct Calls {
    left: Cell<u32>,
}

impl Calls {
    pub(crate) fn of_one_call() -> Self {
        Self { left: Cell::new(CALLS_MAX) }
    }

    /// Counts calls that are about to be made; says stop when they are not left.
    pub(crate) fn spend(&self, calls: u32) -> ControlFlow<&'static str> {
        match self.left.get().checked_sub(calls) {
            Some(left) => {
                self.left.set(left);
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break("there is more to look through than one call may; give a narrower `path`"),
        }
    }
}

/// Opening it and starting the list.
pub(crate) const LIST_CALLS: u32 = 2;
/// Opening it and starting the stream.
pub(crate) const READ_CALLS: u32 = 2;
pub(crate) const SIZE_CALLS: u32 = 1;
/// A little below the 2,000 that a call gets by default. The host does not tell a guest how many are left.
const CALLS_MAX: u32 = 1900;
