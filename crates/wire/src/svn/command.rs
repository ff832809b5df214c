//! What a client may ask: every main command with all its optional tails.
//!
//! A [`Command`] owns its parameters: the receive buffer goes on to carry what follows (reports, edits, answers in an
//! authentication). Paths are text as sent, relative to the session's URL; the receiver makes them canonical.
//! Revisions that a client leaks as "-1" (2^64-1) where a bracket could have been empty read as absent.

use base::{Depth, Revnum};

use super::item::{Item, Malformed, Tuple};

/// A message that names what it wants: `( name params )`.
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
    /// Asks what is at a path.
    CheckPath(AtRev),
    /// Asks for the details of what is at a path.
    Stat(AtRev),
    /// Asks for mergeinfo.
    GetMergeinfo(GetMergeinfo),
    /// Brings a working copy to a revision.
    Update(Update),
    /// Brings a working copy to another URL.
    Switch(Switch),
    /// Asks what an update would change.
    Status(Status),
    /// Asks for the difference between two trees.
    Diff(Diff),
    /// Asks for history.
    Log(Log),
    /// Asks where a node was.
    GetLocations {
        /// The node, at `peg`.
        path: String,
        /// The revision in which `path` names it.
        peg: Revnum,
        /// The revisions asked for.
        revs: Vec<Revnum>,
    },
    /// Asks for all places at which a node ever was.
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
        /// What the owner says.
        comment: Option<String>,
        /// Take it from its holder.
        steal: bool,
    },
    /// Locks several files.
    LockMany {
        /// What the owner says.
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
        /// Whoever holds it.
        force: bool,
    },
    /// Unlocks several files.
    UnlockMany {
        /// Whoever holds them.
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
        /// How far below; `None` if an old client did not say.
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
    /// What the value must have been, for `change-rev-prop2`.
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
    /// Revision properties; `None` from clients that know only the message.
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
    /// What to say about each entry.
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
    /// Depth of clients that know no better.
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
    /// Depth of clients that know no better.
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
    /// Depth of clients that know no better.
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
    /// Depth of clients that know no better.
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
    /// Also what was merged.
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
    /// What to say about each entry.
    pub fields: Fields,
    /// Names to match; an empty list matches nothing, `None` everything.
    pub patterns: Option<Vec<String>>,
}

