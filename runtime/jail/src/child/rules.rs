//! Which files may the program touch? Path rules go in, a Landlock domain comes out that the process can never leave.

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, PathFdError, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use crate::plan::{PathAccess, PathRule};

/// How much of Landlock the kernel must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Floor {
    /// Inside namespaces, where mounts are read-only, the network is absent and other processes are invisible anyway:
    /// files and moves between directories (ABI 2, Linux 5.19).
    Second,
    /// Alone: truncation, device requests, TCP, signals and abstract sockets too (ABI 6, Linux 6.12).
    Alone,
}

/// Why no domain was made.
#[derive(Debug, thiserror::Error)]
pub(super) enum RuleError {
    #[error("Landlock: {0}")]
    Ruleset(#[from] RulesetError),
    #[error("Landlock: {0}")]
    Path(#[from] PathFdError),
    #[error("Landlock: the kernel enforced nothing")]
    Nothing,
}

/// Restricts the calling thread and everything that it starts, for ever.
///
/// # Errors
/// The kernel has less than `floor`, or a path is not there.
pub(super) fn restrict(rules: &[PathRule], floor: Floor) -> Result<(), RuleError> {
    let must = match floor {
        Floor::Second => ABI::V2,
        Floor::Alone => ABI::V6,
    };
    let mut ruleset =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::from_all(must))?;
    if floor == Floor::Alone {
        ruleset = ruleset.handle_access(AccessNet::from_all(must))?.scope(Scope::from_all(must))?;
    }
    let mut ruleset = ruleset
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(TESTED))?
        .handle_access(AccessNet::from_all(TESTED))?
        .scope(Scope::from_all(TESTED))?
        .create()?;
    for rule in rules {
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(&rule.path)?, access(rule.access)))?;
    }
    match ruleset.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err(RuleError::Nothing),
    }
}

fn access(access: PathAccess) -> BitFlags<AccessFs> {
    match access {
        PathAccess::List => AccessFs::ReadDir.into(),
        PathAccess::Read => AccessFs::ReadFile | AccessFs::ReadDir,
        PathAccess::Run => AccessFs::from_read(TESTED),
        PathAccess::Device => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev,
        PathAccess::Change => AccessFs::from_all(TESTED) & !(AccessFs::MakeBlock | AccessFs::MakeChar),
    }
}

/// The newest version that these rules were tried with; what a newer kernel adds is not used before it is tried.
const TESTED: ABI = ABI::V7;
