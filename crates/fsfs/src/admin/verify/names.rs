//! Names that look alike: the same characters in different Unicode compositions.
//!
//! Unicode can write `é` as one character or as two. Both forms may be in one directory or in one mergeinfo, and most users and
//! many file systems cannot tell them apart. That is no damage, so it is a warning.

use std::collections::HashSet;

use base::{FsPath, Result, props};
use unicode_normalization::{UnicodeNormalization as _, is_nfc_quick};

use crate::format::changes::{ChangeKind, ChangedPath};
use crate::tree::root::Root;

/// A warning of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerifyWarning {
    /// A directory has several entries with this normal form; the path is relative to the root.
    NameCollision(String),
    /// `svn:mergeinfo` has several sources with this normal form.
    MergeinfoCollision {
        /// The normal form of the source path.
        source: String,
        /// The node with the property, relative to the root.
        node: String,
    },
}

/// Checks the directories in which something was added, and changed mergeinfo.
///
/// # Errors
/// Those of reading the tree.
pub(super) fn check(root: &Root, changes: &[ChangedPath]) -> Result<Vec<VerifyWarning>> {
    let mut warnings = Vec::new();
    let mut order: Vec<&ChangedPath> = changes.iter().collect();
    order.sort_by(|a, b| a.path.cmp_tree(&b.path));
    // A directory is checked when the walk leaves it, as an editor closes it: this is the order of the warnings.
    let mut open: Vec<FsPath> = Vec::new();
    for change in order {
        while open.last().is_some_and(|dir| !dir.contains(&change.path)) {
            warnings.extend(
                open.pop()
                    .map(|dir| directory(root, &dir))
                    .transpose()?
                    .unwrap_or_default(),
            );
        }
        if change.change == ChangeKind::Delete {
            continue;
        }
        let is_new = matches!(change.change, ChangeKind::Add | ChangeKind::Replace);
        if let Some(dir) = change
            .path
            .parent()
            .filter(|dir| is_new && open.last() != Some(dir))
        {
            open.push(dir);
        }
        if change.prop_mod && change.mergeinfo_mod != Some(false) {
            mergeinfo(root, &change.path, &mut warnings)?;
        }
    }
    while let Some(dir) = open.pop() {
        warnings.extend(directory(root, &dir)?);
    }
    Ok(warnings)
}

fn directory(root: &Root, dir: &FsPath) -> Result<Vec<VerifyWarning>> {
    let entries = root.node(dir)?.entries()?;
    let names = collisions(entries.iter().map(|entry| entry.name));
    Ok(names
        .into_iter()
        .map(|name| VerifyWarning::NameCollision(dir.join_str(&name).rel_str().to_owned()))
        .collect())
}

fn mergeinfo(root: &Root, path: &FsPath, warnings: &mut Vec<VerifyWarning>) -> Result<()> {
    let Some(value) = root.node(path)?.prop(props::MERGEINFO)? else {
        return Ok(());
    };
    let value = String::from_utf8_lossy(&value);
    let sources = value
        .lines()
        .filter_map(|line| line.rsplit_once(':'))
        .map(|(source, _)| source);
    warnings.extend(
        collisions(sources)
            .into_iter()
            .map(|source| VerifyWarning::MergeinfoCollision {
                source,
                node: path.rel_str().to_owned(),
            }),
    );
    Ok(())
}

/// Returns the normal forms that more than one name has, each once, in order.
fn collisions<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Vec<String> {
    // Names that are all normalized cannot collide: this is the usual case.
    if names
        .clone()
        .all(|name| is_nfc_quick(name.chars()) == unicode_normalization::IsNormalized::Yes)
    {
        return Vec::new();
    }
    let mut seen = HashSet::new();
    let mut reported = HashSet::new();
    let mut found = Vec::new();
    for name in names {
        let normal: String = name.nfc().collect();
        if !seen.insert(normal.clone()) && reported.insert(normal.clone()) {
            found.push(normal);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compositions_of_one_name_collide() {
        let names = [
            "cafe\u{301}",
            "cafe",
            "caf\u{e9}",
            "x\u{301}",
            "e\u{301}e",
            "\u{e9}e",
        ];
        assert_eq!(collisions(names.into_iter()), ["caf\u{e9}", "\u{e9}e"]);
        assert!(collisions(["caf\u{e9}", "cafe"].into_iter()).is_empty());
    }
}
