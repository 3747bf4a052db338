//! How does an author sign? A component and its manifest go in; the bundle lies beside the component.

use std::{
    cmp::Ordering,
    ffi::OsString,
    path::{Path, PathBuf},
};

use chitin_package::{BUNDLE_BYTES_MAX, Bundle, COMPONENT_BYTES_MAX, Manifest, SigningKey, Statement, check_component};
use chitin_types::Digest;

use crate::{
    RegistryError, Said,
    disk::{read_named, write_published_file},
    trust::text_of,
};

/// A bundle that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// Where it lies.
    pub path: PathBuf,
    /// What was signed.
    pub statement: Statement,
    /// The bytes of the file.
    pub bundle: Vec<u8>,
}

/// Signs a component and writes `<file>.bundle.json` beside it. The component's file name must be the manifest's
/// `artifact`, so that a manifest is not signed onto the bytes of another tool.
///
/// # Errors
/// A file is missing, the manifest is refused with its place, the two do not belong together, or the disk fails.
pub fn sign(component: &Path, manifest: &Path, key: &SigningKey) -> Result<Signed, RegistryError> {
    let shown = manifest.display().to_string();
    let text = text_of(&shown, read_present(manifest, MANIFEST_BYTES_MAX)?)?;
    let manifest = Manifest::parse(&shown, &text)?;
    let bytes = read_present(component, COMPONENT_BYTES_MAX)?;
    check_component(&bytes)?;
    if component.file_name().and_then(|name| name.to_str()) != Some(manifest.artifact.as_str()) {
        let message = format!("{shown} describes {:?}, and this file is {}", manifest.artifact, component.display());
        let help = "rename the file, or write its name under artifact";
        return Err(RegistryError::Usage(Said::new(message).help(help)));
    }
    let path = bundle_path(component);
    let statement = Statement::new(&manifest, &bytes, key.public().fingerprint());
    let statement = match previous(&path, &manifest, key) {
        Some(digest) => statement.after(digest),
        None => statement,
    };
    let bundle = Bundle::sign(&statement, key).to_bytes();
    let dir = match component.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        Some(_) | None => Path::new("."),
    };
    write_published_file(dir, &format!("{}.{BUNDLE_SUFFIX}", manifest.artifact), &bundle)?;
    Ok(Signed { path, statement, bundle })
}

/// Where the bundle of a component lies: the same name with `.bundle.json` at its end.
pub(crate) fn bundle_path(component: &Path) -> PathBuf {
    let mut name = OsString::from(component);
    name.push(format!(".{BUNDLE_SUFFIX}"));
    PathBuf::from(name)
}

/// Reads a file that the user named and that must be there.
pub(crate) fn read_present(path: &Path, bytes_max: usize) -> Result<Vec<u8>, RegistryError> {
    read_named(path, bytes_max)?
        .ok_or_else(|| RegistryError::NotFound(Said::new(format!("there is no file {}", path.display()))))
}

// The release before this one, told by the bundle that is about to be replaced. It counts only under the same key, and
// whatever is wrong with it, there is simply no predecessor.
fn previous(path: &Path, manifest: &Manifest, key: &SigningKey) -> Option<Digest> {
    let bundle = Bundle::parse(&read_named(path, BUNDLE_BYTES_MAX).ok()??).ok()?;
    if !key.public().signed(&bundle.signed_bytes(), bundle.signature()) {
        return None;
    }
    let before = Statement::parse(bundle.payload()).ok()?;
    if before.predicate.name != manifest.name {
        return None;
    }
    match before.predicate.version.cmp(&manifest.version) {
        Ordering::Less => Some(before.component),
        Ordering::Equal => before.predicate.previous,
        Ordering::Greater => None,
    }
}

const BUNDLE_SUFFIX: &str = "bundle.json";
/// A manifest has a few KiB.
const MANIFEST_BYTES_MAX: usize = 256 * 1024;
