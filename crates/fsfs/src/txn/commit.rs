//! Making a transaction the next revision.
//!
//! The order of the steps guarantees that nothing acknowledged is lost and that nothing half-written is visible: the revision
//! file and its properties are durable before `current` names the revision, and until then no reader looks at them.
//!
//! The steps of a commit, each with what a crash after it leaves behind. "The same" means: the same as after the step before.
//!
//! 1. Merge the transaction with the youngest revision. Only memory changes; a crash leaves an open transaction, as it was on
//!    disk.
//! 2. Take the lock of the proto-revision file. The same.
//! 3. Formats 1 and 2: read from `current` the IDs that come next. The same.
//! 4. Append all items of the tree, then the indexes or the trailer, to the proto-revision file. An open transaction with more
//!    bytes at the end of that file; the next writer cuts them off.
//! 5. Make the proto-revision file durable. The same.
//! 6. Take the write lock, which reads `format`, `min-unpacked-rev` and `current`. If another commit was faster, steps 1 to 5 are
//!    done again under the lock. The same.
//! 7. Check users' locks on the changed paths, and rename files that lie where the revision goes (`strays`). The same.
//! 8. Create the directories of a new shard. A directory without revisions, which is harmless.
//! 9. Write the marker of an unfinished revision (`strays`). A marker without a revision, which is harmless.
//! 10. Rename the proto-revision file to the revision file. A revision file that no reader looks at and that the next commit
//!     renames, and a transaction without texts, which can only be removed.
//! 11. Write the revision properties, and verify the revision if so configured. The same, with a properties file that the next
//!     commit renames too.
//! 12. Replace `current`. This is the commit: a crash before it leaves the old youngest revision, after it the new one; both are
//!     whole.
//! 13. Remove the marker, the lock file and the directory of the transaction. What was not removed: a marker, which is harmless,
//!     or an open transaction without texts.
//! 14. Release the write lock, add rows to the rep-cache, and extend the history index. Later commits share less, and the index
//!     covers fewer revisions.
//!
//! Steps 1 to 5 are done before the write lock is taken, so that the lock is held for a short time. They are repeated at most
//! once, under the lock, so no commit starves. Texts are already in the proto-revision file when the commit begins.
//!
//! A commit that fails leaves the transaction as it was: it can be committed again or removed. If step 5 fails, texts may be lost
//! that were written long before, and the system reports that only once; after step 10 the transaction has no texts any more. Then
//! it can only be removed.
//!
//! In a group ([`CommitMode::Grouped`]) the caller holds the write lock; steps 5, 9 and 12, and the renaming in step 7, are done
//! for the whole group by `commit_group`. Step 13 comes before step 12 then: a crash before the flush loses the transactions of the
//! group too. A directory in which only the transaction's root is left is not removed: the next transaction of the group takes it
//! over under its own name.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use base::{Code, Date, Error, FsPath, NodeKind, Props, Result, Revnum};

use super::commit_files::{file_of, make_shard, revprops, write_revprops};
use super::edit::{Committed, Txn, TxnStatus};
use super::folded_log::FoldedLog;
use super::proto_rev::ProtoWriter;
use super::state::TxnState;
use super::tree::{TreeWriter, WrittenTree};
use crate::format::changes::{ChangeKind, RawChange};
use crate::format::short_line::NextIds;
use crate::store::disk::{read_replaced, write_atomic};
use crate::store::guard::WriteLock;
use crate::store::rep_cache::RepCacheRow;
use crate::tree::Fs;
use crate::txn::strays;

/// A revision whose items are written to the proto-revision file of its transaction.
pub(crate) struct PreparedRevision {
    pub(super) rev: Revnum,
    pub(super) proto: ProtoWriter,
    pub(super) written: WrittenTree,
    /// The new contents of `current`.
    current: String,
}

/// A revision whose files have their names, and the data for step 14.
pub(crate) struct PublishedRevision {
    rev: Revnum,
    rows: Vec<RepCacheRow>,
    written: WrittenTree,
    /// The contents of `current` with this revision: written, or to be written by the group.
    current: String,
    /// New names of files that lay where the revision goes.
    set_aside: Vec<PathBuf>,
}

