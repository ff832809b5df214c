//! Whether two filesystems have the same history: one may be a copy of the other, or both of a third that went on in two ways.
//!
//! No revision depends on all bytes of the revisions before it. With logical addressing not even its root does: it names nodes by numbers of items,
//! whatever these contain. So a revision counts as the same if the root, the list of changed paths, and the changed nodes with their checksums are. Its
//! properties may have been changed since. But no two commits are made in the same microsecond: where the dates agree, too, all that is
//! before is the same; where they do not, the revision before is looked at.

use base::{FsPath, Result, Revnum, props};

use super::Fs;

impl Fs {
    /// True if both filesystems have the same history up to `rev`: their files can be copied from one to the other.
    ///
    /// # Errors
    /// Those of reading, unless the same is damaged in both.
    pub fn has_same_history(&self, other: &Fs, rev: Revnum) -> Result<bool> {
        self.has_history_of(other, rev, &has_same_revision)
    }

    /// As [`Fs::has_same_history`]; `has_same_revision` says whether a revision is the same, apart from its properties.
    ///
    /// # Errors
    /// Those of reading properties, and of `has_same_revision`.
    pub fn has_history_of(
        &self,
        other: &Fs,
        rev: Revnum,
        has_same_revision: &dyn Fn(&Fs, &Fs, Revnum) -> Result<bool>,
    ) -> Result<bool> {
        let date = |fs: &Fs, rev| {
            fs.revprops(rev)
                .map(|list| list.get(props::DATE).map(<[u8]>::to_vec))
        };
        for rev in (0..=rev.0).rev().take(REVISIONS).map(Revnum) {
            if !has_same_revision(self, other, rev)? {
                return Ok(false);
            }
            let here = date(self, rev)?;
            if here.is_some() && here == date(other, rev)? {
                break;
            }
        }
        Ok(true)
    }
}

/// True if a revision is the same in both filesystems, apart from its properties.
///
/// # Errors
/// Those of reading, unless the same is damaged in both.
pub(crate) fn has_same_revision(one: &Fs, other: &Fs, rev: Revnum) -> Result<bool> {
    let changes = one.changed_paths(rev);
    if !is_same(one.root_noderev(rev), other.root_noderev(rev))?
        || !is_same(changes.clone(), other.changed_paths(rev))?
    {
        return Ok(false);
    }
    let node = |fs: &Fs, path: &FsPath| {
        let node = fs.root(rev)?.try_node(path)?;
        Ok(node.map(|node| node.shared_noderev()))
    };
    for change in changes.iter().flat_map(|list| list.iter()).take(CHANGES) {
        let path = FsPath::parse(change.path)?;
        if !is_same(node(one, &path), node(other, &path))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True if two parts are equal, or have the same damage.
fn is_same<T: PartialEq>(here: Result<T>, there: Result<T>) -> Result<bool> {
    match (here, there) {
        (Ok(here), Ok(there)) => Ok(here == there),
        (Err(here), Err(there)) if here.code() == there.code() && !here.code().is_os() => Ok(true),
        (Err(e), _) | (_, Err(e)) => Err(e),
    }
}

/// Revisions that are looked at, at most.
const REVISIONS: usize = 1000;

/// Changed nodes of a revision that are looked at, at most.
const CHANGES: usize = 1000;
