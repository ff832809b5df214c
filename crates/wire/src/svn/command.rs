//! The commands of a client: every main command with all its optional tails.
//!
//! A [`Command`] owns its parameters: the receive buffer goes on to carry what follows (reports, edits, answers in an
//! authentication). Paths are text as sent, relative to the session's URL; the receiver makes them canonical.
//! Revisions that a client leaks as "-1" (2^64-1) where a bracket could have been empty read as absent.

use base::{Depth, Revnum};

use super::item::{Item, Malformed, Tuple};

/// A message of the form `( name params )`.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The name.
    pub name: &'a str,
    /// The parameters.
    pub params: Tuple<'a>,
}

impl<'a> Named<'a> {
    /// Splits a message into its name and its parameters.
    ///
    /// # Errors
    /// If it has another shape.
    pub fn parse(item: Item<'a>) -> Result<Self, Malformed> {
        let mut tuple = item.list()?;
        let name = tuple.word()?;
        let params = tuple.list()?;
        Ok(Named { name, params })
    }
}

/// A main command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Moves the session to another URL of the repository.
    Reparent {
        /// The new URL.
        url: String,
    },
    /// Asks for HEAD.
    GetLatestRev,
    /// Asks which revision was HEAD at a date.
    GetDatedRev {
        /// The date, as text.
        date: String,
    },
    /// Sets or deletes a revision property.
    ChangeRevProp(ChangeRevProp),
    /// Asks for all properties of a revision.
    RevPropList {
        /// The revision.
        rev: Revnum,
    },
    /// Asks for one property of a revision.
    RevProp {
        /// The revision.
        rev: Revnum,
        /// Name of the property.
        name: String,
    },
    /// Starts a commit.
    Commit(Commit),
    /// Asks for a file's properties and text.
    GetFile(GetFile),
    /// Asks for a directory's properties and entries.
    GetDir(GetDir),
    /// Asks for the node kind of a path.
    CheckPath(AtRev),
    /// Asks for the details of the node at a path.
    Stat(AtRev),
    /// Asks for mergeinfo.
    GetMergeinfo(GetMergeinfo),
    /// Brings a working copy to a revision.
    Update(Update),
    /// Brings a working copy to another URL.
    Switch(Switch),
    /// Asks for the changes of an update (`svn status -u`).
    Status(Status),
    /// Asks for the difference between two trees.
    Diff(Diff),
    /// Asks for history.
    Log(Log),
    /// Asks for the paths of a node in given revisions.
    GetLocations {
        /// The node, at `peg`.
        path: String,
        /// The revision in which `path` names it.
        peg: Revnum,
        /// The revisions asked for.
        revs: Vec<Revnum>,
    },
    /// Asks for all paths of a node over a range of revisions.
    GetLocationSegments {
        /// The node, at `peg`.
        path: String,
        /// The revision in which `path` names it.
        peg: Option<Revnum>,
        /// Youngest revision asked for.
        start: Option<Revnum>,
        /// Oldest revision asked for.
        end: Option<Revnum>,
    },
    /// Asks for every version of a file.
    GetFileRevs {
        /// The file.
        path: String,
        /// First revision.
        start: Option<Revnum>,
        /// Last revision.
        end: Option<Revnum>,
        /// Also versions that were merged in.
        include_merged: bool,
    },
    /// Locks one file.
    Lock {
        /// The file.
        target: LockTarget,
        /// The owner's comment.
        comment: Option<String>,
        /// Take it from its holder.
        steal: bool,
    },
    /// Locks several files.
    LockMany {
        /// The owner's comment.
        comment: Option<String>,
        /// Take them from their holders.
        steal: bool,
        /// The files.
        targets: Vec<LockTarget>,
    },
    /// Unlocks one file.
    Unlock {
        /// The file.
        target: UnlockTarget,
        /// Break the lock of another user.
        force: bool,
    },
    /// Unlocks several files.
    UnlockMany {
        /// Break the locks of other users.
        force: bool,
        /// The files.
        targets: Vec<UnlockTarget>,
    },
    /// Asks for the lock of a file.
    GetLock {
        /// The file.
        path: String,
    },
    /// Asks for all locks below a directory.
    GetLocks {
        /// The directory.
        path: String,
        /// The depth; `None` if an old client did not send it.
        depth: Option<Depth>,
    },
    /// Asks for one revision as an edit.
    Replay {
        /// The revision.
        rev: Revnum,
        /// Oldest revision that the client has copies from.
        low_water_mark: Revnum,
        /// With texts and properties, not only the fact of their change.
        send_deltas: bool,
    },
    /// Asks for several revisions as edits.
    ReplayRange {
        /// First revision.
        start: Revnum,
        /// Last revision.
        end: Revnum,
        /// Oldest revision that the client has copies from.
        low_water_mark: Revnum,
        /// With texts and properties, not only the fact of their change.
        send_deltas: bool,
    },
    /// Asks in which revision a path disappeared.
    GetDeletedRev {
        /// The path, at `peg`.
        path: String,
        /// A revision in which it exists.
        peg: Revnum,
        /// Last revision to look at.
        end: Revnum,
    },
    /// Asks for properties that a node inherits.
    GetIprops(AtRev),
    /// Asks for the entries of a tree.
    List(List),
}

