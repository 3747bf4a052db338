//! How is bubblewrap told what to do? The pieces go in, its command line comes out.
//!
//! It is started by the user that the program gets, never by root: a wrapper of real root leaves knobs of the whole
//! machine writable inside.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use super::{
    paths::{SETTINGS, SYSTEM},
    stage::{EMPTY, Staged},
};
use crate::protect::{Mask, MaskKind};

/// Where the helper lies inside.
pub(super) const HELPER_INSIDE: &str = "/run/chitin/child";

/// The command line up to the program; `masks` are what is locked inside each mount, in the order of the mounts.
pub(super) fn arguments(staged: &Staged, masks: &[Vec<Mask>]) -> Vec<OsString> {
    let mut line = Line(NAMESPACES.iter().map(OsString::from).collect());
    system(&mut line);
    settings(&mut line, &staged.files);
    private(&mut line);
    line.two("--ro-bind", &staged.helper, HELPER_INSIDE);
    let none = Vec::new();
    for (number, mount) in staged.mounts.iter().enumerate() {
        let how = if mount.writable { "--bind" } else { "--ro-bind" };
        line.two(how, &mount.source, &mount.at);
        for mask in masks.get(number).unwrap_or(&none).iter().filter(|_| mount.writable) {
            let at = mount.at.join(&mask.path);
            match mask.kind {
                MaskKind::Pinned => line.two("--bind", mount.source.join(&mask.path), at),
                MaskKind::ReadOnly => line.two("--ro-bind", mount.source.join(&mask.path), at),
                MaskKind::Empty => line.two("--ro-bind", staged.files.join(EMPTY), at),
            }
        }
    }
    line.one("--remount-ro", "/");
    line.0
}

struct Line(Vec<OsString>);

impl Line {
    fn one(&mut self, option: &str, value: impl AsRef<Path>) {
        self.0.extend([option.into(), value.as_ref().as_os_str().to_owned()]);
    }

    fn two(&mut self, option: &str, from: impl AsRef<Path>, to: impl AsRef<Path>) {
        self.0.extend([option.into(), from.as_ref().as_os_str().to_owned(), to.as_ref().as_os_str().to_owned()]);
    }

    fn tmpfs(&mut self, mode: &str, size: u64, at: &str) {
        for word in ["--perms", mode, "--size", &size.to_string(), "--tmpfs", at] {
            self.0.push(word.into());
        }
    }
}

/// Programs and libraries, with the links between them that the host has.
fn system(line: &mut Line) {
    for path in SYSTEM {
        let Ok(about) = fs::symlink_metadata(path) else {
            continue;
        };
        match fs::read_link(path) {
            Ok(target) if about.is_symlink() => line.two("--symlink", target, path),
            _ => line.two("--ro-bind", path, path),
        }
    }
}

fn settings(line: &mut Line, files: &Path) {
    for path in SETTINGS.iter().filter(|path| Path::new(path).exists()) {
        line.two("--ro-bind", path, path);
    }
    for (name, _) in super::paths::SYNTHETIC {
        line.two("--ro-bind", files.join(name), PathBuf::from("/etc").join(name));
    }
}

/// What the program has for itself: processes, devices, temporary files.
fn private(line: &mut Line) {
    line.one("--proc", "/proc");
    line.one("--dev", "/dev");
    line.tmpfs("1777", SHARED_BYTES, "/dev/shm");
    line.one("--remount-ro", "/dev");
    line.tmpfs("1777", TEMPORARY_BYTES, "/tmp");
    line.0.extend(["--perms".into(), "0700".into()]);
    line.one("--dir", "/tmp/home");
    line.one("--dir", "/var");
    line.two("--symlink", "/tmp", "/var/tmp");
}

/// Every namespace, no way to make another, no capability, a session of its own, an end together with the helper. The
/// host name has a dot because git refuses to guess an address without one.
const NAMESPACES: [&str; 18] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--disable-userns",
    "--uid",
    "1000",
    "--gid",
    "1000",
    "--hostname",
    "sandbox.chitin.invalid",
    "--cap-drop",
    "ALL",
    "--new-session",
    "--die-with-parent",
    "--as-pid-1",
];
/// Memory that temporary files may take.
const TEMPORARY_BYTES: u64 = 512 * 1024 * 1024;
/// Memory that shared segments may take.
const SHARED_BYTES: u64 = 256 * 1024 * 1024;
