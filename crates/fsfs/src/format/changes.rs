//! Changed-path lists, and the folding of a transaction's change log into one.
//!
//! An entry is two lines: `<id> <action>[-<kind>] <text-mod> <prop-mod> [<mergeinfo-mod>] <path>` and the copy source
//! (`<rev> <path>`, or empty). A revision's list ends with an empty line. The IDs are those of the transaction: never
//! resolve them, look the path up.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;

use base::{FsPath, NodeKind, Revnum};

use super::change_list::{Change, ChangeList, ListBuilder};
use super::decode_error;
use super::id::{NodeRevId, skip_id};
use super::number::{BadRev, parse_rev};

decode_error! {
    /// Why a changed-path list is not usable.
    ChangesError {
        Line => FS_CORRUPT, "Invalid changes line in rev-file";
        Id => FS_MALFORMED_NODEREV_ID, "Malformed node revision ID string in changes line";
        Action => FS_CORRUPT, "Invalid change kind in rev file";
        Kind => FS_CORRUPT, "Invalid node kind in rev-file";
        TextFlag => FS_CORRUPT, "Invalid text-mod flag in rev-file";
        PropFlag => FS_CORRUPT, "Invalid prop-mod flag in rev-file";
        MergeinfoFlag => FS_CORRUPT, "Invalid mergeinfo-mod flag in rev-file";
        Path => FS_CORRUPT, "Invalid path in changes line";
        PathBytes => FS_PATH_SYNTAX, "The path in a changes line is not UTF-8";
        UnknownPath => FS_NOT_FOUND, "A path that is not UTF-8 is neither a file nor a directory";
        CopyFrom => FS_CORRUPT, "Invalid copy source in changes line";
        CopyRevision => REVNUM_PARSE_FAILURE, "Invalid revision number of a copy in changes line";
        End => FS_CORRUPT, "Changed-path list ends early";
    }
}

decode_error! {
    /// Why a change log does not fold.
    FoldError {
        NewNodeWithoutDelete => FS_CORRUPT, "Invalid change ordering: new node revision ID without delete";
        NonAddOnDeleted => FS_CORRUPT, "Invalid change ordering: non-add change on deleted path";
        AddOnExisting => FS_CORRUPT, "Invalid change ordering: add change on preexisting path";
    }
}

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Its text or properties changed.
    Modify,
    /// It was added, perhaps as a copy.
    Add,
    /// It was deleted.
    Delete,
    /// It was deleted and added.
    Replace,
}

impl ChangeKind {
    fn word(self) -> &'static str {
        match self {
            ChangeKind::Modify => "modify",
            ChangeKind::Add => "add",
            ChangeKind::Delete => "delete",
            ChangeKind::Replace => "replace",
        }
    }
}

/// One entry of a revision's changed-path list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedPath {
    /// The path.
    pub path: FsPath,
    /// What happened to it.
    pub change: ChangeKind,
    /// Unknown in revisions written by formats < 4.
    pub node_kind: NodeKind,
    /// The text changed.
    pub text_mod: bool,
    /// The properties changed.
    pub prop_mod: bool,
    /// `svn:mergeinfo` changed; `None` = not recorded (formats < 7).
    pub mergeinfo_mod: Option<bool>,
    /// Copy source.
    pub copyfrom: Option<(Revnum, FsPath)>,
}

/// One entry as stored: with its ID; `change` is missing for the historical action `reset`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawChange {
    pub(crate) id: NodeRevId,
    pub(crate) is_reset: bool,
    pub(crate) info: ChangedPath,
}

/// Reads a list: up to its empty line, or (a transaction's log) to the end of the input.
pub(crate) fn parse(text: &[u8], ends_with_input: bool) -> Result<Vec<RawChange>, ChangesError> {
    // A real entry takes at least 30 bytes.
    let mut list = Vec::with_capacity(text.len() / 64);
    parse_each(text, ends_with_input, parse_line, |(id, is_reset), change| {
        list.push(RawChange {
            id,
            is_reset,
            info: change.to_owned(),
        });
    })?;
    Ok(list)
}

