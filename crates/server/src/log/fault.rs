//! Errors that an administrator has to know of.

use base::{Code, Error};

/// Returns whether only an administrator can repair the reason of an error: one of the system, or damage.
pub(crate) fn is_fault(error: &Error) -> bool {
    let mut codes = error.links().map(|link| link.code());
    codes.any(|code| code.is_os() || FAULTS.contains(&code))
}

/// Numbers of errors that say that a repository is damaged or cannot be used.
const FAULTS: [Code; 11] = [
    Code::BAD_CHECKSUM_PARSE,
    Code::CHECKSUM_MISMATCH,
    Code::FS_CORRUPT,
    Code::FS_CORRUPT_PROPLIST,
    Code::FS_CORRUPT_REVPROP_MANIFEST,
    Code::FS_INDEX_CORRUPTION,
    Code::FS_UNSUPPORTED_FORMAT,
    Code::CORRUPT_PACKED_DATA,
    Code::SQLITE_BUSY,
    Code::SQLITE_ERROR,
    Code::SQLITE_READONLY,
];
