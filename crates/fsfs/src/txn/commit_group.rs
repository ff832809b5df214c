//! Commits in groups, for `load`: many revisions become durable and visible together.
//!
//! A revision of a group is complete, but it is not durable, its files have temporary names in `db/`, and `current` does not name
//! it. [`CommitGroup::flush`] does the rest for the whole group: it makes all files durable, gives them their names, and replaces
//! `current`. A crash between two flushes leaves the repository as the first flush left it, and temporary files, which the next
//! group removes. Until the flush only readers through [`CommitGroup::fs`] see the revisions of the group.
//!
//! The group holds the write lock from its first commit to its flush. Other processes commit between groups, so a group should be
//! short (a second, a thousand revisions). A transaction may begin in one group and be committed in a later one; it is merged
//! with what other processes have committed then.
//!
//! Where several machines share the filesystem, the files of a group stay in the directory of this machine until the flush publishes
//! them. No other machine commits meanwhile.
//!
//! A group keeps room on the disk that its flush needs. So a disk that becomes full costs the revision that does not fit, not the group.
//!
//! While a group is open it keeps what would be asked of the system for each revision: the rep-cache stays locked for reading
//! (others commit, and add rows, only after the flush), and the directory of a committed transaction becomes that of the next.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use base::{Date, Error, Result, Revnum};

use crate::store::GROUP_PREFIX;
use crate::store::disk::{Create, MoveMode, Volumes, move_file, write_atomic};
use crate::store::guard::WriteLock;
use crate::store::rep_cache::RepCacheRow;
use crate::store::shared::{NewRevision, Outcome, SharedFs, SharedHold};
use crate::tree::Fs;
use crate::txn::commit::{is_taken, remove_unpublished};
use crate::txn::commit_files::make_shard;
use crate::txn::strays;
use crate::txn::{CommitMode, Committed, Txn, TxnOptions, Verify};

/// Commits in groups. Dropping it without [`CommitGroup::flush`] discards what was committed since the last flush.
pub struct CommitGroup {
    /// The filesystem without the revisions of the group.
    committed_fs: Fs,
    /// The filesystem with the revisions of the group.
    group_fs: Fs,
    /// The write lock, from the first commit of a group to its flush.
    lock: Option<WriteLock>,
    /// Keeps other machines from committing as long as `lock` is held, where several share the filesystem.
    hold: Option<Box<dyn SharedHold>>,
    /// Transaction numbers that are reserved and not used yet.
    txn_numbers: std::ops::Range<u64>,
    /// The youngest revision that `current` names.
    flushed: Revnum,
    /// Rep-cache rows of the contents that the group has stored.
    rep_cache_rows: Vec<RepCacheRow>,
    /// The new contents of `current`; empty before the first commit of a group.
    new_current: String,
    /// True before the first group.
    is_first: bool,
    /// New names of files that lay where revisions of the group go, not reported yet.
    set_aside: Vec<PathBuf>,
    /// The error after which no more commits are accepted. The group can be flushed.
    refused: Option<Error>,
    /// The error by which the group was lost.
    failed: Option<Error>,
    /// Open from before the first transaction, whose text is written before the group has the write lock.
    volumes: Volumes,
}

impl Fs {
    /// Begins to commit in groups.
    ///
    /// # Errors
    /// The system's.
    pub fn commit_group(&self) -> Result<CommitGroup> {
        let youngest = self.youngest()?;
        let volumes = Volumes::open(self.disk(), self.path())?;
        Ok(CommitGroup {
            committed_fs: self.clone(),
            group_fs: self.group_view(youngest),
            lock: None,
            hold: None,
            txn_numbers: 0..0,
            flushed: youngest,
            rep_cache_rows: Vec::new(),
            new_current: String::new(),
            is_first: true,
            set_aside: Vec::new(),
            refused: None,
            failed: None,
            volumes,
        })
    }

    /// Removes what a crash has left of a group. No other process has one: the write lock is held.
    pub(crate) fn remove_group_leftovers(&self) -> Result<()> {
        for path in self.files_beginning_with(GROUP_PREFIX)? {
            // One that stays is harmless.
            _ = self.disk().remove_file(&path);
        }
        Ok(())
    }
}