/// What [`normalize`] makes of a revision's list, without the detour where the list is normal already.
pub(crate) fn parse_normal(text: &[u8]) -> Result<ChangeList, ChangesError> {
    thread_local! {
        static BUFFER: RefCell<String> = const { RefCell::new(String::new()) };
    }
    let mut list = ListBuilder::new(BUFFER.take());
    let mut last = None;
    let mut is_normal = true;
    let line = |line| match quick_line(line) {
        Some(change) => Ok((false, change)),
        None => parse_line(line).map(|((_, is_reset), change)| (is_reset, change)),
    };
    parse_each(text, false, line, |is_reset, change| {
        is_normal &= last < Some(change.path) && !is_reset;
        last = Some(change.path);
        list.push(&change);
    })?;
    let (list, buffer) = list.finish_in();
    if buffer.capacity() <= KEPT_BUFFER {
        BUFFER.set(buffer);
    }
    match is_normal {
        true => Ok(list),
        false => Ok(normalize(parse(text, false)?).iter().collect()),
    }
}

/// The most memory that a thread keeps to make lists in, bytes.
const KEPT_BUFFER: usize = 64 << 10;

/// Gives `each` the entries, as `line` reads the first line of one.
fn parse_each<'a, T>(
    text: &'a [u8],
    ends_with_input: bool,
    line: impl Fn(&'a [u8]) -> Result<(T, Change<'a>), ChangesError>,
    mut each: impl FnMut(T, Change<'a>),
) -> Result<(), ChangesError> {
    let mut lines = Lines(text);
    loop {
        let first = match lines.next_line() {
            Some(first) => first,
            None if ends_with_input && lines.0.is_empty() => return Ok(()),
            None => return Err(ChangesError::End),
        };
        if first.is_empty() {
            return Ok(());
        }
        let (of_line, mut change) = line(first)?;
        let source = lines.next_line().ok_or(ChangesError::End)?;
        if !source.is_empty() {
            let space = memchr::memchr(b' ', source).unwrap_or(source.len());
            let rev = parse_rev(&source[..space]).map_err(|e| match e {
                BadRev::NoDigit => ChangesError::CopyRevision,
                BadRev::Junk => ChangesError::CopyFrom,
            })?;
            let path = source.get(space + 1..).ok_or(ChangesError::CopyFrom)?;
            change.copyfrom = Some((
                rev,
                parse_path(path, ChangesError::CopyFrom, ChangesError::UnknownPath)?,
            ));
        }
        each(of_line, change);
    }
}

/// [`parse_line`] for what nearly all lines are, in a third of the time: nothing is made of the ID. `None` says only that the
/// line is another one, or malformed.
fn quick_line(line: &[u8]) -> Option<Change<'_>> {
    let mut rest = skip_id(line)?.strip_prefix(b" ")?;
    let actions: [(&[u8], ChangeKind); 4] = [
        (b"modify-", ChangeKind::Modify),
        (b"add-", ChangeKind::Add),
        (b"delete-", ChangeKind::Delete),
        (b"replace-", ChangeKind::Replace),
    ];
    let mut word = |word: &[u8]| rest.strip_prefix(word).map(|left| rest = left).is_some();
    let (_, change) = actions.into_iter().find(|(action, _)| word(action))?;
    let node_kind = match word(b"file ") {
        true => NodeKind::File,
        false if word(b"dir ") => NodeKind::Dir,
        false => return None,
    };
    let mut flag = || match word(b"true ") {
        true => Some(true),
        false => word(b"false ").then_some(false),
    };
    let (text_mod, prop_mod, mergeinfo_mod) = (flag()?, flag()?, flag());
    let path = str::from_utf8(rest).ok()?;
    FsPath::is_canonical(path).then_some(Change {
        path,
        change,
        node_kind,
        text_mod,
        prop_mod,
        mergeinfo_mod,
        copyfrom: None,
    })
}