/// A path at a revision; `None` is HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtRev {
    /// The path.
    pub path: String,
    /// The revision.
    pub rev: Option<Revnum>,
}

/// Parameters of `change-rev-prop` and `change-rev-prop2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRevProp {
    /// The revision.
    pub rev: Revnum,
    /// Name of the property.
    pub name: String,
    /// The new value; `None` deletes.
    pub value: Option<Vec<u8>>,
    /// The value that the property must have, for `change-rev-prop2`.
    pub expect: Option<ExpectedValue>,
}

/// The second half of `change-rev-prop2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedValue {
    /// Whatever it was. Together with `previous` this is a mistake that the server reports.
    pub dont_care: bool,
    /// The value, or `None` for "not set".
    pub previous: Option<Vec<u8>>,
}

/// Parameters of `commit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The log message, if `revprops` does not carry it.
    pub message: String,
    /// Paths and their lock tokens.
    pub lock_tokens: Vec<(String, String)>,
    /// Whether locks survive the commit.
    pub keep_locks: bool,
    /// Revision properties; `None` from old clients, which send only the message.
    pub revprops: Option<Vec<(String, Vec<u8>)>>,
}

/// Parameters of `get-file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetFile {
    /// The file.
    pub at: AtRev,
    /// Send its properties.
    pub want_props: bool,
    /// Send its text.
    pub want_contents: bool,
    /// Send inherited properties too.
    pub want_iprops: bool,
}

/// Parameters of `get-dir`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetDir {
    /// The directory.
    pub at: AtRev,
    /// Send its properties.
    pub want_props: bool,
    /// Send its entries.
    pub want_contents: bool,
    /// The fields to return for each entry.
    pub fields: Fields,
    /// Send inherited properties too.
    pub want_iprops: bool,
}

/// Parameters of `get-mergeinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetMergeinfo {
    /// The nodes.
    pub paths: Vec<String>,
    /// The revision.
    pub rev: Option<Revnum>,
    /// `explicit`, `inherited` or `nearest-ancestor`; other words are not refused here.
    pub inherit: String,
    /// Also nodes below.
    pub descendants: bool,
}

/// Parameters of `update`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The revision to go to.
    pub rev: Option<Revnum>,
    /// One entry of the session's directory, or empty.
    pub target: String,
    /// The depth of old clients.
    pub recurse: bool,
    /// How far down.
    pub depth: Option<Depth>,
    /// Tell where added files were copied from.
    pub send_copyfrom: bool,
    /// Treat unrelated nodes at one path as related.
    pub ignore_ancestry: bool,
}

/// Parameters of `switch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The revision to go to.
    pub rev: Option<Revnum>,
    /// One entry of the session's directory, or empty.
    pub target: String,
    /// The depth of old clients.
    pub recurse: bool,
    /// Where to go.
    pub url: String,
    /// How far down.
    pub depth: Option<Depth>,
    /// Tell where added files were copied from.
    pub send_copyfrom: bool,
    /// Treat unrelated nodes at one path as related.
    pub ignore_ancestry: bool,
}

