//! What a new content is stored as a delta against.

use base::{Code, Error, Result, Revnum};

use crate::format::noderev::NodeRev;
use crate::format::rep_line::Rep;
use crate::fs::Fs;

/// Which content of a node is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The text of a file, the entries of a directory.
    Text,
    /// The property list.
    Props,
}

/// Chooses the base for a new content of `node`, which has its final `count` and `predecessor`; `None`: store it by itself.
///
/// # Errors
/// Those of reading the predecessors.
pub(crate) fn delta_base(fs: &Fs, node: &NodeRev, which: Which, youngest: Revnum) -> Result<Option<Rep>> {
    let _ = (fs, node, which, youngest);
    Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
}
