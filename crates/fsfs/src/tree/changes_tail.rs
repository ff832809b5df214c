//! The changed-path list read from the end of a revision file, for walks over many revisions.
//!
//! A log needs no other part of a revision file. With logical addressing the list is the last item, directly before
//! the indexes. So one short read at the end of the file mostly contains all that is needed: footer, index and list.
//! The file is not kept open, and only the list is cached. In unusual cases (a missing file, a longer list, damage)
//! the functions here return `None`, and [`Fs::stored_changes`] reads the list or makes the error.

use std::cell::RefCell;

use base::Revnum;

use crate::format::change_list::ChangeList;
use crate::format::changes;
use crate::format::footer::Footer;
use crate::format::l2p;
use crate::store::disk::{DiskDir, DiskFile};
use crate::store::shard_dirs::ShardKind;
use crate::tree::Fs;

/// The first read at the end of a file, bytes: enough for the indexes and a list of five changes, which is nine files
/// of ten.
const TAIL: usize = 1 << 10;

/// The second read, if the indexes are longer, bytes: enough for a revision with one or two thousand nodes.
const LONG_TAIL: usize = 32 << 10;

/// A longer list is left to [`Fs::stored_changes`], bytes.
const LONGEST: usize = 64 << 10;

/// The item of the changed-path list.
const CHANGES: u64 = 1;

impl Fs {
    /// The list of a revision, if a walk is in progress in the directory of its file.
    pub(crate) fn changes_in_tail(&self, rev: Revnum) -> Option<ChangeList> {
        if !self.format().has_list_at_end() || self.is_packed(rev) {
            return None;
        }
        let shard = self.layout().shard(rev)?;
        let path = || self.rev_path(rev);
        let dir = self.shard_dir(ShardKind::Revs, shard, path)?;
        read(&*dir, &rev.to_string(), rev)
    }
}

/// The list of a revision, read from its file `name` in an open directory.
pub(crate) fn read(dir: &dyn DiskDir, name: &str, rev: Revnum) -> Option<ChangeList> {
    let file = dir.open(name).ok()?;
    thread_local! {
        static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    BUFFER.with_borrow_mut(|buffer| {
        let file_len = file.len().ok()?;
        match list(&*file, file_len, TAIL, rev, buffer) {
            None if file_len > TAIL as u64 => list(&*file, file_len, LONG_TAIL, rev, buffer),
            list => list,
        }
    })
}

fn list(
    file: &dyn DiskFile,
    file_len: u64,
    longest_tail: usize,
    rev: Revnum,
    tail: &mut Vec<u8>,
) -> Option<ChangeList> {
    let tail_len = file_len.min(longest_tail as u64);
    let tail_start = file_len - tail_len;
    tail.clear();
    tail.reserve_exact(longest_tail);
    if file.append_at(tail, tail_len as usize, tail_start).ok()? as u64 != tail_len {
        return None;
    }
    let footer = Footer::parse(tail, file_len).ok()?;
    let within = |offset: u64| usize::try_from(offset.checked_sub(tail_start)?).ok();
    let index = tail.get(within(footer.l2p_offset)?..within(footer.p2l_offset)?)?;
    let start = l2p::single_offset(index, rev, CHANGES)?;
    let length = usize::try_from(footer.l2p_offset.checked_sub(start)?).ok()?;
    if let Some(start) = within(start) {
        return changes::parse_normal(tail.get(start..start.checked_add(length)?)?).ok();
    }
    if length > LONGEST {
        return None;
    }
    let mut text = Vec::with_capacity(length);
    while text.len() < length {
        let (done, left) = (text.len(), length - text.len());
        if file.append_at(&mut text, left, start + done as u64).ok()? == 0 {
            return None;
        }
    }
    changes::parse_normal(&text).ok()
}
