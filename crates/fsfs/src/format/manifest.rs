//! The manifest of a packed shard with physical addressing (format 4 and later): where each revision starts in the
//! pack file.
//!
//! One line for each revision of the shard, in order: the decimal offset of its start in the pack file, bytes.
//! Offsets ascend.

use super::decode_error;
use base::number::parse_decimal;

decode_error! {
    /// Why a manifest is not usable.
    ManifestError {
        Line => FS_CORRUPT, "Manifest offset is no number";
        NewlineMissing => FS_CORRUPT, "Manifest does not end with a newline";
        Count => FS_CORRUPT, "Manifest does not have one line for each revision";
        Order => FS_CORRUPT, "Manifest offsets do not ascend";
    }
}

/// Parses the start offsets of `count` revisions.
pub(crate) fn parse(text: &[u8], count: u64) -> Result<Vec<u64>, ManifestError> {
    let body = text.strip_suffix(b"\n").ok_or(ManifestError::NewlineMissing)?;
    // A line has at least two bytes, so the text bounds what is allocated.
    let mut offsets = Vec::with_capacity(text.len() / 2);
    for line in body.split(|&b| b == b'\n') {
        let offset = parse_decimal(line).ok_or(ManifestError::Line)?;
        if offsets.last().is_some_and(|&last| last >= offset) {
            return Err(ManifestError::Order);
        }
        offsets.push(offset);
    }
    if offsets.len() as u64 == count {
        Ok(offsets)
    } else {
        Err(ManifestError::Count)
    }
}

/// Appends the lines.
pub(crate) fn encode(out: &mut Vec<u8>, offsets: &[u64]) {
    for offset in offsets {
        out.extend_from_slice(format!("{offset}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_refusals() {
        let text = b"0\n115\n1122\n";
        let offsets = parse(text, 3).expect("valid");
        let mut out = Vec::new();
        encode(&mut out, &offsets);
        assert_eq!(out, text);
        assert_eq!(parse(text, 4), Err(ManifestError::Count));
        assert_eq!(parse(b"0\n1", 2), Err(ManifestError::NewlineMissing));
        assert_eq!(parse(b"0\n\n", 2), Err(ManifestError::Line));
        assert_eq!(parse(b"5\n5\n", 2), Err(ManifestError::Order));
    }
}
