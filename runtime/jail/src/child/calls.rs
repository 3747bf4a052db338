//! Which system calls does the kernel refuse? Two filters come out: one that answers "not permitted", one that answers
//! "no such call" so that libraries fall back.
//!
//! This is a list of what is denied, not of what is allowed: compilers, interpreters and version control use hundreds of
//! calls, and a list of those would be wrong on the next system. What is on it makes sockets, namespaces or mounts, reads
//! other processes, reaches files without their path, changes the machine, types into a terminal, or leaves a
//! set-user-id file behind.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

/// Rules by the number of the call; a call without conditions is refused whatever its arguments.
type Rules = BTreeMap<libc::c_long, Vec<SeccompRule>>;

/// The filters, in the order in which they are installed.
///
/// # Errors
/// The architecture is unknown or a rule is malformed.
pub(super) fn filters() -> Result<Vec<BpfProgram>, BackendError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let compile = |rules: Rules, errno: libc::c_int| -> Result<BpfProgram, BackendError> {
        let refuse = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
    };
    let mut refused = compile(refused()?, libc::EPERM)?;
    let absent = compile(absent(), libc::ENOSYS)?;
    if matches!(arch, TargetArch::x86_64) {
        refused.splice(0..0, no_x32());
    }
    Ok(vec![refused, absent])
}

fn refused() -> Result<Rules, BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, vec![])).collect();
    let mut when = |call: libc::c_long, rule: Vec<SeccompCondition>| -> Result<(), BackendError> {
        rules.entry(call).or_default().push(SeccompRule::new(rule)?);
        Ok(())
    };
    // A pair of connected sockets is how runtimes talk to their own children; any other socket could leave.
    when(libc::SYS_socketpair, vec![arg(0, SeccompCmpOp::Ne, libc::AF_UNIX.unsigned_abs().into())?])?;
    for flag in NAMESPACE_FLAGS {
        when(libc::SYS_clone, vec![bits(0, flag)?])?;
    }
    for request in [libc::TIOCSTI, TIOCLINUX] {
        when(libc::SYS_ioctl, vec![arg(1, SeccompCmpOp::Eq, request)?])?;
    }
    // Limits and priorities of itself are a program's own matter, those of others are not.
    when(libc::SYS_prlimit64, vec![arg(0, SeccompCmpOp::Ne, 0)?])?;
    for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
        when(call, vec![arg(1, SeccompCmpOp::Ne, 0)?])?;
    }
    when(libc::SYS_setpriority, vec![arg(0, SeccompCmpOp::Eq, libc::PRIO_USER.into())?])?;
    // A set-user-id file in a workspace would run later as whoever owns the workspace.
    for bit in SET_ID_BITS {
        for (call, mode) in CHANGES_MODE {
            when(call, vec![bits(mode, bit)?])?;
        }
        for (call, flags, mode) in CREATES {
            for create in [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY] {
                when(call, vec![bits(flags, create.unsigned_abs().into())?, bits(mode, bit)?])?;
            }
        }
    }
    Ok(rules)
}

fn absent() -> Rules {
    ABSENT.iter().map(|call| (*call, vec![])).collect()
}

fn arg(index: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
}

fn bits(index: u8, mask: u64) -> Result<SeccompCondition, BackendError> {
    arg(index, SeccompCmpOp::MaskedEq(mask), mask)
}

/// Answers "no such call" to the second numbering of x86-64 calls, which the rules below would not match.
fn no_x32() -> [sock_filter; 3] {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32_BIT: u32 = 0x4000_0000;
    const ERRNO: u32 = 0x0005_0000;
    [
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: X32_BIT },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: ERRNO | libc::ENOSYS.unsigned_abs() },
    ]
}

/// Flags of `clone` that make a namespace.
const NAMESPACE_FLAGS: [u64; 7] = [
    libc::CLONE_NEWNS as u64,
    libc::CLONE_NEWCGROUP as u64,
    libc::CLONE_NEWUTS as u64,
    libc::CLONE_NEWIPC as u64,
    libc::CLONE_NEWUSER as u64,
    libc::CLONE_NEWPID as u64,
    libc::CLONE_NEWNET as u64,
];
/// Runs a command of the Linux console, among them one that types.
const TIOCLINUX: u64 = 0x541C;
const SET_ID_BITS: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];

/// Calls that set a mode, with the place of the mode among their arguments.
#[cfg(target_arch = "x86_64")]
const CHANGES_MODE: [(libc::c_long, u8); 7] = [
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_creat, 1),
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];
#[cfg(not(target_arch = "x86_64"))]
const CHANGES_MODE: [(libc::c_long, u8); 4] =
    [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (libc::SYS_fchmodat2, 2), (libc::SYS_mknodat, 2)];
/// Calls that may create a file: the places of flags and mode.
#[cfg(target_arch = "x86_64")]
const CREATES: [(libc::c_long, u8, u8); 2] = [(libc::SYS_open, 1, 2), (libc::SYS_openat, 2, 3)];
#[cfg(not(target_arch = "x86_64"))]
const CREATES: [(libc::c_long, u8, u8); 1] = [(libc::SYS_openat, 2, 3)];

/// Calls for which every library has a way without them. `openat2` and `clone3` take their flags through memory, which a
/// filter cannot read; a ring of `io_uring` makes sockets without a socket call; System V objects are shared with the
/// whole machine where there is no namespace for them.
const ABSENT: [libc::c_long; 9] = [
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
];

/// Calls that no program of a workspace needs.
const REFUSED: &[libc::c_long] = &[
    // The network; Landlock alone leaves MPTCP, UDP, raw and local sockets open.
    libc::SYS_socket,
    // Mounts and roots.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // Namespaces.
    libc::SYS_unshare,
    libc::SYS_setns,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // Files without their path.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // The kernel and the machine.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_fit_into_what_the_kernel_takes() {
        let filters = filters().expect("compiles");
        assert_eq!(filters.len(), 2);
        // The kernel's own limit on one program.
        assert!(filters.iter().all(|program| (1..4_096).contains(&program.len())));
    }

    #[test]
    fn no_call_is_refused_in_part_and_absent_too() {
        let refused = refused().expect("rules");
        assert!(ABSENT.iter().all(|call| !refused.contains_key(call)));
        // A call on the list without conditions must not have got any: rules without conditions match always.
        assert!(REFUSED.iter().all(|call| refused.get(call).is_some_and(Vec::is_empty)));
    }
}
