//! Short contents: directories and property lists, which are in memory and written at the commit.

use base::{Code, Error, Result, Revnum};

use super::share::Sharing;
use crate::format::noderev::NodeRev;
use crate::format::rep_line::{Rep, Uniquifier};
use crate::fs::Fs;
use crate::txn::proto_rev::ProtoWriter;

/// What short content is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SmallRep {
    /// A directory's entries: never shared, without uniquifier.
    Dir,
    /// A property list of a file or a directory (the node says of which).
    Props(Option<Uniquifier>),
}

/// Writes the dump `content` as the new directory or property list of `node` in revision `rev`, as a delta or as it is (by
/// configuration), or finds it stored already. Returns the rep line as the committed node-revision has it: for revision
/// `rev` or an earlier one, and with those digests that the format records.
///
/// # Errors
/// `FS_CORRUPT` for what sharing meets, `FS_AMBIGUOUS_CHECKSUM_REP`; those of reading the base; the system's.
pub(crate) fn write_small_rep(
    fs: &Fs,
    proto: &mut ProtoWriter,
    what: SmallRep,
    content: &[u8],
    node: &NodeRev,
    rev: Revnum,
    sharing: &mut Sharing,
) -> Result<Rep> {
    let _ = (fs, proto, what, content, node, rev, sharing);
    Err(Error::new(Code::UNSUPPORTED_FEATURE, "being written"))
}
