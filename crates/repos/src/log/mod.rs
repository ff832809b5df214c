//! The log: which revisions changed something, and what.
//!
//! [`run`] sends entries youngest first, or oldest first if `start` is older than `end`.

use std::sync::Arc;

use base::{Cancel, Code, Error, FsPath, Props, Result, Revnum, props};
use fsfs::ChangedPath;

use crate::access::Readable;
use crate::repo::{Repository, RevisionAccess};

/// What to log.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Paths whose changes count; none means the whole repository.
    pub paths: Vec<FsPath>,
    /// First revision of the output; `None` is the youngest.
    pub start: Option<Revnum>,
    /// Last revision of the output; `None` is the youngest.
    pub end: Option<Revnum>,
    /// How many entries to send at most, merged ones not counted; 0 is no limit.
    pub limit: u64,
    /// Send what each revision changed.
    pub changed_paths: bool,
    /// Stop at copies.
    pub strict: bool,
    /// Send, below each revision that merged others, those others.
    pub include_merged: bool,
    /// Which revision properties to send.
    pub revprops: Revprops,
}

/// Which revision properties to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Revprops {
    /// All that may be seen.
    #[default]
    All,
    /// These, where they are set and may be seen.
    Names(Vec<String>),
}

/// One entry of the log.
#[derive(Clone, Debug)]
pub struct LogEntry<'a> {
    /// The revision; `None` ends the entries below the last one with `has_children`.
    pub rev: Option<Revnum>,
    /// What it changed, sorted by path; empty if that was not asked for.
    pub changes: &'a [ChangedPath],
    /// Entries that it merged follow, until one without a revision.
    pub has_children: bool,
    /// It is here because a merge of it was undone.
    pub subtractive_merge: bool,
    revprops: Option<Arc<Props>>,
    access: RevisionAccess,
    wanted: &'a Revprops,
}

impl LogEntry<'_> {
    /// One revision property; `None` if it is not set, was not asked for or may not be seen.
    pub fn prop(&self, name: &str) -> Option<&[u8]> {
        let props = self.revprops.as_ref().filter(|_| self.shows(name))?;
        props.get(name).map(Vec::as_slice)
    }

    /// All revision properties that were asked for and may be seen, sorted by name.
    pub fn props(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let set = self.revprops.iter().flat_map(|props| props.iter());
        set.filter(|(name, _)| self.shows(name))
            .map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    fn shows(&self, name: &str) -> bool {
        let visible = match self.access {
            RevisionAccess::Full => true,
            RevisionAccess::Partial => name == props::AUTHOR || name == props::DATE,
            RevisionAccess::None => false,
        };
        visible
            && match self.wanted {
                Revprops::All => true,
                Revprops::Names(names) => names.iter().any(|wanted| wanted == name),
            }
    }
}

/// Sends the log to `sink`.
///
/// # Errors
/// `FS_NO_SUCH_REVISION`, `FS_NOT_FOUND` for a path that is not in the younger of the two revisions,
/// `AUTHZ_UNREADABLE` for one that may not be read there; whatever `sink` returns.
pub fn run(
    repo: &Repository,
    options: &Options,
    readable: &dyn Readable,
    sink: &mut dyn FnMut(&LogEntry<'_>) -> Result<()>,
    cancel: &Cancel,
) -> Result<()> {
    let _ = (repo, options, readable, sink);
    cancel.check()?;
    Err(Error::bare(Code::UNSUPPORTED_FEATURE))
}
