//! Which directories can be mounted? Names and paths go in, once; descriptors that stay open come out.
//!
//! The only place of this crate that turns a path of the host into a file descriptor. A root that is replaced on disk
//! later is not followed: the descriptor is what was configured.

use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use wasmtime_wasi::{
    FsPerms, OpenMode,
    filesystem::{Descriptor, Dir},
};

use crate::HostError;

/// The named roots of the configuration, opened.
#[derive(Clone, Default)]
pub struct Roots {
    dirs: BTreeMap<String, Arc<Root>>,
}

struct Root {
    read_only: Descriptor,
    read_write: Descriptor,
}

impl Roots {
    /// Opens each named directory.
    ///
    /// # Errors
    /// One of them cannot be opened as a directory.
    pub fn open(named: impl IntoIterator<Item = (String, PathBuf)>) -> Result<Self, HostError> {
        let mut dirs = BTreeMap::new();
        for (name, path) in named {
            let open = || File::open(&path).and_then(|file| must_be_dir(file, &path));
            let (one, two) = open()
                .and_then(|file| Ok((file.try_clone()?, file)))
                .map_err(|e| HostError::Root { name: name.clone(), why: e.to_string() })?;
            let root = Root {
                read_only: Descriptor::Dir(Dir::new(one, FsPerms::ReadOnly, OpenMode::READ, true)),
                read_write: Descriptor::Dir(Dir::new(two, FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE, true)),
            };
            dirs.insert(name, Arc::new(root));
        }
        Ok(Self { dirs })
    }

    /// A descriptor of a root, in this mode.
    pub(crate) fn descriptor(&self, name: &str, mode: chitin_types::FsMode) -> Option<Descriptor> {
        let root = self.dirs.get(name)?;
        Some(match mode {
            chitin_types::FsMode::Ro => root.read_only.clone(),
            chitin_types::FsMode::Rw => root.read_write.clone(),
        })
    }
}

fn must_be_dir(file: File, path: &Path) -> std::io::Result<File> {
    if file.metadata()?.is_dir() {
        Ok(file)
    } else {
        Err(std::io::Error::new(std::io::ErrorKind::NotADirectory, format!("{} is no directory", path.display())))
    }
}
