//! Which files may a guest use? Those below the named roots that its grant mounts.
//!
//! Grant: `[[fs]]`. Linked: `wasi:filesystem`, over descriptors of roots opened once. For one call: the guest's path of
//! each open directory. Every operation that takes a path is decided on the guest's path first; one that changes
//! something is in the audit, durably, before the real implementation acts. The confinement itself is cap-std's.
//!
//! The guest also sees `/`, which holds nothing and refuses everything: without it a path outside of the mounts would be
//! refused inside the guest, and nobody could say which grant was missing.

use std::{
    collections::HashMap,
    fs::File as StdFile,
    sync::{Arc, OnceLock},
};

use chitin_policy::{Decision, could_be_root};
use chitin_types::{Denial, FsMode};
use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::{
    FsPerms, OpenMode,
    filesystem::{Descriptor, File, WasiFilesystemCtxView},
    p2::{
        DynInputStream, DynOutputStream, FsError, FsResult, ReaddirIterator,
        bindings::filesystem::{
            preopens,
            types::{self, ErrorCode, HostDescriptor, HostDirectoryEntryStream},
        },
    },
};

use super::fs_paths::{join, parent};
use crate::{
    HostError, Roots,
    state::{CallContext, CallState},
};

/// The marker under which the linker finds [`FilesView`].
pub struct FilesData;

impl HasData for FilesData {
    type Data<'a> = FilesView<'a>;
}

/// What a host function works on.
pub struct FilesView<'a> {
    real: WasiFilesystemCtxView<'a>,
    files: &'a mut Files,
    call: &'a Arc<CallContext>,
}

/// The view of a store's state.
pub fn files(state: &mut CallState) -> FilesView<'_> {
    let real = WasiFilesystemCtxView { ctx: state.wasi.filesystem(), table: &mut state.table };
    FilesView { real, files: &mut state.files, call: &state.call }
}

/// What one call knows of its files.
#[derive(Default)]
pub struct Files {
    /// Guest path and descriptor of each mount.
    mounts: Vec<(String, Descriptor)>,
    /// Guest path of each open descriptor, by its number in the table.
    paths: HashMap<u32, String>,
}

impl Files {
    /// The mounts that the grants allow, as descriptors of the opened roots.
    pub(crate) fn new(call: &CallContext, roots: &Roots) -> Result<Self, HostError> {
        let mut mounts = Vec::new();
        for mount in call.grants.mounts() {
            let descriptor = roots.descriptor(&mount.root, mount.mode).ok_or_else(|| HostError::Root {
                name: mount.root.clone(),
                why: "it is granted, but not named under [roots] in the configuration".to_owned(),
            })?;
            mounts.push((mount.at, descriptor));
        }
        Ok(Self { mounts, paths: HashMap::new() })
    }
}

type Fd = Resource<Descriptor>;

impl FilesView<'_> {
    /// Decides about `path` below `fd`. On a denial the guest sees `not-permitted`, and the call remembers the rule.
    fn decide(&mut self, fd: &Fd, path: &str, mode: FsMode, directory: Option<&str>) -> FsResult<(String, String)> {
        self.call.charge().map_err(FsError::trap)?;
        let base = self.files.paths.get(&fd.rep()).ok_or(ErrorCode::BadDescriptor)?;
        let full = join(base, path);
        match self.call.grants.fs(&full, mode) {
            Decision::Allow { rule } => Ok((rule, full)),
            Decision::Deny(denial) => {
                let wanted = directory.map_or_else(|| parent(&full).to_owned(), |_| full.clone());
                let wanted = if wanted == "/" { full } else { wanted };
                let offered = denial.help.is_some() && could_be_root(&wanted);
                let help = offered.then(|| self.call.grants.fs_help(&wanted, mode));
                self.call.deny(Denial { help, ..denial });
                Err(ErrorCode::NotPermitted.into())
            }
        }
    }

    fn may_look(&mut self, fd: &Fd, path: &str) -> FsResult<()> {
        self.decide(fd, path, FsMode::Ro, None).map(|_| ())
    }

    /// Decides about a change, and waits until the decision is durable.
    async fn may_change(&mut self, fd: &Fd, path: &str, verb: &str) -> FsResult<()> {
        let (rule, full) = self.decide(fd, path, FsMode::Rw, None)?;
        match self.call.effect(&rule, serde_json::json!({ "file": verb, "path": full })).await {
            Ok(()) => Ok(()),
            Err(denial) => {
                self.call.deny(denial);
                Err(ErrorCode::Io.into())
            }
        }
    }

    /// Opening a pipe blocks until somebody opens its other end, and a device is no file: neither is ever opened.
    async fn refuse_special(&mut self, fd: &Fd, follow: types::PathFlags, path: &str) -> FsResult<()> {
        use types::DescriptorType as T;
        let Ok(found) = self.real.stat_at(Fd::new_borrow(fd.rep()), follow, path.to_owned()).await else {
            // It is not there yet, or the open itself says why it cannot be used.
            return Ok(());
        };
        match found.type_ {
            T::RegularFile | T::Directory | T::SymbolicLink => Ok(()),
            T::Unknown | T::BlockDevice | T::CharacterDevice | T::Fifo | T::Socket => {
                let reason = format!("{path} is a pipe, a socket or a device");
                self.call.deny(Denial { rule: "fs:special".to_owned(), reason, help: None });
                Err(ErrorCode::NotPermitted.into())
            }
        }
    }

    /// A refusal by cap-std (a link that leads out, for one) is a denial too, with a rule of its own.
    fn noted<T>(&mut self, fd: &Fd, path: &str, result: FsResult<T>) -> FsResult<T> {
        if let Err(error) = &result
            && error.downcast_ref() == Some(&ErrorCode::NotPermitted)
        {
            let full = self.files.paths.get(&fd.rep()).map(|base| join(base, path)).unwrap_or_default();
            let reason = format!("{full} leads out of its directory or may not be used in this way");
            self.call.deny(Denial { rule: "fs:confined".to_owned(), reason, help: None });
        }
        result
    }

    fn charge(&self) -> FsResult<()> {
        self.call.charge().map_err(FsError::trap)
    }
}

