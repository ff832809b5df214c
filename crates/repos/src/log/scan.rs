//! The log of revisions whose numbers are known: their changes and properties are prefetched.
//!
//! A short log is read by the session's own thread; other threads help only after [`PREFETCH_AFTER`] entries.

use base::{Result, Revnum};
use fsfs::Fs;

use super::entry::{EntrySender, PrefetchedRevision};

/// Entries that are sent before prefetch begins.
const PREFETCH_AFTER: usize = 32;

/// Revisions of one task: reading one revision costs little more than passing it between threads.
const BATCH: usize = 16;

/// Sends the entries of `revs`.
pub(super) fn run(entries: &mut EntrySender<'_, '_>, mut revs: impl Iterator<Item = Revnum>) -> Result<()> {
    for rev in revs.by_ref().take(PREFETCH_AFTER) {
        entries.send(rev)?;
    }
    let mut revs = revs.fuse().peekable();
    if revs.peek().is_none() {
        return Ok(());
    }
    let Some(mut queue) = entries.repo.prefetch_queue() else {
        return revs.try_for_each(|rev| entries.send(rev));
    };
    let wanted = (entries.needs_changes(), entries.needs_revprops());
    loop {
        while queue.has_room() && revs.peek().is_some() {
            let (fs, batch) = (entries.repo.fs().clone(), revs.by_ref().take(BATCH).collect());
            queue.push(move || read(&fs, batch, wanted));
        }
        let Some(batch) = queue.take() else {
            return Ok(());
        };
        for (rev, read) in batch? {
            entries.send_read(rev, false, false, read)?;
        }
    }
}

/// Reads changes and properties, as `wanted` says for each. Returns them with their approximate size in bytes.
fn read(fs: &Fs, revs: Vec<Revnum>, wanted: (bool, bool)) -> (Vec<(Revnum, PrefetchedRevision)>, usize) {
    if wanted != (true, true) {
        return read_apart(fs, &revs, wanted);
    }
    let records = fs.log_records(&revs);
    let (mut all, mut size) = (Vec::with_capacity(revs.len()), 0);
    while let Some(record) = records.get(all.len()) {
        let left = &revs[all.len()..];
        if let Some(record) = record {
            size += record.bytes();
            let read = PrefetchedRevision {
                changes: Some(Ok(record.changes().clone())),
                revprops: Some(Ok(record.revprops().clone())),
            };
            all.push((left[0], read));
        } else {
            // Neighbours may be in the same pack file.
            let without = records[all.len()..]
                .iter()
                .take_while(|record| record.is_none())
                .count();
            let (read, bytes) = read_apart(fs, &left[..without], wanted);
            all.extend(read);
            size += bytes;
        }
    }
    (all, size)
}

/// Reads changes and properties one by one.
fn read_apart(
    fs: &Fs,
    revs: &[Revnum],
    (changes, revprops): (bool, bool),
) -> (Vec<(Revnum, PrefetchedRevision)>, usize) {
    let mut size = 0;
    let mut lists = match revprops {
        true => fs.revprop_lists(revs),
        false => Vec::new(),
    }
    .into_iter();
    let read = revs.iter().map(|&rev| {
        let changes = changes.then(|| fs.changed_paths(rev));
        let revprops = lists.next();
        if let Some(Ok(changes)) = &changes {
            size += changes.bytes();
        }
        if let Some(Ok(props)) = &revprops {
            size += 64 + props.bytes();
        }
        (rev, PrefetchedRevision { changes, revprops })
    });
    let read = read.collect();
    (read, size)
}