fn parse_line(line: &[u8]) -> Result<((NodeRevId, bool), Change<'_>), ChangesError> {
    let mut rest = line;
    let mut field = || {
        let space = memchr::memchr(b' ', rest).ok_or(ChangesError::Line)?;
        let field = &rest[..space];
        rest = &rest[space + 1..];
        Ok(field)
    };
    let id = NodeRevId::parse(field()?).map_err(|_| ChangesError::Id)?;
    let action = field()?;
    let (action, node_kind) = match action.iter().position(|&b| b == b'-') {
        None => (action, NodeKind::Unknown),
        Some(dash) => match &action[dash + 1..] {
            b"file" => (&action[..dash], NodeKind::File),
            b"dir" => (&action[..dash], NodeKind::Dir),
            _ => return Err(ChangesError::Kind),
        },
    };
    let (change, is_reset) = match action {
        b"modify" => (ChangeKind::Modify, false),
        b"add" => (ChangeKind::Add, false),
        b"delete" => (ChangeKind::Delete, false),
        b"replace" => (ChangeKind::Replace, false),
        b"reset" => (ChangeKind::Modify, true),
        _ => return Err(ChangesError::Action),
    };
    let text_mod = parse_flag(field()?).ok_or(ChangesError::TextFlag)?;
    let prop_mod = parse_flag(field()?).ok_or(ChangesError::PropFlag)?;
    let mergeinfo_mod = if rest.first() == Some(&b'/') {
        None
    } else {
        let space = memchr::memchr(b' ', rest).ok_or(ChangesError::Line)?;
        let flag = parse_flag(&rest[..space]).ok_or(ChangesError::MergeinfoFlag)?;
        rest = &rest[space + 1..];
        Some(flag)
    };
    // Where the kind is not recorded, the incumbent looks the path up first.
    let not_utf8 = match node_kind {
        NodeKind::Unknown => ChangesError::UnknownPath,
        _ => ChangesError::PathBytes,
    };
    let path = parse_path(rest, ChangesError::Path, not_utf8)?;
    let change = Change {
        path,
        change,
        node_kind,
        text_mod,
        prop_mod,
        mergeinfo_mod,
        copyfrom: None,
    };
    Ok(((id, is_reset), change))
}

fn parse_path(path: &[u8], malformed: ChangesError, not_utf8: ChangesError) -> Result<&str, ChangesError> {
    let path = str::from_utf8(path).map_err(|_| not_utf8)?;
    match FsPath::is_canonical(path) {
        true => Ok(path),
        false => Err(malformed),
    }
}

