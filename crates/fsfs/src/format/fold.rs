//! Folding of a log of changes into one entry for each path.
//!
//! The log of a transaction has each change as it was made. The list of a revision has the result. In old revisions,
//! a path may still have several entries.
//!
//! | earlier entry | change | result |
//! |---|---|---|
//! | any or none | `reset` | no entry |
//! | none | any other | the change |
//! | `add`, `modify`, `replace` | any but `delete`, with another ID | error |
//! | `delete` | `add`, `replace` | `replace` |
//! | `delete` | `modify`, `delete` | error |
//! | `add`, `modify`, `replace` | `add` | error |
//! | `add`, `modify`, `replace` | `modify` | the earlier entry, with the flags of both |
//! | `add` | `delete` | no entry |
//! | `replace` | `delete` | the `delete` before the replacement |
//! | `modify` | `delete` | `delete` |
//! | `add`, `modify`, `replace` | `replace` | the change |
//! | `add` (FSX, where entries have no ID) | `replace` | the change, as an `add` |
//!
//! A `delete` or `replace` also removes the entries of all paths below.

use std::collections::BTreeMap;
use std::ops::Bound;

use base::FsPath;

use super::changes::{ChangeKind, ChangedPath, RawChange};
use super::decode_error;

decode_error! {
    /// Why a log cannot be folded.
    FoldError {
        NewNodeWithoutDelete => FS_CORRUPT, "Invalid change ordering: new node revision ID without delete";
        NonAddOnDeleted => FS_CORRUPT, "Invalid change ordering: non-add change on deleted path";
        AddOnExisting => FS_CORRUPT, "Invalid change ordering: add change on preexisting path";
    }
}

/// Folds a log, oldest change first, into one entry for each path, sorted by path.
pub(crate) fn fold(log: impl IntoIterator<Item = RawChange>) -> Result<Vec<RawChange>, FoldError> {
    let mut folding = Folding::default();
    for change in log {
        folding.add(change)?;
    }
    Ok(folding.entries.into_values().collect())
}

/// The result of folding a log, sorted by path.
pub(crate) enum FoldedChanges<'a> {
    /// The entries of the log: each path has one, and none is a deletion.
    Borrowed(Vec<&'a RawChange>),
    /// New entries.
    Owned(Vec<RawChange>),
}

impl FoldedChanges<'_> {
    /// Folds a log without consuming it. For a large import, the result only points to the log: copies would take
    /// more memory than the log itself.
    pub(crate) fn of(log: &[RawChange]) -> Result<FoldedChanges<'_>, FoldError> {
        let is_plain = |change: &RawChange| {
            !change.is_reset && matches!(change.info.change, ChangeKind::Add | ChangeKind::Modify)
        };
        if log.iter().all(is_plain) {
            let mut list: Vec<&RawChange> = log.iter().collect();
            list.sort_unstable_by(|a, b| a.info.path.cmp(&b.info.path));
            if list.windows(2).all(|pair| pair[0].info.path != pair[1].info.path) {
                return Ok(FoldedChanges::Borrowed(list));
            }
        }
        fold(log.iter().cloned()).map(FoldedChanges::Owned)
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            FoldedChanges::Borrowed(list) => list.len(),
            FoldedChanges::Owned(list) => list.len(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &RawChange> {
        let (plain, made) = match self {
            FoldedChanges::Borrowed(list) => (&list[..], &[][..]),
            FoldedChanges::Owned(list) => (&[][..], &list[..]),
        };
        plain.iter().copied().chain(made)
    }
}

/// Makes the list for callers out of a stored one: one entry for each path, sorted by the bytes of the path. New
/// revisions are stored like that. In old ones a path may have several entries; where they cannot be folded, the last
/// one counts.
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
                folding.entries.insert(change.1.info.path.clone(), change.1);
            }
        }
        folding.entries
    };
    by_path
        .into_values()
        .filter(|change| !change.is_reset)
        .map(|change| change.info)
        .collect()
}

