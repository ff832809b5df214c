//! The parameters of requests, and what a caller implements or calls to describe itself.

use base::{Depth, Props, RelPath, Result, Revnum, Url};

/// An ability of a server or a repository that older ones lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// Understands depths other than `files` and `infinity`.
    Depth,
    /// The repository tracks merges.
    Mergeinfo,
    /// Sends any revision properties in a log.
    LogRevprops,
    /// Replays a part of the tree.
    PartialReplay,
    /// Takes any revision properties with a commit.
    CommitRevprops,
    /// Changes a revision property only if it has the expected value.
    AtomicRevprops,
    /// Returns inherited properties.
    InheritedProps,
    /// `svn:txn-…` properties of a commit are for hooks only.
    EphemeralTxnprops,
    /// Sends the revisions of a file youngest first.
    FileRevsReverse,
    /// Lists trees.
    List,
}

/// A change of a revision property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevpropChange<'a> {
    /// The revision.
    pub rev: Revnum,
    /// The property.
    pub name: &'a str,
    /// The new value; `None` deletes.
    pub value: Option<&'a [u8]>,
    /// The value that the property must have now (`Some(None)`: it must not be set); `None` accepts any.
    pub expected: Option<Option<&'a [u8]>>,
}

/// What to read of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileRequest<'a> {
    /// The file.
    pub path: &'a RelPath,
    /// The revision.
    pub rev: Option<Revnum>,
    /// Whether to read its properties, with the four entry properties.
    pub props: bool,
    /// Whether to read its text.
    pub text: bool,
}

/// What to read of a directory.
#[derive(Clone, Copy, Debug)]
pub struct DirectoryRequest<'a> {
    /// The directory.
    pub path: &'a RelPath,
    /// The revision.
    pub rev: Option<Revnum>,
    /// Whether to read its properties, with the four entry properties.
    pub props: bool,
    /// Which fields of its entries to read; `None` for no entries.
    pub entries: Option<DirentFields>,
}

/// The fields of a [`crate::Dirent`] that are wanted. Others may have any value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirentFields {
    /// The kind.
    pub kind: bool,
    /// The length of a file.
    pub size: bool,
    /// Whether there are properties.
    pub has_props: bool,
    /// The revision of the last change.
    pub created_rev: bool,
    /// Its date.
    pub date: bool,
    /// Its author.
    pub author: bool,
}

impl DirentFields {
    /// All fields.
    pub const ALL: DirentFields = DirentFields {
        kind: true,
        size: true,
        has_props: true,
        created_rev: true,
        date: true,
        author: true,
    };

    /// All that commands show: not whether there are properties, which a server over HTTP has to count.
    pub const SHOWN: DirentFields = DirentFields {
        has_props: false,
        ..DirentFields::ALL
    };

    /// Only the kind.
    pub const KIND: DirentFields = DirentFields {
        kind: true,
        size: false,
        has_props: false,
        created_rev: false,
        date: false,
        author: false,
    };
}

/// A request for a listing.
#[derive(Clone, Copy, Debug)]
pub struct ListRequest<'a> {
    /// The top of the tree.
    pub path: &'a RelPath,
    /// The revision.
    pub rev: Option<Revnum>,
    /// How deep; `empty` or deeper.
    pub depth: Depth,
    /// Which fields to read.
    pub fields: DirentFields,
    /// Patterns for the last component of paths, as the user typed them; case and accents do not matter. `None` lists all,
    /// an empty list nothing.
    pub patterns: Option<&'a [String]>,
}

/// Which mergeinfo counts for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeinfoOf {
    /// Only the path's own.
    Explicit,
    /// The path's own, else that of the nearest ancestor that has any.
    Inherited,
    /// That of the nearest ancestor that has any, never the path's own.
    NearestAncestor,
}

/// A request for mergeinfo.
#[derive(Clone, Copy, Debug)]
pub struct MergeinfoRequest<'a> {
    /// The paths.
    pub paths: &'a [RelPath],
    /// The revision.
    pub rev: Option<Revnum>,
    /// Which mergeinfo counts.
    pub of: MergeinfoOf,
    /// Whether to include nodes below that have mergeinfo of their own.
    pub descendants: bool,
}

/// A request for a log.
#[derive(Clone, Debug, Default)]
pub struct LogRequest {
    /// Paths whose changes count; empty means the session's URL.
    pub paths: Vec<RelPath>,
    /// First revision of the output; `None` is the youngest.
    pub start: Option<Revnum>,
    /// Last revision of the output; `None` is the youngest.
    pub end: Option<Revnum>,
    /// Maximum number of entries, merged ones not counted; 0 is no limit.
    pub limit: u64,
    /// Whether to read the changed paths.
    pub changed_paths: bool,
    /// Whether to stop at copies.
    pub strict: bool,
    /// Whether merged revisions follow the revisions that merged them.
    pub include_merged: bool,
    /// Which revision properties to read.
    pub revprops: LogRevprops,
}

/// The revision properties of a log entry that are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LogRevprops {
    /// All.
    #[default]
    All,
    /// Those of these names.
    Names(Vec<String>),
}

