//! The trailer: the last line of a revision with physical addressing.
//!
//! `<root> <changes>` and a newline. Both are decimal offsets from the start of the revision, in bytes: of the root
//! node-revision and of the changed-path list. The line follows a newline and is within the last 64 bytes. All
//! formats have it; files with logical addressing have a [`footer`](super::footer) instead.

use super::decode_error;
use base::number::parse_decimal;

decode_error! {
    /// Why a trailer is not usable.
    TrailerError {
        NewlineMissing => FS_CORRUPT, "Revision file lacks trailing newline";
        TooLong => FS_CORRUPT, "Final line in revision file longer than 64 characters";
        SpaceMissing => FS_CORRUPT, "Final line in revision file missing space";
        Root => INCORRECT_PARAMS, "Final line in revision file has a malformed root offset";
        Changes => INCORRECT_PARAMS, "Final line in revision file has a malformed changed-paths offset";
    }
}

/// The most bytes at the end of a revision that a reader looks at.
pub(crate) const WINDOW: usize = 64;

/// Offsets from the start of the revision, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RevTrailer {
    /// The root node-revision.
    pub(crate) root: u64,
    /// The changed-path list.
    pub(crate) changes: u64,
}

impl RevTrailer {
    /// Parses the line at the end of `tail`, the last [`WINDOW`] bytes of a revision, or all of a shorter one.
    pub(crate) fn parse(tail: &[u8]) -> Result<Self, TrailerError> {
        let (&last, rest) = tail.split_last().ok_or(TrailerError::NewlineMissing)?;
        if last != b'\n' {
            return Err(TrailerError::NewlineMissing);
        }
        let start = memchr::memrchr(b'\n', rest).ok_or(TrailerError::TooLong)?;
        let line = &rest[start + 1..];
        // For an empty line the incumbent reports a malformed number, not a missing space.
        let space = memchr::memchr(b' ', line).ok_or(match line {
            [] => TrailerError::Root,
            _ => TrailerError::SpaceMissing,
        })?;
        Ok(RevTrailer {
            root: parse_decimal(&line[..space]).ok_or(TrailerError::Root)?,
            changes: parse_decimal(&line[space + 1..]).ok_or(TrailerError::Changes)?,
        })
    }

    /// Appends the line.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{} {}\n", self.root, self.changes).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revision_0_has_its_known_trailer() {
        let trailer = RevTrailer::parse(b"cpath: /\n\n\n17 107\n").expect("valid");
        assert_eq!(
            trailer,
            RevTrailer {
                root: 17,
                changes: 107
            }
        );
        let mut out = Vec::new();
        trailer.encode(&mut out);
        assert_eq!(out, b"17 107\n");
    }

    #[test]
    fn malformed_trailers_are_refused() {
        for (tail, error) in [
            (&b""[..], TrailerError::NewlineMissing),
            (b"\n17 107", TrailerError::NewlineMissing),
            (b"17 107\n", TrailerError::TooLong),
            (b"\n17107\n", TrailerError::SpaceMissing),
            (b"\n\n", TrailerError::Root),
            (b"\nx 107\n", TrailerError::Root),
            (b"\n17 -1\n", TrailerError::Changes),
        ] {
            assert_eq!(RevTrailer::parse(tail), Err(error));
        }
    }
}
