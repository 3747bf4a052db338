//! What does a guest hear when the host says no? A denial, a limit or a fault goes in, a `failure` of our WIT comes out.
//!
//! Only the host may say `denied` and `limited` for its own decisions, and this is where it does.

use chitin_ports::PortError;
use chitin_types::Denial;

use crate::{
    state::CallContext,
    wit::wire::{Failure, FailureKind},
};

/// A rule refused. The call remembers the denial, which is in the audit, and its rule is the code.
pub(crate) fn denied(call: &CallContext, denial: Denial) -> Failure {
    let (code, message) = (denial.rule.replace(':', "-"), denial.reason.clone());
    call.deny(denial);
    failure(FailureKind::Denied, &code, message)
}

/// The guest asked for more than one call of this function takes.
pub(crate) fn limited(code: &str, message: String) -> Failure {
    failure(FailureKind::Limited, code, message)
}

/// An argument is wrong.
pub(crate) fn invalid(code: &str, message: String) -> Failure {
    failure(FailureKind::InvalidInput, code, message)
}

/// The host failed. What it was is for the operator: it may name files of the host.
pub(crate) fn broken(call: &CallContext, code: &str, what: &str, error: &PortError) -> Failure {
    tracing::warn!(call = %call.id, tool = %call.grants.tool(), %error, "{what} failed");
    failure(FailureKind::Internal, code, format!("{what} failed; the log of the host says why"))
}

fn failure(kind: FailureKind, code: &str, message: String) -> Failure {
    Failure { kind, code: Some(code.to_owned()), message, retry_after_ms: None }
}
