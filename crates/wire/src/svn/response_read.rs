//! The client's half of [`super::response`]: what a server streams in response to a command.
//!
//! Everything is borrowed from the receive buffer. Elements that servers of earlier versions leave out have the value
//! that these versions imply.

use base::props::PropChange;
use base::{FsPath, Lock, NodeKind, Props, RelPath, Revnum};

use super::item::{Item, Malformed, Tuple};
use super::response::{Dirent, LogChange, LogEntry, Response, parse_lock, parse_proplist};

/// The result of a commit: a bare tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitInfo<'a> {
    /// The new revision.
    pub rev: Revnum,
    /// Its date.
    pub date: Option<&'a [u8]>,
    /// Its author.
    pub author: Option<&'a [u8]>,
    /// The error of what followed the commit.
    pub post_commit_error: Option<&'a [u8]>,
}

impl<'a> CommitInfo<'a> {
    /// Reads the tuple.
    ///
    /// # Errors
    /// If it has another shape; so for all functions below.
    pub fn parse(mut tuple: Tuple<'a>) -> Result<Self, Malformed> {
        Ok(CommitInfo {
            rev: revision(&mut tuple)?,
            date: tuple.maybe_string()?,
            author: tuple.maybe_string()?,
            post_commit_error: match tuple.is_empty() {
                true => None,
                false => tuple.maybe_string()?,
            },
        })
    }
}

impl<'a> Dirent<'a> {
    /// Reads an entry of `list`: its absolute path and the description. Brackets that are empty or absent stand for
    /// fields that were not requested.
    ///
    /// # Errors
    /// If it has another shape.
    pub fn parse_listed(mut tuple: Tuple<'a>) -> Result<(&'a str, Self), Malformed> {
        let path = tuple.text()?;
        let kind = NodeKind::from_word(tuple.word()?.as_bytes()).ok_or(Malformed::Word)?;
        let mut dirent = Dirent {
            kind,
            size: None,
            has_props: false,
            created_rev: Revnum::ZERO,
            date: None,
            author: None,
        };
        if !tuple.is_empty() {
            dirent.size = tuple.maybe_number()?.filter(|size| *size != u64::MAX);
            let mut has_props = tuple.list()?;
            dirent.has_props = !has_props.is_empty() && has_props.boolean()?;
            dirent.created_rev = Revnum(tuple.maybe_number()?.unwrap_or(0));
            dirent.date = tuple.maybe_string()?;
            dirent.author = tuple.maybe_string()?;
        }
        Ok((path, dirent))
    }

    /// Reads the parameters of the response to `stat`; `None` if there is no node.
    ///
    /// # Errors
    /// If they have another shape.
    pub fn parse_stat(mut params: Tuple<'a>) -> Result<Option<Self>, Malformed> {
        let mut bracket = params.list()?;
        if bracket.is_empty() {
            return Ok(None);
        }
        Dirent::parse(&mut bracket.list()?).map(Some)
    }
}

impl<'a> LogEntry<'a> {
    /// Reads an entry; its changes are added to `changes`. The second value tells whether the server sent the list of further
    /// revision properties: servers before 1.5 do not.
    ///
    /// # Errors
    /// If it has another shape.
    pub fn parse(tuple: &mut Tuple<'a>, changes: &mut Vec<LogChange<'a>>) -> Result<(Self, bool), Malformed> {
        tuple.within(|list| {
            while let Some(change) = LogChange::next(list)? {
                changes.push(change);
            }
            Ok(())
        })?;
        let rev = tuple.number()?;
        let mut entry = LogEntry {
            rev: Some(Revnum(rev)).filter(|rev| *rev <= Revnum::MAX),
            author: tuple.maybe_string()?,
            date: tuple.maybe_string()?,
            message: tuple.maybe_string()?,
            ..LogEntry::default()
        };
        let has_revprops = !tuple.is_empty();
        if has_revprops {
            entry.has_children = tuple.boolean()?;
            if tuple.boolean()? {
                entry.rev = None;
            }
            tuple.number()?;
            tuple.within(|list| {
                while !list.is_empty() {
                    let prop = list.within(|prop| Ok((prop.text()?, prop.string()?)))?;
                    entry.revprops.push(prop);
                }
                Ok(())
            })?;
            entry.subtractive = !tuple.is_empty() && tuple.boolean()?;
        }
        Ok((entry, has_revprops))
    }
}