/// When a revision becomes durable and visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitMode<'a> {
    /// At once, alone.
    Single,
    /// Later, together with other revisions, by the holder of the write lock. The text is what `current` will contain so far;
    /// empty before the first revision of the group.
    Grouped(&'a str),
}

/// A check of a revision whose files are written and that `current` does not name yet. An error makes the commit fail.
pub(crate) type Verify<'a> = &'a dyn Fn(&Fs, Revnum) -> Result<()>;

impl Txn {
    /// Merges with what was committed since the transaction began, and makes it the next revision if `verify` accepts it.
    ///
    /// # Errors
    /// As [`Txn::commit`].
    pub(crate) fn commit_if(&mut self, now: &dyn Fn() -> Date, verify: Verify<'_>) -> Result<Committed> {
        self.check_open()?;
        let fs = self.fs.clone();
        if let Some(shared) = fs.shared_fs() {
            return self.commit_shared(shared, now, verify);
        }
        let active = ActiveCommit::begin(&fs);
        // Steps 1 to 5 without the write lock, if no other commit of this process is likely to be faster.
        self.merge_with(fs.youngest()?)?;
        let prepared = match active.is_only_one() {
            true => Some(self.prepare(CommitMode::Single)?),
            false => None,
        };
        let lock = fs.write_lock()?;
        if fs.instance() != self.instance {
            return Err(Error::new(
                Code::FS_TXN_OUT_OF_DATE,
                format!(
                    "Transaction '{}' builds on revisions that were replaced while it was open",
                    self.name
                ),
            ));
        }
        let prepared = match prepared {
            Some(prepared) if prepared.rev == lock.youngest().next() => prepared,
            outdated => {
                drop(outdated);
                self.merge_with(lock.youngest())?;
                self.prepare(CommitMode::Single)?
            }
        };
        let mut published = self.publish(&lock, prepared, now, CommitMode::Single, verify)?;
        drop(lock);
        let set_aside = std::mem::take(&mut published.set_aside);
        let (rev, rows) = published.fill_cache(&fs);
        // Step 14.
        let post_commit_error = fs.add_to_rep_cache(&rows).err();
        fs.extend_history_index(1);
        Ok(Committed {
            rev,
            post_commit_error,
            set_aside,
        })
    }

    /// Merges with what was committed since the transaction began (step 1).
    pub(crate) fn merge_with(&mut self, youngest: Revnum) -> Result<()> {
        let mut state = self.state.write();
        match state.base() == youngest {
            true => Ok(()),
            false => state.merge(&self.fs, youngest),
        }
    }

    /// Writes the whole revision file, as the revision after the one that the transaction is based on (steps 2 to 5). Dropping
    /// the result cuts the file back.
    pub(crate) fn prepare(&mut self, mode: CommitMode<'_>) -> Result<PreparedRevision> {
        self.check_open()?;
        let state_lock = self.state.clone();
        let state = state_lock.read_recursive();
        let previous = state.base();
        let rev = previous.next();
        // Step 2.
        let mut proto = self.proto.writer()?;
        self.sharing.restart_commit();
        // Steps 3 and 4.
        let (counters, current) = self.next_current(&state, rev, mode)?;
        let written = TreeWriter {
            fs: &self.fs,
            state: &state,
            proto: &mut proto,
            sharing: &mut self.sharing,
            rev,
            counters,
        };
        let written = written.write()?;
        check_root(&self.fs, &state, previous)?;
        // The end of step 4, and step 5.
        proto.finish(rev, written.root, written.changes)?;
        if mode == CommitMode::Single
            && let Err(e) = proto.sync()
        {
            self.status = TxnStatus::Broken;
            return Err(e);
        }
        Ok(PreparedRevision {
            rev,
            proto,
            written,
            current,
        })
    }

