//! Where do the pieces of the sandbox lie before the program is started? Mounts and private files go in, paths come out
//! at which the user who will start it can reach them.
//!
//! An ordinary daemon leaves everything where it is. A root daemon drops the user before anything else, and that user may
//! not even enter the daemon's home; so it builds a mount namespace of its own first, in which each granted directory is
//! attached where the dropped user reaches it, and shows the owner's files as that user's ([`super::shift`]).

use std::{
    fs::{self, File, Permissions},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::{MetadataExt, PermissionsExt, chown},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, AtFlags, CWD, accessat},
    mount::{
        MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount, open_tree,
    },
};

use super::{paths::SYNTHETIC, shift};
use crate::{
    plan::{End, Plan, PlanMount},
    raw::{self, Dress},
};

/// The pieces, where whoever starts the program finds them.
pub(super) struct Staged {
    pub mounts: Vec<StagedMount>,
    pub helper: PathBuf,
    /// Synthetic settings, and an empty directory.
    pub files: PathBuf,
    pub notices: Vec<String>,
}

/// One mount.
#[derive(Debug)]
pub(super) struct StagedMount {
    pub source: PathBuf,
    pub at: PathBuf,
    pub writable: bool,
}

/// A mount that is made and not attached yet.
struct Tree {
    fd: OwnedFd,
    at: PathBuf,
    writable: bool,
    is_dir: bool,
}

/// Makes the pieces for bubblewrap. `opened` are the sources of the mounts, in order.
///
/// # Errors
/// A mount cannot be made, or the user who will start the program cannot reach it.
pub(super) fn for_bubblewrap(plan: &Plan, opened: &[File]) -> Result<Staged, End> {
    let system = |e: io::Error| End::System(format!("prepare the sandbox: {e}"));
    let mut notices = Vec::new();
    let Some(uid) = plan.uid else {
        let files = plan.call_dir.join("etc");
        write_files(&files).map_err(system)?;
        let mounts = plan.mounts.iter().map(as_it_is).collect();
        return Ok(Staged { mounts, helper: plan.helper.clone(), files, notices });
    };
    // What is opened belongs to the namespace that it was opened in, so it is copied before that is left.
    let trees = trees(plan, opened, uid, &mut notices)?;
    let helper = File::open(&plan.helper).map_err(system)?;
    let helper = tree(&helper, uid, Dress::ReadOnly).map_err(system)?.0;
    own_mounts().map_err(system)?;
    // In this namespace alone `/tmp` is ours: it is there on every system and everybody may enter it.
    cover(Path::new(STAGE)).map_err(system)?;
    let stage = Path::new(STAGE);
    let files = stage.join("etc");
    write_files(&files).map_err(system)?;
    let child = stage.join("child");
    File::create(&child).map_err(system)?;
    attach(&helper, &child).map_err(system)?;
    let mut mounts = Vec::new();
    for (number, tree) in trees.into_iter().enumerate() {
        let source = stage.join(number.to_string());
        make_point(&source, tree.is_dir).map_err(system)?;
        attach(&tree.fd, &source).map_err(system)?;
        mounts.push(StagedMount { source, at: tree.at, writable: tree.writable });
    }
    Ok(Staged { mounts, helper: child, files, notices })
}

/// Makes the pieces for a program that sees the host's own paths, each mount at its place.
///
/// # Errors
/// As for [`for_bubblewrap`].
pub(super) fn in_place(plan: &Plan, opened: &[File]) -> Result<Staged, End> {
    let system = |e: io::Error| End::System(format!("prepare the sandbox: {e}"));
    let mut notices = Vec::new();
    let files = plan.call_dir.join("etc");
    write_files(&files).map_err(system)?;
    for name in ["home", "tmp"] {
        make_private(&plan.call_dir.join(name), plan.uid).map_err(system)?;
    }
    let staged = |mounts, notices| Staged { mounts, helper: plan.helper.clone(), files, notices };
    let Some(uid) = plan.uid else {
        return Ok(staged(plan.mounts.iter().map(as_it_is).collect(), notices));
    };
    fs::set_permissions(&plan.call_dir, Permissions::from_mode(0o755)).map_err(system)?;
    let mut trees = trees(plan, opened, uid, &mut notices)?;
    let call_dir = File::open(&plan.call_dir).map_err(system)?;
    let fd = clone_of(&call_dir)
        .map_err(|e| End::System(format!("mount as root ({e}); run the daemon as an ordinary user instead")))?;
    raw::dress_mount(fd.as_fd(), Dress::Writable, None).map_err(system)?;
    trees.push(Tree { fd, at: plan.call_dir.clone(), writable: true, is_dir: true });
    own_mounts().map_err(system)?;
    hide_processes().map_err(system)?;
    let mut mounts = Vec::new();
    for tree in trees {
        make_reachable(&tree.at, tree.is_dir).map_err(system)?;
        attach(&tree.fd, &tree.at).map_err(system)?;
        if tree.at != plan.call_dir {
            mounts.push(StagedMount { source: tree.at.clone(), at: tree.at, writable: tree.writable });
        }
    }
    Ok(staged(mounts, notices))
}

