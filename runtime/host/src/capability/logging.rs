//! What may a guest say to the operator? Lines for the log, under its own name, as much as its output limit holds.
//!
//! Grant: none is needed. Linked: `wasi:logging` with its version and without. For one call: nothing; each line counts as a
//! call into the host and as output, so that a flood ends the call and not the disk.

use wasmtime::component::{HasSelf, Linker};

use self::{draft::wasi::logging::logging as draft_log, unversioned::wasi::logging::logging as unversioned_log};
use super::plain::plain;
use crate::state::CallState;

/// The draft.
#[expect(missing_docs, reason = "the WIT files document what is generated from them")]
pub mod draft {
    wasmtime::component::bindgen!({
        inline: "
            package chitin:capability;
            world logging-draft { import wasi:logging/logging@0.1.0-draft; }
        ",
        path: "../../wit/deps/logging-0.1.0-draft.wit",
        world: "chitin:capability/logging-draft",
        imports: { default: async | trappable },
    });
}

/// The name without a version.
#[expect(missing_docs, reason = "the WIT files document what is generated from them")]
pub mod unversioned {
    wasmtime::component::bindgen!({
        inline: "
            package chitin:capability;
            world logging-unversioned { import wasi:logging/logging; }
        ",
        path: "../../wit/deps/logging-unversioned.wit",
        world: "chitin:capability/logging-unversioned",
        imports: { default: async | trappable },
    });
}

pub(crate) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    draft_log::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    unversioned_log::add_to_linker::<_, HasSelf<_>>(linker, |state| state)
}

/// The levels of the log; a guest's `critical` is an error of the guest, not of the host.
#[derive(Debug, Clone, Copy)]
enum Severity {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

impl CallState {
    fn log_line(&self, severity: Severity, context: &str, message: &str) -> wasmtime::Result<()> {
        self.call.charge()?;
        self.call.charge_output(context.len().saturating_add(message.len()))?;
        let (context, message) = (plain(context, CONTEXT_BYTES_MAX), plain(message, MESSAGE_BYTES_MAX));
        let (call, tool) = (&self.call.id, self.call.grants.tool());
        match severity {
            Severity::Trace => tracing::trace!(target: TARGET, %call, %tool, context, "{message}"),
            Severity::Debug => tracing::debug!(target: TARGET, %call, %tool, context, "{message}"),
            Severity::Info => tracing::info!(target: TARGET, %call, %tool, context, "{message}"),
            Severity::Warn => tracing::warn!(target: TARGET, %call, %tool, context, "{message}"),
            Severity::Error => tracing::error!(target: TARGET, %call, %tool, context, "{message}"),
        }
        Ok(())
    }
}

impl draft_log::Host for CallState {
    async fn log(&mut self, level: draft_log::Level, context: String, message: String) -> wasmtime::Result<()> {
        let severity = match level {
            draft_log::Level::Trace => Severity::Trace,
            draft_log::Level::Debug => Severity::Debug,
            draft_log::Level::Info => Severity::Info,
            draft_log::Level::Warn => Severity::Warn,
            draft_log::Level::Error | draft_log::Level::Critical => Severity::Error,
        };
        self.log_line(severity, &context, &message)
    }
}

impl unversioned_log::Host for CallState {
    async fn log(&mut self, level: unversioned_log::Level, context: String, message: String) -> wasmtime::Result<()> {
        let severity = match level {
            unversioned_log::Level::Trace => Severity::Trace,
            unversioned_log::Level::Debug => Severity::Debug,
            unversioned_log::Level::Info => Severity::Info,
            unversioned_log::Level::Warn => Severity::Warn,
            unversioned_log::Level::Error | unversioned_log::Level::Critical => Severity::Error,
        };
        self.log_line(severity, &context, &message)
    }
}

/// What an operator filters by to see or to silence what tools say.
const TARGET: &str = "tool";
/// Longest message in bytes that is kept; the rest is cut, so that one line stays one.
const MESSAGE_BYTES_MAX: usize = 8 * 1024;
/// Longest context in bytes that is kept.
const CONTEXT_BYTES_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::capability::scene::Scene;

    #[test]
    fn a_flood_of_lines_ends_at_the_limit_of_the_call() {
        let check = |host_calls: u64, bytes_each: usize, limit: &str| {
            let mut scene = Scene::new(|grant| {
                grant.limits.host_calls = host_calls;
                grant.limits.output_kib = 4;
            });
            let line = "x".repeat(bytes_each);
            let mut say = || {
                let said =
                    draft_log::Host::log(&mut scene.state, draft_log::Level::Info, "ctx".to_owned(), line.clone());
                block_on(said).is_ok()
            };
            let lines = (0..10_000).take_while(|_| say()).count();
            assert!(lines < 100, "{lines} lines");
            assert_eq!(scene.state.call.reached.get(), Some(limit));
        };
        check(50, 10, "host calls (50)");
        check(1_000, 1_000, "output (4 KiB)");
        check(1_000, 100_000, "output (4 KiB)");
    }

    #[test]
    fn both_names_take_a_line() {
        let mut scene = Scene::new(|_| ());
        let (context, text) = ("ctx".to_owned(), "all \u{1b}[31mwell\n".to_owned());
        let state = &mut scene.state;
        block_on(draft_log::Host::log(state, draft_log::Level::Critical, context.clone(), text.clone())).unwrap();
        block_on(unversioned_log::Host::log(state, unversioned_log::Level::Trace, context, text)).unwrap();
    }
}