    /// Makes the prepared revision the next one (steps 7 to 13). One function, so that the order of the steps is easy to see.
    pub(crate) fn publish(
        &mut self,
        lock: &WriteLock,
        prepared: PreparedRevision,
        now: &dyn Fn() -> Date,
        mode: CommitMode<'_>,
        verify: Verify<'_>,
    ) -> Result<PublishedRevision> {
        let fs = self.fs.clone();
        let PreparedRevision {
            rev,
            proto,
            written,
            current,
        } = prepared;
        let state_lock = self.state.clone();
        let state = state_lock.read_recursive();
        let previous = match mode {
            CommitMode::Single => lock.youngest(),
            CommitMode::Grouped(_) => fs.last_youngest(),
        };
        if rev != previous.next() {
            return Err(Error::new(Code::FS_TXN_OUT_OF_DATE, "Transaction out of date"));
        }
        // Step 7.
        self.check_changed_paths(&state)?;
        let set_aside = match mode {
            CommitMode::Single => strays::set_all_aside(&fs, lock)?,
            CommitMode::Grouped(_) => Vec::new(),
        };
        // Step 8.
        make_shard(&fs, rev, mode == CommitMode::Single)?;
        // Steps 9 to 11.
        let list = revprops(&state, now);
        self.name_files(proto, rev, previous, &list, mode == CommitMode::Single)
            .and_then(|()| verify(&fs, rev))
            .inspect_err(|_| {
                if mode == CommitMode::Single && self.status == TxnStatus::Broken {
                    remove_unpublished(&fs, previous, rev);
                }
            })?;
        if mode == CommitMode::Single {
            // Step 12.
            let path = fs.layout().file("current");
            write_atomic(fs.disk(), &path, current.as_bytes(), &path)
                .inspect_err(|_| remove_unpublished(&fs, previous, rev))?;
            strays::remove_marker(&fs, previous, &fs.layout().rev(rev));
        }
        fs.set_youngest(rev);
        self.status = TxnStatus::Ended;
        let is_small = state.has_only_root_on_disk();
        drop(state);
        self.remove_committed(is_small);
        let sharing = std::mem::replace(&mut self.sharing, fs.sharing(self.id, false));
        Ok(PublishedRevision {
            rev,
            rows: sharing.into_rows(),
            written,
            current,
            set_aside,
        })
    }

    /// Removes the transaction (step 13); in a group, the next transaction takes over its directory if that has the file of its root
    /// only (`is_small`). The revision exists: a failure to remove the transaction is no failure of the commit.
    pub(super) fn remove_committed(&self, is_small: bool) {
        let has_protorevs_dir = self.fs.format().has_protorevs_dir();
        if is_small && has_protorevs_dir && self.fs.keep_txn_dir(&self.name) {
            return;
        }
        if has_protorevs_dir {
            let lock = self.fs.layout().proto_rev_lock(self.id);
            _ = self.fs.disk().remove_file(&lock);
        }
        _ = self.fs.remove_txn_dir(&self.name);
    }

    /// Writes the marker, gives the revision file its name, and writes the properties (steps 9 to 11).
    fn name_files(
        &mut self,
        proto: ProtoWriter,
        rev: Revnum,
        previous: Revnum,
        list: &Props,
        sync: bool,
    ) -> Result<()> {
        let fs = &self.fs;
        // Step 9.
        if sync {
            strays::write_marker(fs, previous, rev, &fs.layout().rev(rev))?;
        }
        // Step 10.
        if let Err(e) = proto.publish(&fs.rev_path(rev), &file_of(fs, previous), sync) {
            if is_taken(&e) {
                strays::remove_marker(fs, previous, &fs.layout().rev(rev));
                return Err(strays::out_of_date(previous, rev));
            }
            if fs.disk().metadata(&fs.layout().proto_rev(self.id)).is_err() {
                self.status = TxnStatus::Broken;
            }
            return Err(e);
        }
        self.status = TxnStatus::Broken;
        // Step 11.
        write_revprops(fs, rev, list, sync)
    }

