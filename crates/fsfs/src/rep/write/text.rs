//! The text of a file, written while it comes in.

use base::checksum::Md5;
use base::{Code, Error, Result};

use super::share::Sharing;
use crate::format::rep_line::{Rep, Uniquifier};
use crate::fs::Fs;
use crate::txn::proto_rev::ProtoRev;

/// A text on its way into a proto-revision file, whose lock it holds. Dropping it takes the text back.
pub(crate) struct RepWriter {
    _fs: Fs,
}

impl RepWriter {
    /// Starts a text as a delta against `base` (see [`super::delta_base`]).
    ///
    /// # Errors
    /// `FS_REP_BEING_WRITTEN`; those of reading the base; the system's.
    pub(crate) fn begin(fs: &Fs, proto: &ProtoRev, base: Option<Rep>) -> Result<RepWriter> {
        let _ = (fs, proto, base);
        Err(unfinished())
    }

    /// The next bytes of the text, any number.
    ///
    /// # Errors
    /// Those of reading the base; the system's.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let _ = bytes;
        Err(unfinished())
    }

    /// Ends the text; returns its digest. It is not stored yet: the caller may compare and drop it.
    ///
    /// # Errors
    /// As [`RepWriter::write`].
    pub(crate) fn end(&mut self) -> Result<Md5> {
        Err(unfinished())
    }

    /// After [`RepWriter::end`]: stores the text, or finds it stored already, and gives the lock back. The rep is either of
    /// this transaction (`RepPlace::Txn`) or of a revision. `uniquifier` in formats that have one (4 and later).
    ///
    /// # Errors
    /// `FS_CORRUPT` for what sharing meets, `FS_AMBIGUOUS_CHECKSUM_REP`; the system's.
    pub(crate) fn store(self, uniquifier: Option<Uniquifier>, sharing: &mut Sharing) -> Result<Rep> {
        let _ = (uniquifier, sharing);
        Err(unfinished())
    }
}

fn unfinished() -> Error {
    Error::new(Code::UNSUPPORTED_FEATURE, "being written")
}