/// Parameters of `status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// One entry of the session's directory, or empty.
    pub target: String,
    /// The depth of old clients.
    pub recurse: bool,
    /// The revision to compare with.
    pub rev: Option<Revnum>,
    /// How far down.
    pub depth: Option<Depth>,
}

/// Parameters of `diff`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// The revision of the other side.
    pub rev: Option<Revnum>,
    /// One entry of the session's directory, or empty.
    pub target: String,
    /// The depth of old clients.
    pub recurse: bool,
    /// Treat unrelated nodes at one path as related.
    pub ignore_ancestry: bool,
    /// The other side.
    pub url: String,
    /// Send texts, not only the fact of their change.
    pub text_deltas: bool,
    /// How far down.
    pub depth: Option<Depth>,
}

/// Parameters of `log`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Whose history.
    pub paths: Vec<String>,
    /// First revision sent.
    pub start: Option<Revnum>,
    /// Last revision sent.
    pub end: Option<Revnum>,
    /// Tell what changed.
    pub changed_paths: bool,
    /// Stop at copies.
    pub strict: bool,
    /// How many entries; 0 is all.
    pub limit: u64,
    /// Include merged revisions.
    pub include_merged: bool,
    /// Which revision properties.
    pub revprops: LogRevprops,
}

/// Which revision properties a log entry carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogRevprops {
    /// Author, date and message: what clients before 1.5 get.
    Standard,
    /// All there are.
    All,
    /// Those named.
    Some(Vec<String>),
}

/// A file to lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockTarget {
    /// The file.
    pub path: String,
    /// The revision that the client has.
    pub rev: Option<Revnum>,
}

/// A file to unlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnlockTarget {
    /// The file.
    pub path: String,
    /// Token of its lock.
    pub token: Option<String>,
}

/// Parameters of `list`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The directory.
    pub at: AtRev,
    /// How far down.
    pub depth: Depth,
    /// The fields to return for each entry.
    pub fields: Fields,
    /// Names to match; an empty list matches nothing, `None` everything.
    pub patterns: Option<Vec<String>>,
}

/// The fields of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields(u8);

impl Fields {
    /// Nothing but the name.
    pub const NONE: Fields = Fields(0);
    /// The kind.
    pub const KIND: Fields = Fields(1);
    /// The size.
    pub const SIZE: Fields = Fields(2);
    /// Whether there are properties.
    pub const HAS_PROPS: Fields = Fields(4);
    /// The revision of the last change.
    pub const CREATED_REV: Fields = Fields(8);
    /// The date of the last change.
    pub const TIME: Fields = Fields(16);
    /// The author of the last change.
    pub const LAST_AUTHOR: Fields = Fields(32);
    /// Everything.
    pub const ALL: Fields = Fields(63);

    const WORDS: [(Fields, &'static str); 6] = [
        (Fields::KIND, "kind"),
        (Fields::SIZE, "size"),
        (Fields::HAS_PROPS, "has-props"),
        (Fields::CREATED_REV, "created-rev"),
        (Fields::TIME, "time"),
        (Fields::LAST_AUTHOR, "last-author"),
    ];

    /// True if all of `other` is wanted.
    pub fn has(self, other: Fields) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    pub fn with(self, other: Fields) -> Fields {
        Fields(self.0 | other.0)
    }

    /// The words of this set.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        Self::WORDS
            .into_iter()
            .filter(move |(field, _)| self.has(*field))
            .map(|(_, word)| word)
    }

    pub(super) fn parse(mut list: Tuple<'_>) -> Result<Self, Malformed> {
        let mut all = Self::NONE;
        while !list.is_empty() {
            let word = list.word()?;
            if let Some((field, _)) = Self::WORDS.iter().find(|(_, w)| *w == word) {
                all = all.with(*field);
            }
        }
        Ok(all)
    }
}
