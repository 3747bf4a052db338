//! Can this order be run at all? An order goes in, a plan for the helper or the reason against it comes out.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use chitin_ports::{Order, SpawnError, SpawnMount};

use crate::{
    plan::{Backend, Ceilings, Plan, PlanMount},
    protect::is_protected,
};

/// How a refusal begins when a mount would have to appear at another place and the backend has no mount namespace. The
/// shell tool asks again with the host's own place.
pub(crate) const NO_MOUNT_NAMESPACE: &str = "without a mount namespace";

/// What the jail adds to an order.
pub(crate) struct Frame {
    pub backend: Backend,
    pub wrapper: Option<PathBuf>,
    pub uid: Option<u32>,
    pub helper: PathBuf,
    pub call_dir: PathBuf,
}

/// Checks the order and makes the plan.
///
/// # Errors
/// The order names a mount, a directory or a variable that no sandbox can give.
pub(crate) fn plan(order: &Order, frame: Frame) -> Result<Plan, SpawnError> {
    let bad = |why: String| Err(SpawnError::BadOrder(why));
    if order.argv.first().is_none_or(String::is_empty) {
        return bad("start a program without a name".to_owned());
    }
    if order.argv.iter().chain(order.env.iter().flat_map(|(n, v)| [n, v])).any(|text| text.contains('\0')) {
        return bad("start a program with a zero byte in its arguments or environment".to_owned());
    }
    if let Some((name, _)) = order.env.iter().find(|(name, _)| !is_variable(name)) {
        return bad(format!("set the variable {name:?}, which the sandbox sets or no program can have"));
    }
    if !plain(&order.cwd) {
        return bad(format!("enter {}, which is no plain absolute path", order.cwd.display()));
    }
    let mut mounts = Vec::with_capacity(order.mounts.len());
    for mount in &order.mounts {
        mounts.push(checked(mount, &frame)?);
    }
    // A mount inside another one has to come after it.
    mounts.sort_by_key(|mount| mount.at.components().count());
    let Frame { backend, wrapper, uid, helper, call_dir } = frame;
    Ok(Plan {
        backend,
        wrapper,
        uid,
        helper,
        call_dir,
        argv: order.argv.clone(),
        cwd: order.cwd.clone(),
        env: order.env.clone(),
        mounts,
        ceilings: Ceilings {
            cpu_s: order.cpu_s,
            memory_mib: order.memory_mib,
            processes: order.processes,
            file_mib: order.file_mib,
        },
        stdin_bytes: u64::try_from(order.stdin.len()).unwrap_or(u64::MAX),
    })
}

fn checked(mount: &SpawnMount, frame: &Frame) -> Result<PlanMount, SpawnError> {
    let shown = mount.from.display();
    let bad = |why: String| Err(SpawnError::BadOrder(why));
    if !fs::canonicalize(&mount.from).is_ok_and(|real| real == mount.from) {
        return bad(format!("mount {shown}, which is not there, or not by its own name"));
    }
    if !plain(&mount.at) || mount.at == Path::new("/") || mount.at == Path::new("/tmp") {
        return bad(format!("mount at {}, which is no plain path below /", mount.at.display()));
    }
    match frame.backend {
        Backend::Bubblewrap => {
            if RESERVED.iter().any(|reserved| mount.at.starts_with(reserved)) {
                return bad(format!("mount at {}, where the sandbox has its own files", mount.at.display()));
            }
        }
        Backend::Landlock | Backend::None => {
            if mount.at != mount.from {
                return bad(format!("{NO_MOUNT_NAMESPACE} {shown} cannot appear at {}", mount.at.display()));
            }
        }
    }
    // The directories of the daemon must not be within reach of what it runs, and never writable.
    for own in [&frame.call_dir, &frame.helper] {
        if mount.writable && own.starts_with(&mount.from) {
            return bad(format!("mount {shown} writable, which holds the daemon's own {}", own.display()));
        }
    }
    let name = mount.from.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if mount.writable && (is_protected(&name) || name == ".git") {
        return bad(format!("mount {shown} writable, which holds files that run later on the host"));
    }
    Ok(PlanMount { from: mount.from.clone(), at: mount.at.clone(), writable: mount.writable })
}

fn plain(path: &Path) -> bool {
    let text = path.to_str().is_some_and(|text| !text.contains('\0'));
    text && path.is_absolute()
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    first && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_') && !OWN_VARIABLES.contains(&name)
}

/// Variables that the sandbox sets itself.
const OWN_VARIABLES: [&str; 6] = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "GIT_CONFIG_SYSTEM"];
/// Places inside the namespaces that a mount must not cover.
const RESERVED: [&str; 12] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/proc", "/dev", "/sys", "/run"];

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
