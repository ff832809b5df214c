//! The entries of a record, oldest first.
//!
//! All numbers are index integers. The revision of the first entry is in the head of the record.
//!
//! | entry | encoding |
//! |---|---|
//! | first | item; predecessor count; predecessor |
//! | later, whose predecessor is the entry before it | 2 × (revision - revision of the entry before); item |
//! | later, other | 2 × (revision - revision of the entry before) + 1; item; predecessor count; predecessor |
//!
//! A predecessor is 0 for none, else the revision of the entry minus that of the predecessor.

use base::Revnum;

use super::{HistoryEntry, HistoryIndexError};
use base::number::{push_uint, take_uint};

/// Appends an entry; `last` is the one before it in the record.
pub(crate) fn encode(out: &mut Vec<u8>, last: Option<&HistoryEntry>, entry: &HistoryEntry) {
    if let Some(last) = last {
        let step = entry.rev.0.saturating_sub(last.rev.0) << 1;
        if entry.follows(last) {
            push_uint(out, step);
            return push_uint(out, entry.item);
        }
        push_uint(out, step | 1);
    }
    push_uint(out, entry.item);
    push_uint(out, entry.count);
    push_uint(
        out,
        entry
            .predecessor
            .map_or(0, |rev| entry.rev.0.saturating_sub(rev.0)),
    );
}

/// Parses the `count` entries of a record whose first one has the revision `first`.
pub(crate) fn parse(
    mut bytes: &[u8],
    first: Revnum,
    count: usize,
) -> Result<Vec<HistoryEntry>, HistoryIndexError> {
    // Each entry takes a byte at least: this bounds the allocation.
    if count == 0 || count > bytes.len() {
        return Err(HistoryIndexError::List);
    }
    let mut entries = Vec::with_capacity(count);
    let mut last: Option<HistoryEntry> = None;
    for _ in 0..count {
        let entry = take_entry(&mut bytes, first, last.as_ref()).ok_or(HistoryIndexError::List)?;
        entries.push(entry);
        last = Some(entry);
    }
    match bytes {
        [] => Ok(entries),
        _ => Err(HistoryIndexError::List),
    }
}

fn take_entry(bytes: &mut &[u8], first: Revnum, last: Option<&HistoryEntry>) -> Option<HistoryEntry> {
    let rev = match last {
        None => first,
        Some(last) => {
            let step = take_uint(bytes)?;
            let rev = Revnum(last.rev.0.checked_add(step >> 1).filter(|_| step > 1)?);
            if step & 1 == 0 {
                return Some(HistoryEntry {
                    rev,
                    item: take_uint(bytes)?,
                    count: last.count.checked_add(1)?,
                    predecessor: Some(last.rev),
                });
            }
            rev
        }
    };
    let (item, count) = (take_uint(bytes)?, take_uint(bytes)?);
    let predecessor = match take_uint(bytes)? {
        0 => None,
        before => Some(Revnum(rev.0.checked_sub(before)?)),
    };
    Some(HistoryEntry {
        rev,
        item,
        count,
        predecessor,
    })
}
