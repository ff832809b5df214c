//! Readable text of any bytes, for messages of both protocols.

use std::fmt::Write as _;

/// Makes readable text of any bytes: those that XML cannot hold are shown as `?\NNN`, in decimal.
pub fn fuzzy(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\t' | '\n' | '\r' => out.push(c),
                c if c.is_ascii_control() => _ = write!(out, "?\\{:03}", u32::from(c)),
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            _ = write!(out, "?\\{byte:03}");
        }
    }
    out
}