fn parse_flag(word: &[u8]) -> Option<bool> {
    match word {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}

/// Appends one entry; what `info` does not know (kind, mergeinfo flag) is left out.
pub(crate) fn encode_entry(out: &mut Vec<u8>, entry: &RawChange) {
    let info = &entry.info;
    let action = if entry.is_reset {
        "reset"
    } else {
        info.change.word()
    };
    let mut text = format!("{} {action}", entry.id);
    if matches!(info.node_kind, NodeKind::File | NodeKind::Dir) {
        text.push('-');
        text.push_str(info.node_kind.word());
    }
    text.push_str(&format!(" {} {}", info.text_mod, info.prop_mod));
    if let Some(flag) = info.mergeinfo_mod {
        text.push_str(&format!(" {flag}"));
    }
    text.push_str(&format!(" {}\n", info.path));
    if let Some((rev, path)) = &info.copyfrom {
        text.push_str(&format!("{rev} {path}"));
    }
    text.push('\n');
    out.extend_from_slice(text.as_bytes());
}

/// What stands behind the last entry of a revision's list: an empty line.
pub(crate) const END: u8 = b'\n';

/// Appends a revision's list, entries in the given order, and its end.
pub(crate) fn encode(out: &mut Vec<u8>, entries: &[RawChange]) {
    for entry in entries {
        encode_entry(out, entry);
    }
    out.push(END);
}

/// Folds a change log, in the order in which things happened, into one entry a path, sorted by path.
pub(crate) fn fold(log: impl IntoIterator<Item = RawChange>) -> Result<Vec<RawChange>, FoldError> {
    let mut folding = Folding::default();
    for change in log {
        folding.add(change)?;
    }
    Ok(folding.live.into_values().collect())
}

/// A log that was folded, sorted by path.
pub(crate) enum Folded<'a> {
    /// Every path came once, and nothing was taken away: the entries as they are in the log.
    Plain(Vec<&'a RawChange>),
    /// Others.
    Made(Vec<RawChange>),
}

impl Folded<'_> {
    /// Folds a log that stays where it is. That of a large import is only pointed at: copies would take more memory than the log.
    pub(crate) fn of(log: &[RawChange]) -> Result<Folded<'_>, FoldError> {
        let is_plain = |change: &RawChange| {
            !change.is_reset && matches!(change.info.change, ChangeKind::Add | ChangeKind::Modify)
        };
        if log.iter().all(is_plain) {
            let mut list: Vec<&RawChange> = log.iter().collect();
            list.sort_unstable_by(|a, b| a.info.path.cmp(&b.info.path));
            if list.windows(2).all(|pair| pair[0].info.path != pair[1].info.path) {
                return Ok(Folded::Plain(list));
            }
        }
        fold(log.iter().cloned()).map(Folded::Made)
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Folded::Plain(list) => list.len(),
            Folded::Made(list) => list.len(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &RawChange> {
        let (plain, made) = match self {
            Folded::Plain(list) => (&list[..], &[][..]),
            Folded::Made(list) => (&[][..], &list[..]),
        };
        plain.iter().copied().chain(made)
    }
}

/// Turns a stored list into what callers get: one entry a path, sorted by path bytes. New revisions are stored like
/// that; in old ones a path may come several times, and where they do not fold the last entry counts.
pub(crate) fn normalize(list: Vec<RawChange>) -> Vec<ChangedPath> {
    let is_normal = list.windows(2).all(|pair| pair[0].info.path < pair[1].info.path);
    if is_normal && list.iter().all(|change| !change.is_reset) {
        return list.into_iter().map(|change| change.info).collect();
    }
    let mut paths: Vec<&FsPath> = list.iter().map(|change| &change.info.path).collect();
    paths.sort_unstable();
    let is_unique = paths.windows(2).all(|pair| pair[0] != pair[1]);
    let by_path = if is_unique {
        list.into_iter()
            .map(|change| (change.info.path.clone(), change))
            .collect()
    } else {
        let mut folding = Folding::default();
        for change in list {
            if let Err(change) = folding.try_add(change) {
                folding.live.insert(change.1.info.path.clone(), change.1);
            }
        }
        folding.live
    };
    by_path
        .into_values()
        .filter(|change| !change.is_reset)
        .map(|change| change.info)
        .collect()
}

#[derive(Default)]
struct Folding {
    live: BTreeMap<FsPath, RawChange>,
    /// For paths whose live entry is a replacement: the delete that it started with.
    deletes: BTreeMap<FsPath, RawChange>,
}

impl Folding {
    fn add(&mut self, change: RawChange) -> Result<(), FoldError> {
        self.try_add(change).map_err(|(error, _)| error)
    }

    /// Gives the change back if it does not fit what happened before.
    fn try_add(&mut self, change: RawChange) -> Result<(), (FoldError, RawChange)> {
        use ChangeKind::{Add, Delete, Modify, Replace};
        let path = change.info.path.clone();
        let drops_children = !change.is_reset && matches!(change.info.change, Delete | Replace);
        match self.live.get_mut(&path) {
            _ if change.is_reset => {
                self.live.remove(&path);
                self.deletes.remove(&path);
            }
            None => {
                self.live.insert(path.clone(), change);
            }
            Some(old) => {
                let (before, now) = (old.info.change, change.info.change);
                if before != Delete && now != Delete && old.id != change.id && now != Replace {
                    return Err((FoldError::NewNodeWithoutDelete, change));
                }
                match (before, now) {
                    (Delete, Add | Replace) => {
                        let mut new = change;
                        new.info.change = Replace;
                        let delete = std::mem::replace(old, new);
                        self.deletes.insert(path.clone(), delete);
                    }
                    (Delete, Modify | Delete) => return Err((FoldError::NonAddOnDeleted, change)),
                    (_, Add) => return Err((FoldError::AddOnExisting, change)),
                    (_, Modify) => {
                        old.info.text_mod |= change.info.text_mod;
                        old.info.prop_mod |= change.info.prop_mod;
                        if change.info.mergeinfo_mod == Some(true) || old.info.mergeinfo_mod.is_none() {
                            old.info.mergeinfo_mod = change.info.mergeinfo_mod;
                        }
                    }
                    (Add, Delete) => {
                        self.live.remove(&path);
                    }
                    (Replace, Delete) => match self.deletes.remove(&path) {
                        Some(delete) => *old = delete,
                        None => *old = change,
                    },
                    (Modify, Delete) => *old = change,
                    (_, Replace) => *old = change,
                }
            }
        }
        if drops_children {
            self.drop_below(&path);
        }
        Ok(())
    }

    fn drop_below(&mut self, path: &FsPath) {
        let start = if path.is_root() {
            "/".to_owned()
        } else {
            format!("{path}/")
        };
        for map in [&mut self.live, &mut self.deletes] {
            let below: Vec<FsPath> = map
                .range::<str, _>((Bound::Excluded(start.as_str()), Bound::Unbounded))
                .take_while(|(below, _)| below.starts_with(&start))
                .map(|(below, _)| below.clone())
                .collect();
            for path in below {
                map.remove(&*path);
            }
        }
    }
}

struct Lines<'a>(&'a [u8]);