#[derive(Default)]
struct Folding {
    entries: BTreeMap<FsPath, RawChange>,
    /// For paths whose entry is a replacement: the deletion that it started with.
    deletes: BTreeMap<FsPath, RawChange>,
}

impl Folding {
    fn add(&mut self, change: RawChange) -> Result<(), FoldError> {
        self.try_add(change).map_err(|(error, _)| error)
    }

    /// Adds a change. Returns it with the error if it does not fit to the earlier ones.
    fn try_add(&mut self, change: RawChange) -> Result<(), (FoldError, RawChange)> {
        use ChangeKind::{Add, Delete, Modify, Replace};
        let path = change.info.path.clone();
        let drops_children = !change.is_reset && matches!(change.info.change, Delete | Replace);
        match self.entries.get_mut(&path) {
            _ if change.is_reset => {
                self.entries.remove(&path);
                self.deletes.remove(&path);
            }
            None => {
                self.entries.insert(path.clone(), change);
            }
            Some(old) => {
                let (before, now) = (old.info.change, change.info.change);
                // A copy over a path that the transaction has changed already is an error, too.
                if before != Delete && now != Delete && old.id != change.id {
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
                        self.entries.remove(&path);
                    }
                    (Replace, Delete) => match self.deletes.remove(&path) {
                        Some(delete) => *old = delete,
                        None => *old = change,
                    },
                    (Modify, Delete) => *old = change,
                    (Add, Replace) if !change.has_id() => {
                        // A copy over a node that the transaction has added: nothing was there before.
                        *old = change;
                        old.info.change = Add;
                    }
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
        for map in [&mut self.entries, &mut self.deletes] {
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

#[cfg(test)]
mod tests {
    use super::super::changes::parse;
    use super::*;

    #[test]
    fn a_borrowed_log_folds_to_the_same_list() {
        let add = |path: &str| format!("_2.0.t0-0 add-file true false {path}\n\n");
        let touch = |path: &str| format!("_2.0.t0-0 modify-file false true {path}\n\n");
        for (log, is_plain) in [
            (add("/b") + &add("/a") + &touch("/a b") + &add("/a/x"), true),
            (add("/b") + &add("/a") + &touch("/b"), false),
            (add("/b") + "1-1.0.r2/6 delete-dir false false /a\n\n", false),
        ] {
            let log = parse(log.as_bytes(), true).expect("well-formed");
            let folded = FoldedChanges::of(&log).expect("folds");
            assert_eq!(matches!(folded, FoldedChanges::Borrowed(_)), is_plain);
            let same: Vec<RawChange> = folded.iter().cloned().collect();
            assert_eq!(same.len(), folded.len());
            assert_eq!(same, fold(log.clone()).expect("folds"));
        }
    }

    fn log_entries(text: &str) -> Vec<RawChange> {
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
        let list = fold(log_entries(text))?;
        Ok(list
            .iter()
            .map(|c| format!("{} {} {}", c.id.node, c.info.change.word(), c.info.path))
            .collect())
    }

    #[test]
    fn a_copy_over_a_new_node_is_an_addition_where_entries_have_no_id() {
        let log = "_1 add /a\n_1 modify /b\n_1 replace /a\n_1 replace /b";
        let without_ids = log_entries(log)
            .into_iter()
            .map(|change| RawChange::without_id(change.info));
        let list = fold(without_ids).expect("folds");
        let kinds: Vec<_> = list.iter().map(|change| change.info.change.word()).collect();
        assert_eq!(kinds, ["add", "replace"]);
        assert_eq!(
            folded(log),
            Ok(vec!["_1 replace /a".to_owned(), "_1 replace /b".to_owned()])
        );
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
        for text in [
            "1 modify /a\n2 modify /a",
            "1 modify /a\n2 replace /a",
            "1 add /a\n2 replace /a",
            "1 replace /a\n2 replace /a",
        ] {
            assert_eq!(folded(text), Err(FoldError::NewNodeWithoutDelete), "{text}");
        }
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
    fn old_lists_are_sorted_with_one_entry_for_each_path() {
        let normal = |text| {
            normalize(log_entries(text))
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
