//! Merge info as old servers accepted it: with revision 0, and with paths that have no revisions.
//!
//! Servers refuse such values today, so a mirror would end at the first one. They are repaired as the incumbent's svnsync does it: only
//! the first range of a line is looked at, since ranges were written in ascending order.

use base::{Code, Error, Result};

/// Returns merge info without revision 0, and without lines that have no revisions, or no text.
///
/// # Errors
/// `MERGEINFO_PARSE_ERROR` for a line without a colon.
pub fn without_revision_zero(value: &[u8]) -> Result<Vec<u8>> {
    let mut kept = Vec::with_capacity(value.len());
    for line in value.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Some(colon) = line.iter().rposition(|byte| *byte == b':') else {
            return Err(Error::new(
                Code::MERGEINFO_PARSE_ERROR,
                "Missing colon in svn:mergeinfo property",
            ));
        };
        let (path, ranges) = line.split_at(colon + 1);
        let (first, rest) = first_from_one(ranges);
        if first.len() + rest.len() > 0 {
            if !kept.is_empty() {
                kept.push(b'\n');
            }
            kept.extend_from_slice(path);
            kept.extend_from_slice(first);
            kept.extend_from_slice(rest);
        }
    }
    Ok(kept)
}

/// Returns a list of ranges, of which the first begins at revision 1 if it began at 0, in two parts.
fn first_from_one(ranges: &[u8]) -> (&'static [u8], &[u8]) {
    let ends = |rest: &[u8]| matches!(rest.first(), None | Some(b','));
    if let Some(rest) = ranges.strip_prefix(b"0-") {
        // A range of one revision is written as that revision.
        return match rest.strip_prefix(b"1") {
            Some(after) if ends(after) || after.first() == Some(&b'*') => (b"", rest),
            _ => (b"1-", rest),
        };
    }
    let after = ranges.strip_prefix(b"0*").filter(|after| ends(after));
    let after = after.or_else(|| ranges.strip_prefix(b"0").filter(|after| ends(after)));
    match after {
        Some(after) => (b"", after.strip_prefix(b",").unwrap_or(after)),
        None => (b"", ranges),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the incumbent's svnsync makes of these.
    #[test]
    fn values_of_old_servers_are_repaired() {
        for (value, expected) in [
            ("", ""),
            ("\n", ""),
            ("/a:0", ""),
            ("/a:0-1", "/a:1"),
            ("/a:0-12", "/a:1-12"),
            ("/a:0*,1", "/a:1"),
            ("/a:0-1*", "/a:1*"),
            ("/a:0-2*,4", "/a:1-2*,4"),
            ("/a:0,", ""),
            ("/a:0\n/x:0-1,3*", "/x:1,3*"),
            ("/x:\n", ""),
            ("/a:b:0-3", "/a:b:1-3"),
            ("/a:0-2:0-3", "/a:0-2:1-3"),
            ("/b:1\n\n/a:0", "/b:1"),
            ("/a:0\n:\n/c:0-4", "/c:1-4"),
            ("a:0-1", "a:1"),
            // What is no list of ranges is left for the server to refuse.
            ("/a:0-0", "/a:1-0"),
            ("/a:0-1;2", "/a:1-1;2"),
            ("/a:00", "/a:00"),
            ("/a:0x", "/a:0x"),
            ("/a:0*x", "/a:0*x"),
            ("/a:0,0,5", "/a:0,5"),
            ("/a:5,0", "/a:5,0"),
            ("/a:0*,0-5", "/a:0-5"),
        ] {
            let found = without_revision_zero(value.as_bytes()).expect("colons");
            assert_eq!(String::from_utf8_lossy(&found), expected, "{value:?}");
        }
        for value in ["0", "/a", "/a\n/b:0", "/b:0\n/a"] {
            let error = without_revision_zero(value.as_bytes()).expect_err("no colon");
            assert_eq!(error.code(), Code::MERGEINFO_PARSE_ERROR, "{value:?}");
        }
    }
}