impl CommitGroup {
    /// Returns the filesystem with the revisions of the group: to read what was just committed, and the sources of copies.
    pub fn fs(&self) -> &Fs {
        &self.group_fs
    }

    /// Returns the filesystem with the revisions that are visible to all.
    pub(crate) fn committed_fs(&self) -> &Fs {
        &self.committed_fs
    }

    /// Begins a transaction on the youngest revision, those of the group included. It must end before the next one begins.
    ///
    /// # Errors
    /// As [`Fs::begin_txn`].
    pub fn begin_txn(&mut self, options: TxnOptions, now: Date) -> Result<Txn> {
        self.unless_refused(|this| {
            if this.lock.is_none() {
                let youngest = this.committed_fs.youngest()?;
                this.see_committed(youngest)?;
            }
            let base = this.group_fs.last_youngest();
            if !this.group_fs.format().has_protorevs_dir() {
                return this.group_fs.begin_txn(base, options, now);
            }
            if this.txn_numbers.is_empty() {
                let first = this.group_fs.take_txn_numbers(NUMBERS_PER_GROUP)?;
                this.txn_numbers = first..first.saturating_add(NUMBERS_PER_GROUP);
            }
            let name = this.group_fs.txn_name(base, this.txn_numbers.start);
            this.txn_numbers.start += 1;
            this.group_fs.begin_named(&name, base, options, now)
        })
    }

    /// Makes a transaction the next revision of the group if `verify` accepts it.
    ///
    /// # Errors
    /// As [`CommitGroup::commit`].
    pub(crate) fn commit_if(
        &mut self,
        mut txn: Txn,
        now: &dyn Fn() -> Date,
        verify: Verify<'_>,
    ) -> Result<Committed> {
        self.unless_refused(|this| {
            this.acquire()?;
            let lock = this.lock.as_ref().expect("because it was acquired");
            let rev = this.group_fs.last_youngest().next();
            let mode = CommitMode::Grouped(&this.new_current);
            let published = txn.merge_with(this.group_fs.last_youngest());
            let published = published.and_then(|()| {
                let prepared = txn.prepare(mode)?;
                txn.publish(lock, prepared, now, mode, verify)
            });
            let published = published.inspect_err(|_| this.remove_files(rev))?;
            this.new_current = published.current().to_owned();
            let (rev, rep_cache_rows) = published.fill_cache(&this.group_fs);
            if let Some(shared) = this.group_fs.unshared_rows() {
                let mut shared = shared.lock();
                for row in &rep_cache_rows {
                    shared.entry(row.sha1).or_insert(*row);
                }
            }
            this.rep_cache_rows.extend(rep_cache_rows);
            Ok(Committed {
                rev,
                post_commit_error: None,
                set_aside: std::mem::take(&mut this.set_aside),
            })
        })
    }

    /// Makes the group durable and visible; the next commit begins a new group. Returns the youngest revision. A failure to add
    /// rep-cache rows afterwards is not returned: later commits share less.
    ///
    /// # Errors
    /// The system's. The group is then lost, and no more commits are taken.
    pub fn flush(&mut self) -> Result<Revnum> {
        self.unless_failed(|this| {
            this.group_fs.release_rep_cache();
            this.group_fs.remove_spare_txn_dir();
            let youngest = this.group_fs.last_youngest();
            let Some(lock) = this.lock.take() else {
                return Ok(youngest);
            };
            let hold = this.hold.take();
            if hold.is_none() {
                this.release_room();
            }
            let added = youngest.0.saturating_sub(this.flushed.0);
            if let Some(shared) = this.committed_fs.shared_fs() {
                this.publish_shared(shared, &lock, youngest)?;
                this.flushed = youngest;
            } else if youngest > this.flushed {
                let mut named = this.flushed;
                this.publish(youngest, &mut named)
                    .inspect_err(|_| this.discard(named, youngest))?;
                this.flushed = youngest;
                this.committed_fs.set_youngest(youngest);
            }
            drop(hold);
            drop(lock);
            if let Some(shared) = this.group_fs.unshared_rows() {
                _ = this.committed_fs.add_to_rep_cache(&this.rep_cache_rows);
                this.rep_cache_rows.clear();
                shared.lock().clear();
            }
            this.committed_fs.extend_history_index(added);
            Ok(youngest)
        })
    }

