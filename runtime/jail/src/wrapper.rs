//! Can this wrapper be trusted? A path goes in, yes or the reason against it comes out.
//!
//! A wrapper that somebody else may change would run as the daemon's user before any sandbox exists.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Finds bubblewrap at the places where systems install it; never through PATH.
///
/// # Errors
/// None of them can be trusted or exists; the text says why.
pub(crate) fn find(places: &[PathBuf]) -> Result<PathBuf, String> {
    let mut reasons = Vec::new();
    for place in places {
        match trusted(place) {
            Ok(path) => return Ok(path),
            Err(why) => reasons.push(why),
        }
    }
    Err(format!("{} (Debian package bubblewrap)", reasons.join("; ")))
}

/// Follows the path to its file and checks it and every directory above it.
fn trusted(place: &Path) -> Result<PathBuf, String> {
    let shown = place.display();
    if !place.is_absolute() {
        return Err(format!("{shown} is not an absolute path"));
    }
    let real = fs::canonicalize(place).map_err(|_| format!("{shown} is not there"))?;
    let about = fs::metadata(&real).map_err(|e| format!("{shown}: {e}"))?;
    if !about.is_file() {
        return Err(format!("{shown} is no file"));
    }
    if about.permissions().mode() & SET_ID != 0 {
        return Err(format!("{shown} runs as its owner (set-user-id), which cannot disable user namespaces"));
    }
    for path in real.ancestors() {
        let about = fs::metadata(path).map_err(|e| format!("{}: {e}", path.display()))?;
        if about.uid() != 0 {
            return Err(format!("{} does not belong to root", path.display()));
        }
        // A sticky directory such as /tmp still lets anybody add a sibling, so it counts as writable.
        if about.permissions().mode() & OTHERS_WRITE != 0 {
            return Err(format!("{} can be changed by others than root", path.display()));
        }
    }
    Ok(real)
}

/// Where systems install bubblewrap.
pub(crate) const PLACES: [&str; 2] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"];
const SET_ID: u32 = 0o6000;
const OTHERS_WRITE: u32 = 0o022;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(place: &str, expected: Result<&str, &str>) {
        let got = find(&[PathBuf::from(place)]);
        match expected {
            Ok(path) => assert_eq!(got, Ok(PathBuf::from(path))),
            Err(part) => assert!(got.clone().is_err_and(|why| why.contains(part)), "{place}: {got:?}"),
        }
    }

    #[test]
    fn a_wrapper_must_be_the_systems_own() {
        check("/usr/bin/env", Ok("/usr/bin/env"));
        check("bwrap", Err("not an absolute path"));
        check("/nonexistent/bwrap", Err("not there"));
        check("/usr/bin", Err("no file"));
    }

    #[test]
    fn a_copy_in_a_place_that_others_write_to_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let copy = dir.path().join("bwrap");
        fs::write(&copy, "#!/bin/sh\n").expect("written");
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).expect("set");
        let shown = copy.to_string_lossy().into_owned();
        let why = find(&[copy]).expect_err("refused");
        assert!(why.contains("changed by others") || why.contains("does not belong to root"), "{shown}: {why}");
    }
}