fn own_mounts() -> io::Result<()> {
    raw::own_mounts()?;
    // Nothing that is mounted here is to appear outside.
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

fn trees(plan: &Plan, opened: &[File], uid: u32, notices: &mut Vec<String>) -> Result<Vec<Tree>, End> {
    let trees = plan.mounts.iter().zip(opened).map(|(mount, source)| {
        let shown = mount.from.display();
        let wish = if mount.writable { Dress::Writable } else { Dress::ReadOnly };
        let (fd, shifted) = tree(source, uid, wish).map_err(|e| End::System(format!("mount {shown}: {e}")))?;
        let about = source.metadata().map_err(|e| End::System(format!("mount {shown}: {e}")))?;
        let mode = about.mode();
        let mut writable = mount.writable;
        if shifted == Shifted::No {
            let (readable, is_writable) = if about.is_dir() { (0o005, 0o007) } else { (0o004, 0o006) };
            if mode & readable != readable {
                return Err(End::BadOrder(format!(
                    "mount {shown}: its file system cannot show it to another user, and only its owner may read it; \
                     this would allow it: chmod -R o+rX {shown}"
                )));
            }
            if writable && mode & is_writable != is_writable {
                writable = false;
                notices.push(read_only(mount, "chmod -R o+rwX"));
            }
        }
        Ok(Tree { fd, at: mount.at.clone(), writable, is_dir: about.is_dir() })
    });
    trees.collect()
}

/// Whether a mount shows its owner's files as the dropped user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shifted {
    Yes,
    No,
}

/// A detached copy of what is opened, with shifted owners where its file system can do that.
fn tree(source: &File, uid: u32, dress: Dress) -> io::Result<(OwnedFd, Shifted)> {
    let about = source.metadata()?;
    let owner = shift::Owner { user: about.uid(), group: about.gid() };
    let fd = clone_of(source)?;
    let shifted =
        shift::namespace(owner, uid).and_then(|users| raw::dress_mount(fd.as_fd(), dress, Some(users.as_fd())));
    if shifted.is_ok() {
        return Ok((fd, Shifted::Yes));
    }
    raw::dress_mount(fd.as_fd(), dress, None)?;
    Ok((fd, Shifted::No))
}

fn clone_of(source: &File) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(open_tree(source, "", flags)?)
}

fn attach(tree: &OwnedFd, at: &Path) -> io::Result<()> {
    Ok(move_mount(tree, "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// A mount of an ordinary daemon: the program runs as the same user, so its rights are the daemon's.
fn as_it_is(mount: &PlanMount) -> StagedMount {
    StagedMount { source: mount.from.clone(), at: mount.at.clone(), writable: mount.writable }
}

/// Takes back the wish to write where this process itself cannot: another owner, or a file system that is read-only.
pub(super) fn only_what_can_be_written(plan: &Plan, notices: &mut Vec<String>) -> Plan {
    let mut plan = plan.clone();
    for mount in plan.mounts.iter_mut().filter(|mount| mount.writable) {
        if accessat(CWD, &mount.from, Access::WRITE_OK, AtFlags::EACCESS).is_err() {
            mount.writable = false;
            notices.push(read_only(mount, "chmod -R u+rwX"));
        }
    }
    plan
}

fn read_only(mount: &PlanMount, command: &str) -> String {
    let from = mount.from.display();
    format!("{from} is read-only for programs, whose user may not write it; this would change it: {command} {from}")
}

/// A file system in memory over a directory, which everybody may enter.
fn cover(at: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("chitin", at, "tmpfs", flags, c"mode=755,size=16m")?)
}

/// Makes sure that anybody can walk to `at`: the first directory above it that only its owner may enter is covered, and
/// the way below it is made again inside the cover, in this namespace alone.
fn make_reachable(at: &Path, is_dir: bool) -> io::Result<()> {
    let mut above: Vec<&Path> = at.ancestors().skip(1).collect();
    above.reverse();
    for dir in above {
        match fs::metadata(dir) {
            Ok(about) if about.mode() & 0o001 == 0 => {
                cover(dir)?;
                break;
            }
            Ok(_) => {}
            // An earlier mount covered what is above it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => return Err(error),
        }
    }
    if at.exists() {
        return Ok(());
    }
    let mut made = PathBuf::new();
    for part in at.parent().unwrap_or(Path::new("/")).components() {
        made.push(part);
        if !made.exists() {
            make_point(&made, true)?;
        }
    }
    make_point(at, is_dir)
}

/// Somewhere to mount onto.
fn make_point(at: &Path, is_dir: bool) -> io::Result<()> {
    if is_dir {
        fs::create_dir(at)?;
        fs::set_permissions(at, Permissions::from_mode(0o755))
    } else {
        File::create(at).map(drop)
    }
}

/// Shows the dropped user its own processes only.
fn hide_processes() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount("proc", "/proc", "proc", flags, c"hidepid=2")?)
}

fn make_private(dir: &Path, uid: Option<u32>) -> io::Result<()> {
    fs::create_dir(dir)?;
    fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    if uid.is_some() { chown(dir, uid, uid) } else { Ok(()) }
}

/// Settings that stand for the host's own, readable by everybody.
fn write_files(dir: &Path) -> io::Result<()> {
    make_point(dir, true)?;
    make_point(&dir.join(EMPTY), true)?;
    for (name, text) in SYNTHETIC {
        let path = dir.join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, Permissions::from_mode(0o644))?;
    }
    Ok(())
}

/// The empty directory among the synthetic files.
pub(super) const EMPTY: &str = "empty";
/// Where a root daemon's namespace holds the pieces.
const STAGE: &str = "/tmp";
