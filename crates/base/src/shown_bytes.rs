//! Bytes that should be UTF-8, as text for messages.

/// Returns `bytes` as text for a message: bytes that are not UTF-8 become `?\FF`, as in the incumbent's messages.
pub fn shown_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for b in chunk.invalid() {
            out.push_str(&format!("?\\{b:02X}"));
        }
    }
    out
}
