//! What an error of the file system means for the model: a kind, a stable code, and a sentence that names the path.

use std::io::{Error, ErrorKind};

use chitin_sdk::{Failure, FailureKind};

use crate::path::GuestPath;
use crate::roots;

/// `doing` completes "cannot …", for example "read".
pub(crate) fn failure(error: &Error, doing: &str, path: &GuestPath) -> Failure {
    let (kind, code, reason) = meaning(error);
    // Outside of every root a host may say "not found", which would send the model looking elsewhere, or refuse without
    // saying what there is. It was asked all the same: a refusal of its own comes with the grant that would allow it.
    if matches!(kind, FailureKind::NotFound | FailureKind::Denied) && !roots::hold(path) {
        return not_granted(path);
    }
    let reason = reason.map_or_else(|| error.to_string(), str::to_owned);
    Failure::new(kind, format!("cannot {doing} `{path}`: {reason}")).with_code(code)
}

pub(crate) fn is_a_directory(doing: &str, path: &GuestPath) -> Failure {
    failure(&Error::from(ErrorKind::IsADirectory), doing, path)
}

pub(crate) fn not_utf8(doing: &str, path: &GuestPath) -> Failure {
    Failure::invalid_input(format!("cannot {doing} `{path}`: it is not UTF-8 text")).with_code("not-utf8")
}

pub(crate) fn too_large(doing: &str, path: &GuestPath, bytes_max: u64) -> Failure {
    Failure::limited(format!("cannot {doing} `{path}`: it is longer than {bytes_max} bytes"))
        .with_code("file-too-large")
}

fn not_granted(path: &GuestPath) -> Failure {
    let granted = roots::granted();
    let reason = if granted.is_empty() {
        "no directory is granted to this tool".to_owned()
    } else {
        format!("it is in none of the directories granted to this tool ({})", granted.join(", "))
    };
    Failure::denied(format!("cannot reach `{path}`: {reason}")).with_code("path-not-granted")
}

fn meaning(error: &Error) -> (FailureKind, &'static str, Option<&'static str>) {
    use FailureKind as Kind;
    match error.kind() {
        ErrorKind::NotFound => (Kind::NotFound, "not-found", Some("it does not exist")),
        ErrorKind::PermissionDenied => (Kind::Denied, "permission-denied", Some("access is denied")),
        ErrorKind::ReadOnlyFilesystem => (Kind::Denied, "read-only", Some("it may only be read")),
        ErrorKind::IsADirectory => (Kind::InvalidInput, "is-a-directory", Some("it is a directory")),
        ErrorKind::NotADirectory => {
            (Kind::InvalidInput, "not-a-directory", Some("it, or something above it, is not a directory"))
        }
        ErrorKind::AlreadyExists => (Kind::Conflict, "already-exists", Some("it exists already")),
        ErrorKind::InvalidInput | ErrorKind::InvalidFilename => {
            (Kind::InvalidInput, "bad-path", Some("the path is not valid"))
        }
        ErrorKind::StorageFull => (Kind::Limited, "no-space", Some("there is no space left")),
        ErrorKind::QuotaExceeded => (Kind::Limited, "quota-exceeded", Some("the quota of this tool is used up")),
        ErrorKind::FileTooLarge => (Kind::Limited, "file-too-large", Some("it would grow too large")),
        ErrorKind::ResourceBusy | ErrorKind::ExecutableFileBusy => (Kind::Conflict, "busy", Some("it is in use")),
        ErrorKind::OutOfMemory => (Kind::Limited, "out-of-memory", None),
        // Not a named kind of the library: the WASI code for a right that the directory was opened without.
        _ if error.raw_os_error() == Some(NOT_CAPABLE) => (Kind::Denied, "permission-denied", Some("access is denied")),
        _ if error.raw_os_error() == Some(TOO_MANY_LINKS) => (Kind::InvalidInput, "too-many-links", None),
        _ => (Kind::Other, "io-error", None),
    }
}

/// `ENOTCAPABLE` of the WASI libc.
const NOT_CAPABLE: i32 = 76;
/// `ELOOP` of the WASI libc.
const TOO_MANY_LINKS: i32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: ErrorKind, expected: &str) {
        let path = GuestPath::parse("/tmp").expect("a path");
        let said = failure(&Error::from(kind), "read", &path);
        assert_eq!(format!("{} {} {}", said.kind, said.code.unwrap_or_default(), said.message), expected);
    }

    #[test]
    fn errors_have_stable_codes() {
        check(ErrorKind::NotFound, "not-found not-found cannot read `/tmp`: it does not exist");
        check(ErrorKind::PermissionDenied, "denied permission-denied cannot read `/tmp`: access is denied");
        check(ErrorKind::IsADirectory, "invalid-input is-a-directory cannot read `/tmp`: it is a directory");
        check(ErrorKind::StorageFull, "limited no-space cannot read `/tmp`: there is no space left");
    }
}