    /// Enforces users' locks on everything that was changed.
    pub(super) fn check_changed_paths(&self, state: &TxnState) -> Result<()> {
        if self.access.ignores_locks || !self.fs.may_have_locks(state.checks_locks())? {
            return Ok(());
        }
        let mut checked: Option<FsPath> = None;
        let mut check = |change: &RawChange| {
            let path = &change.info.path;
            // A recursive check of a directory covers what is below it.
            if checked.as_ref().is_some_and(|above| above.contains(path)) {
                return Ok(());
            }
            let recursive = change.info.change != ChangeKind::Modify;
            self.fs.check_lock(path, &self.access, recursive)?;
            if recursive {
                checked = Some(path.clone());
            }
            Ok(())
        };
        match FoldedLog::of(&state.changes)? {
            FoldedLog::InMemory(folded) => {
                let mut list: Vec<_> = folded.iter().collect();
                // Each directory is followed by what is below it.
                list.sort_by(|a, b| a.info.path.cmp_tree(&b.info.path));
                list.into_iter().try_for_each(check)
            }
            long @ FoldedLog::Spilled(_) => long.each(&mut check),
        }
    }

    /// Returns the first IDs that the commit gives out (formats 1 and 2), and the new contents of `current` (step 3).
    fn next_current(
        &self,
        state: &TxnState,
        rev: Revnum,
        mode: CommitMode<'_>,
    ) -> Result<(Option<NextIds>, String)> {
        if !self.fs.format().has_ids_in_current() {
            return Ok((None, format!("{rev}\n")));
        }
        let path = self.fs.layout().file("current");
        let text = match mode {
            CommitMode::Grouped(text) if !text.is_empty() => text.as_bytes().to_vec(),
            CommitMode::Grouped(_) | CommitMode::Single => read_replaced(self.fs.disk(), &path)?,
        };
        let Some(ids) = NextIds::parse(text.trim_ascii_end()) else {
            return Err(Error::new(
                Code::FS_CORRUPT,
                format!("Corrupt 'current' file '{}'", path.display()),
            ));
        };
        let next = NextIds {
            node: ids.node.saturating_add(state.next_node),
            copy: ids.copy.saturating_add(state.next_copy),
        };
        Ok((Some(ids), next.current(rev)))
    }
}

/// Removes the files of a revision after `current` could not be replaced, unless it names the revision nevertheless. The write lock is
/// held, and nothing was at their place before. Files that stay have their marker.
pub(super) fn remove_unpublished(fs: &Fs, previous: Revnum, rev: Revnum) {
    if fs.youngest().is_ok_and(|youngest| youngest == previous) {
        _ = fs.disk().remove_file(&fs.layout().revprops(rev));
        _ = fs.disk().remove_file(&fs.layout().rev(rev));
    }
}

/// A commit in progress, counted in the filesystem. Only a commit that is alone writes its revision file before it takes the
/// write lock: with others in progress, most of that work would have to be done again.
pub(super) struct ActiveCommit<'a>(&'a Fs, usize);

impl<'a> ActiveCommit<'a> {
    pub(super) fn begin(fs: &'a Fs) -> Self {
        ActiveCommit(fs, fs.committing().fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn is_only_one(&self) -> bool {
        self.1 == 0
    }
}

impl Drop for ActiveCommit<'_> {
    fn drop(&mut self) {
        self.0.committing().fetch_sub(1, Ordering::Relaxed);
    }
}

impl PublishedRevision {
    /// Returns the contents of `current` with this revision.
    pub(crate) fn current(&self) -> &str {
        &self.current
    }

    /// Puts what was just written into the cache. Returns the revision and its rows for the rep-cache.
    pub(crate) fn fill_cache(self, fs: &Fs) -> (Revnum, Vec<RepCacheRow>) {
        self.written.fill_cache(fs);
        (self.rev, self.rows)
    }
}

/// True if a file was not renamed because the new name is taken.
pub(super) fn is_taken(e: &Error) -> bool {
    e.code().0 == rustix::io::Errno::EXIST.raw_os_error()
}

/// Checks that the root is a directory and a successor of the previous revision's root.
fn check_root(fs: &Fs, state: &TxnState, previous: Revnum) -> Result<()> {
    let (root, before) = (state.node(state.root())?, fs.root_noderev(previous)?);
    if root.noderev.count == before.count + 1 && root.noderev.kind == NodeKind::Dir {
        return Ok(());
    }
    Err(Error::new(
        Code::FS_CORRUPT,
        format!(
            "predecessor count for the root node-revision is wrong: found {}, committing r{}",
            root.noderev.count,
            previous.next()
        ),
    ))
}