impl preopens::Host for FilesView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        self.call.charge()?;
        let mut given = Vec::new();
        let mounts = self.files.mounts.clone();
        for (at, descriptor) in mounts.into_iter().chain(refusing_root()) {
            let fd = self.real.table.push(descriptor)?;
            self.files.paths.insert(fd.rep(), at.clone());
            given.push((fd, at));
        }
        Ok(given)
    }
}

/// `/` for the guest: a descriptor of the null device, so that an operation that is not refused here has nothing to
/// reach. Left out when even that cannot be opened.
fn refusing_root() -> Option<(String, Descriptor)> {
    static NULL: OnceLock<Option<Descriptor>> = OnceLock::new();
    let null = NULL.get_or_init(|| {
        let file = StdFile::open("/dev/null").ok()?;
        Some(Descriptor::File(File::new(file, FsPerms::ReadOnly, OpenMode::READ, true)))
    });
    null.clone().map(|descriptor| ("/".to_owned(), descriptor))
}

impl types::Host for FilesView<'_> {
    fn convert_error_code(&mut self, err: FsError) -> wasmtime::Result<ErrorCode> {
        self.real.convert_error_code(err)
    }

    fn filesystem_error_code(&mut self, err: Resource<wasmtime::Error>) -> wasmtime::Result<Option<ErrorCode>> {
        self.real.filesystem_error_code(err)
    }
}