impl<'a> LogChange<'a> {
    /// Reads the next change of a list; `None` at its end.
    fn next(list: &mut Tuple<'a>) -> Result<Option<Self>, Malformed> {
        if list.is_empty() {
            return Ok(None);
        }
        list.within(LogChange::read).map(Some)
    }

    fn read(tuple: &mut Tuple<'a>) -> Result<Self, Malformed> {
        let path = tuple.text()?;
        let action = match tuple.word()? {
            "A" => 'A',
            "D" => 'D',
            "R" => 'R',
            "M" => 'M',
            _ => return Err(Malformed::Word),
        };
        let copyfrom = tuple.within(|bracket| match bracket.is_empty() {
            true => Ok(None),
            false => Ok(Some((bracket.text()?, revision(bracket)?))),
        })?;
        let mut change = LogChange {
            path,
            action,
            copyfrom,
            kind: NodeKind::Unknown,
            text_mods: false,
            prop_mods: false,
        };
        if !tuple.is_empty() {
            tuple.within(|facts| {
                if !facts.is_empty() {
                    change.kind = NodeKind::from_word(facts.string()?).unwrap_or(NodeKind::Unknown);
                }
                if !facts.is_empty() {
                    change.text_mods = facts.boolean()?;
                    change.prop_mods = facts.boolean()?;
                }
                Ok(())
            })?;
        }
        Ok(change)
    }
}

/// A revision of a file, as `get-file-revs` sends it. Its svndiff document follows in strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRev<'a> {
    /// The path in that revision.
    pub path: &'a str,
    /// The revision.
    pub rev: Revnum,
    /// Its revision properties.
    pub revprops: Props,
    /// Differences of the file's properties from the revision before.
    pub prop_changes: Vec<PropChange>,
    /// It was merged into the file.
    pub merged: bool,
}

impl<'a> FileRev<'a> {
    /// Reads the tuple.
    ///
    /// # Errors
    /// If it has another shape.
    pub fn parse(mut tuple: Tuple<'a>) -> Result<Self, Malformed> {
        Ok(FileRev {
            path: tuple.text()?,
            rev: revision(&mut tuple)?,
            revprops: parse_proplist(tuple.list()?)?,
            prop_changes: parse_prop_changes(tuple.list()?)?,
            merged: !tuple.is_empty() && tuple.boolean()?,
        })
    }
}

/// A range of revisions in which a node stayed at one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocationSegment<'a> {
    /// Oldest revision.
    pub start: Revnum,
    /// Youngest revision.
    pub end: Revnum,
    /// The path, without leading slash; `None` for a gap.
    pub path: Option<&'a str>,
}

impl<'a> LocationSegment<'a> {
    /// Reads the tuple.
    ///
    /// # Errors
    /// If it has another shape.
    pub fn parse(mut tuple: Tuple<'a>) -> Result<Self, Malformed> {
        Ok(LocationSegment {
            start: revision(&mut tuple)?,
            end: revision(&mut tuple)?,
            path: tuple.maybe_text()?,
        })
    }
}

/// The outcome for one path of `lock-many` and `unlock-many`.
#[derive(Clone, Debug)]
pub enum LockAnswer {
    /// The path was locked.
    Locked(Lock),
    /// The path was unlocked.
    Unlocked,
    /// The path was not handled.
    Failed(base::Error),
    /// The authentication request of the next command: the whole command has failed before.
    NextCommand,
}