    /// Makes the files of the group durable, gives them their names, and replaces `current`. `named` becomes the last revision
    /// whose files have their names.
    fn publish(&self, youngest: Revnum, named: &mut Revnum) -> Result<()> {
        let (fs, disk) = (&self.committed_fs, self.committed_fs.disk());
        self.volumes.sync()?;
        // A crash here leaves complete and durable revision files with a marker, which the next commit renames.
        let marked = self.name_files(youngest, named)?;
        // The commit of the group: a crash before it leaves the old youngest revision, after it the new one.
        let path = fs.layout().file("current");
        write_atomic(disk, &path, self.new_current.as_bytes(), &path)?;
        for directory in marked {
            strays::remove_marker(fs, self.flushed, &directory.join("0"));
        }
        Ok(())
    }

    /// Removes the files of a group that could not be published, unless `current` names its revisions nevertheless. The markers
    /// stay: so may files.
    fn discard(&self, named: Revnum, youngest: Revnum) {
        let fs = &self.committed_fs;
        for rev in (self.flushed.0 + 1..=youngest.0).rev().map(Revnum) {
            self.remove_files(rev);
            if rev <= named {
                remove_unpublished(fs, self.flushed, rev);
            }
        }
    }

    /// Publishes the revisions of the group, and removes their files from this machine.
    fn publish_shared(&self, shared: &SharedFs, lock: &WriteLock, youngest: Revnum) -> Result<()> {
        let (fs, disk) = (&self.committed_fs, self.committed_fs.disk());
        let revs = || (self.flushed.0 + 1..=youngest.0).map(Revnum);
        let mut rows: HashMap<Revnum, Vec<RepCacheRow>> = HashMap::new();
        for row in &self.rep_cache_rows {
            rows.entry(row.rev).or_default().push(*row);
        }
        let mut revisions = Vec::new();
        for rev in revs() {
            let (file, props) = (fs.group_path(rev), fs.group_revprops_path(rev));
            revisions.push(NewRevision {
                rev,
                file: disk
                    .open(&file)
                    .map_err(|e| Error::io("Can't open file", &file, &e))?,
                props: disk
                    .read_small(&props)
                    .map_err(|e| Error::io("Can't open file", &props, &e))?,
                reps: rows.remove(&rev).unwrap_or_default(),
                uploaded: None,
            });
        }
        let head = lock.head().filter(|_| !revisions.is_empty());
        if let Some(head) = head
            && shared.heads.publish(head, &revisions)? == Outcome::Outdated
        {
            return Err(strays::out_of_date(self.flushed, self.flushed.next()));
        }
        fs.set_youngest(youngest);
        self.group_fs.set_named(youngest);
        revs().for_each(|rev| self.remove_files(rev));
        Ok(())
    }

    /// Gives the files of the group their names, durably. Returns the directories that have a marker of unfinished revisions.
    fn name_files(&self, youngest: Revnum, named: &mut Revnum) -> Result<BTreeSet<PathBuf>> {
        let (fs, disk) = (&self.committed_fs, self.committed_fs.disk());
        let revs = || (self.flushed.0 + 1..=youngest.0).map(Revnum);
        let directories_of = |file_of: &dyn Fn(Revnum) -> PathBuf| -> BTreeSet<PathBuf> {
            let directories = revs().filter_map(|rev| file_of(rev).parent().map(Path::to_owned));
            directories.collect()
        };
        let directories = directories_of(&|rev| fs.layout().rev(rev));
        let revprops_directories = directories_of(&|rev| fs.layout().revprops(rev));
        let sync = || -> Result<()> {
            directories
                .union(&revprops_directories)
                .try_for_each(|directory| {
                    disk.sync_dir(directory)
                        .map_err(|e| Error::io("Can't flush directory", directory, &e))
                })
        };
        for directory in &directories {
            strays::write_marker(fs, self.flushed, youngest, &directory.join("0"))?;
        }
        sync()?;
        for rev in revs() {
            let moved = move_file(disk, &fs.group_path(rev), &fs.layout().rev(rev), MoveMode::New);
            moved.map_err(|e| match is_taken(&e) {
                true => strays::out_of_date(self.flushed, rev),
                false => e,
            })?;
            *named = rev;
            let revprops = fs.layout().revprops(rev);
            move_file(disk, &fs.group_revprops_path(rev), &revprops, MoveMode::Replace)?;
        }
        self.group_fs.set_named(youngest);
        sync()?;
        Ok(directories)
    }