impl<'a> Lines<'a> {
    fn next_line(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(b'\n', self.0)?;
        let line = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_stays_folds_to_the_same() {
        let add = |path: &str| format!("_2.0.t0-0 add-file true false {path}\n\n");
        let touch = |path: &str| format!("_2.0.t0-0 modify-file false true {path}\n\n");
        for (log, is_plain) in [
            (add("/b") + &add("/a") + &touch("/a b") + &add("/a/x"), true),
            (add("/b") + &add("/a") + &touch("/b"), false),
            (add("/b") + "1-1.0.r2/6 delete-dir false false /a\n\n", false),
        ] {
            let log = parse(log.as_bytes(), true).expect("well-formed");
            let folded = Folded::of(&log).expect("folds");
            assert_eq!(matches!(folded, Folded::Plain(_)), is_plain);
            let same: Vec<RawChange> = folded.iter().cloned().collect();
            assert_eq!(same.len(), folded.len());
            assert_eq!(same, fold(log.clone()).expect("folds"));
        }
    }

    const REAL: &str = "2-1.0.r2/6 delete-file false false false /branches/b1/hello.txt\n\n\
                        0-1._0.t2-2 add-dir false false false /branches/b2\n2 /trunk\n\
                        0-1.0.t4-4 modify-dir false true true /trunk\n\n\n";

    #[test]
    fn real_lists_round_trip() {
        for text in [
            REAL,
            "\n",
            "_2.0.t0-0 add true false /trunk/a b\n\n\n",
            "_0.0.t0-0 add-dir false false /t\n\n\n",
        ] {
            let list = parse(text.as_bytes(), false).expect(text);
            let mut out = Vec::new();
            encode(&mut out, &list);
            assert_eq!(String::from_utf8_lossy(&out), text);
            for cut in 0..text.len() {
                assert_eq!(parse(&text.as_bytes()[..cut], false), Err(ChangesError::End));
            }
        }
    }

    #[test]
    fn malformed_lists_are_refused() {
        for (text, error) in [
            ("0.0.t0-0\n\n\n", ChangesError::Line),
            ("x add true true /a\n\n\n", ChangesError::Id),
            ("0.0.t0-0 link true true /a\n\n\n", ChangesError::Action),
            ("0.0.t0-0 add-link true true /a\n\n\n", ChangesError::Kind),
            ("0.0.t0-0 add 1 true /a\n\n\n", ChangesError::TextFlag),
            ("0.0.t0-0 add true 1 /a\n\n\n", ChangesError::PropFlag),
            ("0.0.t0-0 add true true 1 /a\n\n\n", ChangesError::MergeinfoFlag),
            ("0.0.t0-0 add true true true a\n\n\n", ChangesError::Path),
            ("0.0.t0-0 add true true /a//\n\n\n", ChangesError::Path),
            ("0.0.t0-0 add true true /a\n(3\n\n", ChangesError::CopyRevision),
            ("0.0.t0-0 add true true /a\n1x/b\n\n", ChangesError::CopyFrom),
            ("0.0.t0-0 add true true /a\n1234\n\n", ChangesError::CopyFrom),
            ("0.0.t0-0 add true true /a\n/b\n\n", ChangesError::CopyRevision),
        ] {
            assert_eq!(parse(text.as_bytes(), false), Err(error), "{text:?}");
        }
        for (text, error) in [
            (
                &b"0.0.t0-0 add true true /\xe9\n\n\n"[..],
                ChangesError::UnknownPath,
            ),
            (
                b"0.0.t0-0 add-file true true /\xe9\n\n\n",
                ChangesError::PathBytes,
            ),
            (
                b"0.0.t0-0 add true true /a\n1 /\xe9\n\n",
                ChangesError::UnknownPath,
            ),
        ] {
            assert_eq!(parse(text, false), Err(error));
        }
    }

    fn log(text: &str) -> Vec<RawChange> {
        // `<id> <action> <path>` a line, as short-hand.
        let lines = text.lines().map(|line| {
            let parts: Vec<_> = line.split(' ').collect();
            format!(
                "{}.0.t1-1 {}-file true false false {}\n\n",
                parts[0], parts[1], parts[2]
            )
        });
        parse(lines.collect::<String>().as_bytes(), true).expect("well-formed")
    }

    fn folded(text: &str) -> Result<Vec<String>, FoldError> {
        let list = fold(log(text))?;
        Ok(list
            .iter()
            .map(|c| format!("{} {} {}", c.id.node, c.info.change.word(), c.info.path))
            .collect())
    }

    #[test]
    fn folding_rules() {
        for (text, result) in [
            ("_1 add /a\n_1 modify /a", vec!["_1 add /a"]),
            ("_1 add /a\n_1 delete /a", vec![]),
            ("1 delete /a\n_1 add /a", vec!["_1 replace /a"]),
            ("1 delete /a\n_1 add /a\n_1 delete /a", vec!["1 delete /a"]),
            ("1 modify /a\n1 delete /a", vec!["1 delete /a"]),
            (
                "1 modify /d/x\n2 modify /d.x\n3 delete /d",
                vec!["3 delete /d", "2 modify /d.x"],
            ),
            ("1 modify /a\n1 reset /a", vec![]),
            ("2 modify /b\n1 modify /a", vec!["1 modify /a", "2 modify /b"]),
        ] {
            assert_eq!(folded(text).expect(text), result, "{text}");
        }
        assert_eq!(
            folded("1 delete /a\n1 modify /a"),
            Err(FoldError::NonAddOnDeleted)
        );
        assert_eq!(folded("1 modify /a\n1 add /a"), Err(FoldError::AddOnExisting));
        assert_eq!(
            folded("1 modify /a\n2 modify /a"),
            Err(FoldError::NewNodeWithoutDelete)
        );
    }

    #[test]
    fn flags_are_joined() {
        let list = parse(
            b"1.0.t1-1 modify-file true false false /a\n\n1.0.t1-1 modify-file false true true /a\n\n",
            true,
        );
        let list = fold(list.expect("well-formed")).expect("folds");
        let info = &list[0].info;
        assert!(info.text_mod && info.prop_mod && info.mergeinfo_mod == Some(true));
    }

    #[test]
    fn a_list_is_normal_without_the_detour() {
        let line = |action: &str, path: &str| format!("1.0.t1-1 {action}-file true false false {path}\n\n");
        for lines in [
            vec![],
            vec![("add", "/a"), ("modify", "/b")],
            vec![("add", "/b"), ("modify", "/a")],
            vec![("modify", "/a"), ("modify", "/a")],
            vec![("add", "/a"), ("reset", "/b")],
        ] {
            let text: String = lines.iter().map(|(action, path)| line(action, path)).collect();
            let text = text + "\n";
            let stored = parse(text.as_bytes(), false).expect("well-formed");
            let list = parse_normal(text.as_bytes()).map(|list| list.to_vec());
            assert_eq!(list, Ok(normalize(stored)), "{text}");
        }
        assert_eq!(parse_normal(b"x add true true /a\n\n\n"), Err(ChangesError::Id));
    }

    #[test]
    fn quickly_read_lines_are_read_alike() {
        let ids = [
            "2-1.0.r2/6",
            "0-1._0.t2-2",
            "_2.0.t0-0",
            "_2-1.0.r1/1",
            "1.0.r1",
            "zz.z-9.r10/1234",
        ];
        let words = [
            "modify-file",
            "add-dir",
            "delete",
            "replace-file",
            "reset-dir",
            "add-link",
            "",
        ];
        let flags = ["true", "false", "maybe", ""];
        let paths = ["/", "/a b", "a", "/a/", "/ä", ""];
        let mut quick = 0;
        for id in ids {
            for word in words {
                for [a, b, c] in flags
                    .iter()
                    .flat_map(|a| flags.map(|b| flags.map(|c| [a, b, c])))
                    .flatten()
                {
                    for path in paths {
                        for line in [
                            format!("{id} {word} {a} {b} {c} {path}"),
                            format!("{id} {word} {a} {b} {path}"),
                        ] {
                            if let Some(change) = quick_line(line.as_bytes()) {
                                quick += 1;
                                let thorough = parse_line(line.as_bytes());
                                assert_eq!(thorough.map(|(_, change)| change), Ok(change), "{line}");
                            }
                        }
                    }
                }
            }
        }
        assert!(quick > 500, "{quick}");
    }

    #[test]
    fn old_lists_come_out_sorted_with_one_entry_a_path() {
        let normal = |text| {
            normalize(log(text))
                .iter()
                .map(|c| format!("{:?} {}", c.change, c.path))
                .collect::<Vec<_>>()
        };
        assert_eq!(normal("2 modify /b\n1 modify /a"), ["Modify /a", "Modify /b"]);
        assert_eq!(normal("1 delete /a\n_1 add /a"), ["Replace /a"]);
        assert_eq!(
            normal("1 modify /a\n2 modify /a"),
            ["Modify /a"],
            "a sequence that does not fold"
        );
    }
}