impl LockAnswer {
    /// Reads the item.
    ///
    /// # Errors
    /// If it has another shape.
    pub fn parse(tuple: Tuple<'_>) -> Result<Self, Malformed> {
        let mut params = match Response::parse(tuple)? {
            Response::Failure(error) => return Ok(LockAnswer::Failed(error)),
            Response::Success(params) => params,
        };
        let mut rest = params;
        match params.next_item()? {
            Some(Item::List(_)) => Ok(LockAnswer::NextCommand),
            Some(Item::String(_)) if params.is_empty() => Ok(LockAnswer::Unlocked),
            Some(Item::String(_)) => parse_lock(&mut rest).map(LockAnswer::Locked),
            _ => Err(Malformed::Kind),
        }
    }
}

/// Reads differences of properties; without a value the property was deleted.
///
/// # Errors
/// If the list has another shape.
pub fn parse_prop_changes(mut list: Tuple<'_>) -> Result<Vec<PropChange>, Malformed> {
    let mut changes = Vec::new();
    while !list.is_empty() {
        let mut change = list.list()?;
        let name = change.text()?.to_owned();
        changes.push((name, change.maybe_string()?.map(<[u8]>::to_vec)));
    }
    Ok(changes)
}

/// Reads the properties of ancestors, root first.
///
/// # Errors
/// If the list has another shape.
pub fn parse_inherited(mut list: Tuple<'_>) -> Result<Vec<(RelPath, Props)>, Malformed> {
    let mut inherited = Vec::new();
    while !list.is_empty() {
        let mut ancestor = list.list()?;
        let path = RelPath::canonicalize(ancestor.text()?).map_err(|_| Malformed::Text)?;
        inherited.push((path, parse_proplist(ancestor.list()?)?));
    }
    Ok(inherited)
}

/// Reads a location: a revision and the absolute path in it.
///
/// # Errors
/// If the tuple has another shape.
pub fn parse_location(mut tuple: Tuple<'_>) -> Result<(Revnum, FsPath), Malformed> {
    let rev = revision(&mut tuple)?;
    let path = FsPath::canonicalize(tuple.text()?).map_err(|_| Malformed::Text)?;
    Ok((rev, path))
}