/// What to tell about a directory entry.
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

    fn parse(mut list: Tuple<'_>) -> Result<Self, Malformed> {
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

impl Command {
    /// Reads a command; `None` for a name that is no main command.
    ///
    /// # Errors
    /// If the parameters have another shape.
    pub fn parse(named: Named<'_>) -> Result<Option<Self>, Malformed> {
        let mut p = named.params;
        let p = &mut p;
        Ok(Some(match named.name {
            "reparent" => Command::Reparent { url: text(p)? },
            "get-latest-rev" => Command::GetLatestRev,
            "get-dated-rev" => Command::GetDatedRev { date: text(p)? },
            "change-rev-prop" => Command::ChangeRevProp(ChangeRevProp {
                rev: rev(p)?,
                name: text(p)?,
                value: if p.is_empty() {
                    None
                } else {
                    Some(p.string()?.to_vec())
                },
                expect: None,
            }),
            "change-rev-prop2" => Command::ChangeRevProp(change_rev_prop2(p)?),
            "rev-proplist" => Command::RevPropList { rev: rev(p)? },
            "rev-prop" => Command::RevProp {
                rev: rev(p)?,
                name: text(p)?,
            },
            "commit" => Command::Commit(commit(p)?),
            "get-file" => Command::GetFile(GetFile {
                at: at_rev(p)?,
                want_props: p.boolean()?,
                want_contents: p.boolean()?,
                want_iprops: tail(p, false, Tuple::boolean)?,
            }),
            "get-dir" => Command::GetDir(GetDir {
                at: at_rev(p)?,
                want_props: p.boolean()?,
                want_contents: p.boolean()?,
                fields: tail(p, Fields::ALL, |p| Fields::parse(p.list()?))?,
                want_iprops: tail(p, false, Tuple::boolean)?,
            }),
            "check-path" => Command::CheckPath(at_rev(p)?),
            "stat" => Command::Stat(at_rev(p)?),
            "get-mergeinfo" => Command::GetMergeinfo(GetMergeinfo {
                paths: texts(p)?,
                rev: maybe_rev(p)?,
                inherit: p.word()?.to_owned(),
                descendants: p.boolean()?,
            }),
            "update" => Command::Update(update(p)?),
            "switch" => Command::Switch(switch(p)?),
            "status" => Command::Status(Status {
                target: text(p)?,
                recurse: p.boolean()?,
                rev: tail(p, None, maybe_rev)?,
                depth: tail_depth(p)?,
            }),
            "diff" => Command::Diff(Diff {
                rev: maybe_rev(p)?,
                target: text(p)?,
                recurse: p.boolean()?,
                ignore_ancestry: p.boolean()?,
                url: text(p)?,
                text_deltas: tail(p, true, Tuple::boolean)?,
                depth: tail_depth(p)?,
            }),
            "log" => Command::Log(log(p)?),
            "get-locations" => Command::GetLocations {
                path: text(p)?,
                peg: rev(p)?,
                revs: revs(p)?,
            },
            "get-location-segments" => Command::GetLocationSegments {
                path: text(p)?,
                peg: maybe_rev(p)?,
                start: maybe_rev(p)?,
                end: maybe_rev(p)?,
            },
            "get-file-revs" => Command::GetFileRevs {
                path: text(p)?,
                start: maybe_rev(p)?,
                end: maybe_rev(p)?,
                include_merged: tail(p, false, Tuple::boolean)?,
            },
            "lock" => {
                let path = text(p)?;
                let comment = maybe_text(p)?;
                let steal = p.boolean()?;
                Command::Lock {
                    target: LockTarget {
                        path,
                        rev: maybe_rev(p)?,
                    },
                    comment,
                    steal,
                }
            }
            "lock-many" => Command::LockMany {
                comment: maybe_text(p)?,
                steal: p.boolean()?,
                targets: each(p, |t| {
                    Ok(LockTarget {
                        path: text(t)?,
                        rev: maybe_rev(t)?,
                    })
                })?,
            },
            "unlock" => Command::Unlock {
                target: UnlockTarget {
                    path: text(p)?,
                    token: maybe_text(p)?,
                },
                force: p.boolean()?,
            },
            "unlock-many" => Command::UnlockMany {
                force: p.boolean()?,
                targets: each(p, |t| {
                    Ok(UnlockTarget {
                        path: text(t)?,
                        token: maybe_text(t)?,
                    })
                })?,
            },
            "get-lock" => Command::GetLock { path: text(p)? },
            "get-locks" => Command::GetLocks {
                path: text(p)?,
                depth: tail(p, None, |p| {
                    // Here the depth is in a bracket, unlike everywhere else.
                    let mut bracket = p.list()?;
                    if bracket.is_empty() {
                        return Ok(None);
                    }
                    Ok(Some(Depth::from_word(bracket.word()?.as_bytes())))
                })?,
            },
            "replay" => Command::Replay {
                rev: rev(p)?,
                low_water_mark: rev(p)?,
                send_deltas: p.boolean()?,
            },
            "replay-range" => Command::ReplayRange {
                start: rev(p)?,
                end: rev(p)?,
                low_water_mark: rev(p)?,
                send_deltas: p.boolean()?,
            },
            "get-deleted-rev" => Command::GetDeletedRev {
                path: text(p)?,
                peg: rev(p)?,
                end: rev(p)?,
            },
            "get-iprops" => Command::GetIprops(at_rev(p)?),
            "list" => Command::List(List {
                at: at_rev(p)?,
                depth: Depth::from_word(p.word()?.as_bytes()),
                fields: tail(p, Fields::ALL, |p| Fields::parse(p.list()?))?,
                patterns: tail(p, None, |p| texts(p).map(Some))?,
            }),
            _ => return Ok(None),
        }))
    }
}

fn update(p: &mut Tuple<'_>) -> Result<Update, Malformed> {
    let mut update = Update {
        rev: maybe_rev(p)?,
        target: text(p)?,
        recurse: p.boolean()?,
        depth: None,
        send_copyfrom: false,
        ignore_ancestry: false,
    };
    if !p.is_empty() {
        update.depth = tail_depth(p)?;
        update.send_copyfrom = p.boolean()?;
        update.ignore_ancestry = tail(p, false, Tuple::boolean)?;
    }
    Ok(update)
}

fn switch(p: &mut Tuple<'_>) -> Result<Switch, Malformed> {
    let mut switch = Switch {
        rev: maybe_rev(p)?,
        target: text(p)?,
        recurse: p.boolean()?,
        url: text(p)?,
        depth: tail_depth(p)?,
        send_copyfrom: false,
        ignore_ancestry: true,
    };
    if !p.is_empty() {
        switch.send_copyfrom = p.boolean()?;
        switch.ignore_ancestry = p.boolean()?;
    }
    Ok(switch)
}

fn change_rev_prop2(p: &mut Tuple<'_>) -> Result<ChangeRevProp, Malformed> {
    let rev = rev(p)?;
    let name = text(p)?;
    let value = p.maybe_string()?.map(<[u8]>::to_vec);
    let mut expect = p.list()?;
    let dont_care = expect.boolean()?;
    let previous = tail(&mut expect, None, |t| Ok(Some(t.string()?.to_vec())))?;
    Ok(ChangeRevProp {
        rev,
        name,
        value,
        expect: Some(ExpectedValue { dont_care, previous }),
    })
}

fn commit(p: &mut Tuple<'_>) -> Result<Commit, Malformed> {
    let message = text(p)?;
    let mut commit = Commit {
        message,
        lock_tokens: Vec::new(),
        keep_locks: true,
        revprops: None,
    };
    if p.is_empty() {
        return Ok(commit);
    }
    commit.lock_tokens = each(p, |t| Ok((text(t)?, text(t)?)))?;
    commit.keep_locks = p.boolean()?;
    commit.revprops = tail(p, None, |p| {
        each(p, |t| Ok((text(t)?, t.string()?.to_vec()))).map(Some)
    })?;
    Ok(commit)
}

fn log(p: &mut Tuple<'_>) -> Result<Log, Malformed> {
    let paths = texts(p)?;
    let start = maybe_rev(p)?;
    let end = maybe_rev(p)?;
    let changed_paths = p.boolean()?;
    let strict = p.boolean()?;
    let limit = tail(p, 0, Tuple::number)?;
    let (mut include_merged, mut revprops) = (false, LogRevprops::Standard);
    if !p.is_empty() {
        include_merged = p.boolean()?;
        let word = p.word()?;
        let names = texts(p)?;
        revprops = match word {
            "all-revprops" => LogRevprops::All,
            "revprops" => LogRevprops::Some(names),
            _ => return Err(Malformed::Word),
        };
    }
    // A limit beyond 31 bits is none.
    let limit = if limit > i32::MAX as u64 { 0 } else { limit };
    Ok(Log {
        paths,
        start,
        end,
        changed_paths,
        strict,
        limit,
        include_merged,
        revprops,
    })
}

/// Takes text. Bytes that are not UTF-8 become replacement characters: the incumbent looks such names up and does not
/// find them, and nor do we.
fn text(p: &mut Tuple<'_>) -> Result<String, Malformed> {
    Ok(String::from_utf8_lossy(p.string()?).into_owned())
}

fn maybe_text(p: &mut Tuple<'_>) -> Result<Option<String>, Malformed> {
    Ok(p.maybe_string()?
        .map(|text| String::from_utf8_lossy(text).into_owned()))
}

fn rev(p: &mut Tuple<'_>) -> Result<Revnum, Malformed> {
    p.number().map(Revnum)
}

fn maybe_rev(p: &mut Tuple<'_>) -> Result<Option<Revnum>, Malformed> {
    Ok(p.maybe_number()?.map(Revnum).filter(|rev| *rev <= Revnum::MAX))
}

fn at_rev(p: &mut Tuple<'_>) -> Result<AtRev, Malformed> {
    Ok(AtRev {
        path: text(p)?,
        rev: maybe_rev(p)?,
    })
}

fn tail_depth(p: &mut Tuple<'_>) -> Result<Option<Depth>, Malformed> {
    tail(p, None, |p| Ok(Some(Depth::from_word(p.word()?.as_bytes()))))
}

/// Takes an optional element: absent, it and all behind it have their defaults.
fn tail<'a, T>(
    p: &mut Tuple<'a>,
    default: T,
    take: impl FnOnce(&mut Tuple<'a>) -> Result<T, Malformed>,
) -> Result<T, Malformed> {
    if p.is_empty() { Ok(default) } else { take(p) }
}

fn each<T>(
    p: &mut Tuple<'_>,
    mut take: impl FnMut(&mut Tuple<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut list = p.list()?;
    let mut all = Vec::new();
    while !list.is_empty() {
        all.push(take(&mut list.list()?)?);
    }
    Ok(all)
}

fn texts(p: &mut Tuple<'_>) -> Result<Vec<String>, Malformed> {
    let mut list = p.list()?;
    let mut all = Vec::new();
    while !list.is_empty() {
        all.push(text(&mut list)?);
    }
    Ok(all)
}

fn revs(p: &mut Tuple<'_>) -> Result<Vec<Revnum>, Malformed> {
    let mut list = p.list()?;
    let mut all = Vec::new();
    while !list.is_empty() {
        all.push(rev(&mut list)?);
    }
    Ok(all)
}