    /// Begins a group, based on what other processes have committed meanwhile.
    fn acquire(&mut self) -> Result<()> {
        if self.lock.is_none() {
            let mut lock = self.committed_fs.write_lock()?;
            if let Some(shared) = self.committed_fs.shared_fs() {
                self.hold = Some(shared.heads.hold()?);
                lock.read_head(&self.committed_fs)?;
            } else {
                self.set_aside
                    .extend(strays::set_all_aside(&self.committed_fs, &lock)?);
            }
            self.flushed = lock.youngest();
            if self.is_first {
                self.committed_fs.remove_group_leftovers()?;
                _ = self.committed_fs.remove_gone_txns();
                self.is_first = false;
            }
            if self.hold.is_none() {
                make_shard(&self.committed_fs, lock.youngest().next(), false)?;
                strays::check_free(&self.committed_fs, lock.youngest())?;
                self.reserve_room().inspect_err(|_| self.release_room())?;
            }
            self.see_committed(lock.youngest())?;
            self.lock = Some(lock);
            self.new_current.clear();
        }
        Ok(())
    }

    /// Writes files that take the room, and the inodes, of what the flush writes: a marker, `current`, and directories of shards.
    fn reserve_room(&self) -> Result<()> {
        let disk = self.committed_fs.disk();
        for path in self.reserved() {
            let failed = |e| Error::io("Can't write to file", &path, &e);
            let mut file = disk.write(&path, Create::Replace).map_err(failed)?;
            file.append(&[b'-'; RESERVED_BYTES]).map_err(failed)?;
        }
        Ok(())
    }

    fn release_room(&self) {
        for path in self.reserved() {
            _ = self.committed_fs.disk().remove_file(&path);
        }
    }

    fn reserved(&self) -> impl Iterator<Item = PathBuf> {
        let layout = self.committed_fs.layout();
        (0..RESERVED_FILES).map(move |number| layout.file(&format!("{GROUP_PREFIX}reserved-{number}")))
    }

    /// Updates the group's view to what other processes have committed. The group has no revisions.
    fn see_committed(&self, youngest: Revnum) -> Result<()> {
        self.group_fs.set_youngest(youngest);
        self.group_fs.set_named(youngest);
        self.group_fs.refresh_min_unpacked_rev().map(drop)
    }

    /// Removes the files of a revision of the group. They are the group's own: nothing was at their place when the write lock was
    /// taken.
    fn remove_files(&self, rev: Revnum) {
        let fs = &self.committed_fs;
        for path in [fs.group_path(rev), fs.group_revprops_path(rev)] {
            _ = fs.disk().remove_file(&path);
        }
    }

    /// Does a step unless an earlier one failed. After a failure no transaction begins or is committed, but the group can still
    /// be flushed.
    fn unless_refused<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if let Some(e) = self.failed.as_ref().or(self.refused.as_ref()) {
            return Err(e.clone());
        }
        step(self).inspect_err(|e| self.refused = Some(e.clone()))
    }

    /// Does a step unless the group is lost; an error loses it.
    fn unless_failed<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if let Some(e) = &self.failed {
            return Err(e.clone());
        }
        step(self).inspect_err(|e| self.failed = Some(e.clone()))
    }
}

impl Drop for CommitGroup {
    fn drop(&mut self) {
        self.group_fs.release_rep_cache();
        self.group_fs.remove_spare_txn_dir();
        // The write lock is still held: no other process has used these names.
        if self.lock.is_some() {
            for rev in (self.flushed.0 + 1..=self.group_fs.last_youngest().0).rev() {
                self.remove_files(Revnum(rev));
            }
            self.release_room();
        }
        _ = self.committed_fs.give_back_txn_numbers(self.txn_numbers.clone());
    }
}

/// Transaction numbers that are reserved at once. A crash loses those that are not used.
const NUMBERS_PER_GROUP: u64 = 256;

/// The room that a group keeps for its flush: files, and bytes in each.
const RESERVED_FILES: u32 = 4;
const RESERVED_BYTES: usize = 16 << 10;