impl HostDescriptor for FilesView<'_> {
    // Operations on paths: decided here, then done.

    async fn open_at(
        &mut self,
        fd: Fd,
        follow: types::PathFlags,
        path: String,
        how: types::OpenFlags,
        flags: types::DescriptorFlags,
    ) -> FsResult<Fd> {
        use types::{DescriptorFlags as D, OpenFlags as O};
        // A directory opened for changing its entries changes nothing by being opened; each change is decided later.
        let changes = how.intersects(O::CREATE | O::TRUNCATE | O::EXCLUSIVE) || flags.contains(D::WRITE);
        if changes {
            self.may_change(&fd, &path, "open for writing").await?;
        } else {
            self.decide(&fd, &path, FsMode::Ro, how.contains(O::DIRECTORY).then_some(path.as_str()))?;
        }
        self.refuse_special(&fd, follow, &path).await?;
        let base = self.files.paths.get(&fd.rep()).cloned().unwrap_or_default();
        let from = Fd::new_borrow(fd.rep());
        let opened = self.real.open_at(fd, follow, path.clone(), how, flags).await;
        let opened = self.noted(&from, &path, opened)?;
        self.files.paths.insert(opened.rep(), join(&base, &path));
        Ok(opened)
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.may_change(&fd, &path, "create directory").await?;
        let from = Fd::new_borrow(fd.rep());
        let done = self.real.create_directory_at(fd, path.clone()).await;
        self.noted(&from, &path, done)
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.may_change(&fd, &path, "remove directory").await?;
        let from = Fd::new_borrow(fd.rep());
        let done = self.real.remove_directory_at(fd, path.clone()).await;
        self.noted(&from, &path, done)
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.may_change(&fd, &path, "remove").await?;
        let from = Fd::new_borrow(fd.rep());
        let done = self.real.unlink_file_at(fd, path.clone()).await;
        self.noted(&from, &path, done)
    }

    async fn rename_at(&mut self, fd: Fd, old: String, to: Fd, new: String) -> FsResult<()> {
        self.may_change(&fd, &old, "rename from").await?;
        self.may_change(&to, &new, "rename to").await?;
        let from = Fd::new_borrow(to.rep());
        let done = self.real.rename_at(fd, old, to, new.clone()).await;
        self.noted(&from, &new, done)
    }

    async fn link_at(&mut self, fd: Fd, follow: types::PathFlags, old: String, to: Fd, new: String) -> FsResult<()> {
        // A hard link from a read-only mount would make its file writable by the other name.
        self.may_change(&fd, &old, "link from").await?;
        self.may_change(&to, &new, "link to").await?;
        self.real.link_at(fd, follow, old, to, new).await
    }

    async fn symlink_at(&mut self, fd: Fd, target: String, path: String) -> FsResult<()> {
        self.may_change(&fd, &path, "create link").await?;
        let from = Fd::new_borrow(fd.rep());
        let done = self.real.symlink_at(fd, target, path.clone()).await;
        self.noted(&from, &path, done)
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        follow: types::PathFlags,
        path: String,
        access: types::NewTimestamp,
        modification: types::NewTimestamp,
    ) -> FsResult<()> {
        self.may_change(&fd, &path, "set times").await?;
        self.real.set_times_at(fd, follow, path, access, modification).await
    }

    async fn stat_at(&mut self, fd: Fd, follow: types::PathFlags, path: String) -> FsResult<types::DescriptorStat> {
        self.may_look(&fd, &path)?;
        let from = Fd::new_borrow(fd.rep());
        let done = self.real.stat_at(fd, follow, path.clone()).await;
        self.noted(&from, &path, done)
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        self.may_look(&fd, &path)?;
        self.real.readlink_at(fd, path).await
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Fd,
        follow: types::PathFlags,
        path: String,
    ) -> FsResult<types::MetadataHashValue> {
        self.may_look(&fd, &path)?;
        self.real.metadata_hash_at(fd, follow, path).await
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<ReaddirIterator>> {
        self.decide(&fd, "", FsMode::Ro, Some(""))?;
        self.real.read_directory(fd).await
    }

    // Operations on an open file: decided when it was opened, and bounded by the mode of its descriptor.

    async fn get_type(&mut self, fd: Fd) -> FsResult<types::DescriptorType> {
        if self.files.paths.get(&fd.rep()).is_some_and(|path| path == "/") {
            return Ok(types::DescriptorType::Directory);
        }
        self.real.get_type(fd).await
    }

    async fn get_flags(&mut self, fd: Fd) -> FsResult<types::DescriptorFlags> {
        self.real.get_flags(fd).await
    }

    async fn read(&mut self, fd: Fd, len: u64, offset: u64) -> FsResult<(Vec<u8>, bool)> {
        self.charge()?;
        self.real.read(fd, len, offset).await
    }

    async fn write(&mut self, fd: Fd, bytes: Vec<u8>, offset: u64) -> FsResult<u64> {
        self.charge()?;
        self.real.write(fd, bytes, offset).await
    }

    fn read_via_stream(&mut self, fd: Fd, offset: u64) -> FsResult<Resource<DynInputStream>> {
        self.charge()?;
        self.real.read_via_stream(fd, offset)
    }

    fn write_via_stream(&mut self, fd: Fd, offset: u64) -> FsResult<Resource<DynOutputStream>> {
        self.charge()?;
        self.real.write_via_stream(fd, offset)
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        self.charge()?;
        self.real.append_via_stream(fd)
    }

    async fn set_size(&mut self, fd: Fd, size: u64) -> FsResult<()> {
        self.charge()?;
        self.real.set_size(fd, size).await
    }

    async fn set_times(&mut self, fd: Fd, access: types::NewTimestamp, modif: types::NewTimestamp) -> FsResult<()> {
        self.may_change(&fd, "", "set times").await?;
        self.real.set_times(fd, access, modif).await
    }

    async fn advise(&mut self, fd: Fd, offset: u64, len: u64, advice: types::Advice) -> FsResult<()> {
        self.charge()?;
        self.real.advise(fd, offset, len, advice).await
    }

    async fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        self.charge()?;
        self.real.sync_data(fd).await
    }

    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        self.charge()?;
        self.real.sync(fd).await
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<types::DescriptorStat> {
        self.charge()?;
        self.real.stat(fd).await
    }

    async fn is_same_object(&mut self, a: Fd, b: Fd) -> wasmtime::Result<bool> {
        self.real.is_same_object(a, b).await
    }

    async fn metadata_hash(&mut self, fd: Fd) -> FsResult<types::MetadataHashValue> {
        self.charge()?;
        self.real.metadata_hash(fd).await
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        self.files.paths.remove(&fd.rep());
        HostDescriptor::drop(&mut self.real, fd)
    }
}

impl HostDirectoryEntryStream for FilesView<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<ReaddirIterator>,
    ) -> FsResult<Option<types::DirectoryEntry>> {
        self.real.read_directory_entry(stream).await
    }

    fn drop(&mut self, stream: Resource<ReaddirIterator>) -> wasmtime::Result<()> {
        HostDirectoryEntryStream::drop(&mut self.real, stream)
    }
}
