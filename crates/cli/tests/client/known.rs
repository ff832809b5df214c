//! The differences between Subversion's clients and Sven's that stay, each with its reason.

use crate::twins::Access;

/// Differences of the commands that read.
pub fn reading(access: Access, theirs: &str, ours: &str) -> bool {
    // Over svn://, Subversion's `svn list` of a revision that does not exist cannot read the server's answer. Ours reports it.
    let cannot_read = theirs.contains("E210004: Malformed network data");
    access == Access::Svn && cannot_read && ours.contains("E160006: No such revision")
}
