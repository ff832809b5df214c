//! The folding of what happened, one thing after the other, into one entry a path.
//!
//! A transaction's log tells each change as it was made; a revision's list tells what came of them. Old revisions have lists
//! in which a path may still come several times.

use std::collections::BTreeMap;
use std::ops::Bound;

use base::FsPath;

use super::changes::{ChangeKind, ChangedPath, RawChange};
use super::decode_error;

decode_error! {
    /// Why a change log does not fold.
    FoldError {
        NewNodeWithoutDelete => FS_CORRUPT, "Invalid change ordering: new node revision ID without delete";
        NonAddOnDeleted => FS_CORRUPT, "Invalid change ordering: non-add change on deleted path";
        AddOnExisting => FS_CORRUPT, "Invalid change ordering: add change on preexisting path";
    }
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
pub(crate) enum FoldedChanges<'a> {
    /// Every path came once, and nothing was taken away: the entries as they are in the log.
    Borrowed(Vec<&'a RawChange>),
    /// Others.
    Owned(Vec<RawChange>),
}

impl FoldedChanges<'_> {
    /// Folds a log that stays where it is. That of a large import is only pointed at: copies would take more memory than the log.
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
                // A copy over what the transaction has changed already is refused too.
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

#[cfg(test)]
mod tests {
    use super::super::changes::parse;
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
            let folded = FoldedChanges::of(&log).expect("folds");
            assert_eq!(matches!(folded, FoldedChanges::Borrowed(_)), is_plain);
            let same: Vec<RawChange> = folded.iter().cloned().collect();
            assert_eq!(same.len(), folded.len());
            assert_eq!(same, fold(log.clone()).expect("folds"));
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