/// Reads a revision number.
///
/// # Errors
/// If the next element is not a number that a revision can have.
pub fn revision(tuple: &mut Tuple<'_>) -> Result<Revnum, Malformed> {
    match Revnum(tuple.number()?) {
        rev if rev <= Revnum::MAX => Ok(rev),
        _ => Err(Malformed::Overflow),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Writer;
    use super::super::command::Fields;
    use super::*;

    fn list(text: &[u8]) -> Tuple<'_> {
        Item::parse(text).and_then(Item::list).expect("a list")
    }

    #[test]
    fn log_entries_are_read_as_they_are_written() {
        let entry = LogEntry {
            rev: Some(Revnum(7)),
            author: Some(b"alice"),
            date: None,
            message: Some(b""),
            has_children: true,
            revprops: vec![("p", b"v")],
            subtractive: true,
        };
        let change = |copyfrom, kind| LogChange {
            path: "/a",
            action: 'R',
            copyfrom,
            kind,
            text_mods: true,
            prop_mods: false,
        };
        let changes = [
            change(None, NodeKind::File),
            change(Some(("/b", Revnum(3))), NodeKind::Dir),
        ];
        let mut out = Vec::new();
        entry.write(&mut Writer(&mut out), |w| {
            changes.iter().for_each(|change| change.write(w))
        });
        let mut back_changes = Vec::new();
        let (back, has_revprops) = LogEntry::parse(&mut list(&out), &mut back_changes).expect("an entry");
        assert!(has_revprops);
        assert_eq!(back, entry);
        assert_eq!(back_changes, changes);
        out.clear();
        LogEntry::default().write(&mut Writer(&mut out), |_| ());
        assert_eq!(
            LogEntry::parse(&mut list(&out), &mut Vec::new())
                .expect("an entry")
                .0,
            LogEntry::default()
        );
    }

    #[test]
    fn entries_of_old_servers_are_short() {
        let mut changes = Vec::new();
        let bytes = b"( ( ( 2:/a M ( ) ) ) 3 ( ) ( ) ( 1:m ) ) ";
        let (entry, has_revprops) = LogEntry::parse(&mut list(bytes), &mut changes).expect("an entry");
        assert_eq!(
            (entry.rev, entry.message, has_revprops),
            (Some(Revnum(3)), Some(&b"m"[..]), false)
        );
        let change = &changes[0];
        assert_eq!((change.kind, change.text_mods), (NodeKind::Unknown, false));
    }

    #[test]
    fn listed_entries_are_read_as_they_are_written() {
        let dirent = Dirent {
            kind: NodeKind::File,
            size: Some(5),
            has_props: true,
            created_rev: Revnum(9),
            date: Some(b"D"),
            author: Some(b"A"),
        };
        let mut out = Vec::new();
        dirent.write_listed(&mut Writer(&mut out), "/x", Fields::ALL);
        assert_eq!(Dirent::parse_listed(list(&out)), Ok(("/x", dirent)));
        out.clear();
        dirent.write_listed(&mut Writer(&mut out), "/x", Fields::KIND);
        let (_, kind_only) = Dirent::parse_listed(list(&out)).expect("an entry");
        assert_eq!((kind_only.kind, kind_only.size), (NodeKind::File, None));
        assert_eq!(Dirent::parse_stat(list(b"( ( ) ) ")), Ok(None));
        let stat = b"( ( ( dir 18446744073709551615 false 1 ( 1:D ) ( ) ) ) ) ";
        let found = Dirent::parse_stat(list(stat)).expect("valid").expect("an entry");
        assert_eq!((found.kind, found.size), (NodeKind::Dir, None));
    }

    #[test]
    fn answers_of_locks_differ_in_shape() {
        let parse = |text: &'static [u8]| LockAnswer::parse(list(text));
        let lock = b"( success ( 2:/a 1:t 5:alice ( ) 27:2026-11-21T19:22:03.801513Z ( ) ) ) ";
        assert!(matches!(parse(lock), Ok(LockAnswer::Locked(lock)) if lock.owner == "alice"));
        assert!(matches!(
            parse(b"( success ( 2:/a ) ) "),
            Ok(LockAnswer::Unlocked)
        ));
        assert!(matches!(
            parse(b"( success ( ( ) 0: ) ) "),
            Ok(LockAnswer::NextCommand)
        ));
        let failure = b"( failure ( ( 160035 0: 0: 0 ) ) ) ";
        assert!(matches!(parse(failure), Ok(LockAnswer::Failed(_))));
        assert!(parse(b"( success ( ) ) ").is_err());
    }

    #[test]
    fn the_other_answers() {
        let info = CommitInfo::parse(list(b"( 9 ( 1:D ) ( ) ( 1:e ) ) ")).expect("a commit");
        assert_eq!((info.rev, info.post_commit_error), (Revnum(9), Some(&b"e"[..])));
        assert!(CommitInfo::parse(list(b"( 18446744073709551615 ( ) ( ) ) ")).is_err());
        let rev = FileRev::parse(list(b"( 2:/a 3 ( ) ( ( 1:p ( ) ) ( 1:q ( 1:v ) ) ) true ) "))
            .expect("a revision");
        assert_eq!(
            rev.prop_changes,
            [("p".to_owned(), None), ("q".to_owned(), Some(b"v".to_vec()))]
        );
        assert!(rev.merged);
        let gap = LocationSegment::parse(list(b"( 5 8 ( ) ) ")).expect("a segment");
        assert_eq!((gap.start, gap.end, gap.path), (Revnum(5), Revnum(8), None));
        let inherited = parse_inherited(list(b"( ( 0: ( ( 2:rp 2:rv ) ) ) ( 1:d ( ) ) ) ")).expect("a list");
        assert_eq!(inherited[0].1["rp"], b"rv");
        assert!(parse_inherited(list(b"( ( 2:.. ( ) ) ) ")).is_err());
        assert_eq!(
            parse_location(list(b"( 4 2:/a ) ")).expect("a location").0,
            Revnum(4)
        );
    }
}