impl LogRevprops {
    /// Returns the selection of author, date and log message.
    pub fn standard() -> LogRevprops {
        let names = [base::props::AUTHOR, base::props::DATE, base::props::LOG];
        LogRevprops::Names(names.map(str::to_owned).into())
    }

    /// Returns true if a property of this name is wanted.
    pub fn includes(&self, name: &str) -> bool {
        match self {
            LogRevprops::All => true,
            LogRevprops::Names(names) => names.iter().any(|wanted| wanted == name),
        }
    }
}

/// A request for the revisions of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileRevsRequest<'a> {
    /// The file.
    pub path: &'a RelPath,
    /// The first revision to send; `None` is the youngest.
    pub start: Option<Revnum>,
    /// The last revision to send; `None` is the youngest. If it is older than `start`, the youngest is sent first.
    pub end: Option<Revnum>,
    /// Whether to send revisions that were merged into the file.
    pub include_merged: bool,
}

/// A file to lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockTarget {
    /// The file.
    pub path: RelPath,
    /// The revision that the caller has: the lock is refused if the file changed since. `None` locks any.
    pub rev: Option<Revnum>,
}

/// A file to unlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnlockTarget {
    /// The file.
    pub path: RelPath,
    /// The token of its lock. Not needed to break the lock.
    pub token: Option<String>,
}

/// The parameters of an edit that the server drives.
#[derive(Clone, Copy, Debug)]
pub struct ReportRequest<'a> {
    /// What the edit leads to.
    pub kind: ReportKind<'a>,
    /// The revision that the edit leads to.
    pub rev: Option<Revnum>,
    /// The entry of the session's directory that the edit is about; empty for the session's URL itself.
    pub target: &'a str,
    /// How deep; [`Depth::Unknown`] follows the depths that the state reports.
    pub depth: Depth,
}

/// The kinds of edits that a server drives.
#[derive(Clone, Copy, Debug)]
pub enum ReportKind<'a> {
    /// To another revision of the same URL.
    Update {
        /// Whether to send where added files were copied from.
        send_copyfrom: bool,
        /// Whether to treat unrelated nodes at one path as related.
        ignore_ancestry: bool,
    },
    /// To another URL.
    Switch {
        /// The URL.
        url: &'a Url,
        /// Whether to send where added files were copied from.
        send_copyfrom: bool,
        /// Whether to treat unrelated nodes at one path as related.
        ignore_ancestry: bool,
    },
    /// As an update, without texts.
    Status,
    /// From what is reported to a URL.
    Diff {
        /// The URL of the other side.
        url: &'a Url,
        /// Whether to treat unrelated nodes at one path as related.
        ignore_ancestry: bool,
        /// Whether to send texts, not only the fact of their change.
        text_deltas: bool,
    },
}

/// Receives the state of a working copy. Paths are relative to the target of the report. The first call must be
/// [`Reporter::set_path`] of the empty path; parents come before children.
pub trait Reporter {
    /// Reports a path and its state.
    ///
    /// # Errors
    /// Those of the connection, as for all methods. Mistakes of the caller are reported after the whole state.
    fn set_path(&mut self, path: &RelPath, state: &PathState<'_>) -> Result<()>;

    /// Reports that a path is missing.
    ///
    /// # Errors
    /// As above.
    fn delete_path(&mut self, path: &RelPath) -> Result<()>;

    /// Reports that a path is at another URL.
    ///
    /// # Errors
    /// As above.
    fn link_path(&mut self, path: &RelPath, url: &Url, state: &PathState<'_>) -> Result<()>;
}

/// The state of a path in a working copy.
#[derive(Clone, Copy, Debug)]
pub struct PathState<'a> {
    /// Its revision.
    pub rev: Revnum,
    /// How deep it is; [`Depth::Unknown`] is refused.
    pub depth: Depth,
    /// True if it has no properties, and none of the entries that are not reported.
    pub start_empty: bool,
    /// The token of the lock that the working copy has.
    pub lock_token: Option<&'a str>,
}

impl PathState<'_> {
    /// Returns the state of a tree that is complete at `rev`.
    pub fn complete(rev: Revnum) -> PathState<'static> {
        PathState {
            rev,
            depth: Depth::Infinity,
            start_empty: false,
            lock_token: None,
        }
    }

    /// Returns the state of a tree of which the caller has nothing: for a checkout or an export of `rev`.
    pub fn empty(rev: Revnum) -> PathState<'static> {
        PathState {
            start_empty: true,
            ..PathState::complete(rev)
        }
    }
}

/// The parameters of a commit besides its edit.
#[derive(Clone, Debug, Default)]
pub struct CommitRequest {
    /// Revision properties, with the log message. Author and date are set by the server.
    pub revprops: Props,
    /// The locks that the caller holds: paths and tokens.
    pub lock_tokens: Vec<(RelPath, String)>,
    /// Whether these locks outlive the commit.
    pub keep_locks: bool,
}

/// The parameters of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayOptions {
    /// The oldest revision that the receiver has: copies from older ones are sent as additions.
    pub low_water_mark: Revnum,
    /// False sends only the fact of a change: a property without name and value, a text without windows.
    pub send_deltas: bool,
}
