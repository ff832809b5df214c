//! Appends headers and properties of a record to a buffer.

use std::fmt::Display;
use std::io::Write as _;

use base::hashdump;

use crate::dumpfile::name;

/// Appends a header with a value as it was read.
pub(super) fn header(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.push(b'\n');
}

/// Appends a header with a number.
pub(super) fn number(out: &mut Vec<u8>, name: &str, value: impl Display) {
    writeln!(out, "{name}: {value}").expect("because a Vec takes everything");
}

/// Appends a property; without a value, its deletion.
pub(super) fn property(out: &mut Vec<u8>, name: &[u8], value: Option<&[u8]>) {
    match value {
        Some(value) => hashdump::write_entry(out, name, value),
        None => hashdump::write_delete(out, name),
    }
}

/// True for the headers that the filter computes itself.
pub(super) fn is_length(header: &[u8]) -> bool {
    [name::PROP_LENGTH, name::TEXT_LENGTH, name::CONTENT_LENGTH]
        .iter()
        .any(|length| length.as_bytes() == header)
}

/// The end of a property section.
pub(super) const PROPS_END: &[u8] = b"PROPS-END\n";
