//! The errors of a stream, with the incumbent's texts.

use crate::{Code, Error, shown_bytes as shown};

pub(super) fn bad_magic(line: &[u8]) -> Error {
    // The incumbent's lines are C strings.
    let line = line.split(|byte| *byte == 0).next().unwrap_or_default();
    Error::new(
        Code::STREAM_MALFORMED_DATA,
        format!("Malformed dumpfile header '{}'", shown(line)),
    )
}

pub(super) fn malformed() -> Error {
    Error::new(
        Code::STREAM_MALFORMED_DATA,
        "Dumpstream data appears to be malformed",
    )
}

pub(super) fn unrecognized() -> Error {
    Error::new(Code::STREAM_MALFORMED_DATA, "Unrecognized record type in stream")
}

pub(super) fn too_much() -> Error {
    Error::new(
        Code::STREAM_MALFORMED_DATA,
        "Sum of subblock sizes larger than total block content length",
    )
}

pub(super) fn unterminated() -> Error {
    Error::new(
        Code::STREAM_MALFORMED_DATA,
        "Incomplete or unterminated property block",
    )
}

pub(super) fn premature_end() -> Error {
    Error::new(
        Code::INCOMPLETE_DATA,
        "Premature end of content data in dumpstream",
    )
}

pub(super) fn read_error(error: &std::io::Error) -> Error {
    Error::os(error, "Can't read stream")
}
