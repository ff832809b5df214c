//! Making a transaction the next revision.
//!
//! The order of steps is what keeps the promise that nothing acknowledged is lost and nothing half-written is seen: the
//! revision's file and its properties are durable before `current` names the revision, and until then nobody looks at them.
//! What a crash, or a failure, leaves behind is said at each step.
//!
//! The revision file is written, and made durable, before the write lock is taken: only if somebody was faster is it written
//! again, merged with what they did, and that under the lock; so no commit begins anew twice, and none starves. Under the lock
//! it gets its name. The texts were written when they came.
//!
//! A commit that fails leaves the transaction as it was, to be committed again or removed; except that once its prototype
//! revision has become a revision file it has no texts any more, and only removing is left.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use base::hashdump::{self, Terminator};
use base::{Code, Date, Error, FsPath, NodeKind, Props, Result, Revnum, props};

use super::begin::{CHECK_LOCKS, CHECK_OOD, CLIENT_DATE};
use super::edit::{Committed, Txn, TxnStatus};
use super::folded_log::FoldedLog;
use super::proto_rev::ProtoWriter;
use super::state::{ROOT, TxnState};
use super::tree::{NextIds, TreeWriter, WrittenTree};
use crate::format::changes::{ChangeKind, RawChange};
use crate::format::number::{parse_base36, push_base36};
use crate::store::disk::{Create, read_replaced, write_atomic};
use crate::store::guard::WriteLock;
use crate::store::rep_cache::RepCacheRow;
use crate::tree::Fs;
use crate::txn::strays;

/// A revision that is written, in its transaction's prototype file.
pub(crate) struct PreparedRevision {
    rev: Revnum,
    proto: ProtoWriter,
    written: WrittenTree,
    /// What `current` will hold.
    current: String,
}

/// What a finished commit leaves to be done without the lock.
pub(crate) struct PublishedRevision {
    rev: Revnum,
    rows: Vec<RepCacheRow>,
    written: WrittenTree,
    /// What `current` holds, or is to hold, with this revision.
    current: String,
    /// New names of files that were in the way.
    set_aside: Vec<PathBuf>,
}

/// Whether a revision is durable and visible at once, or with others later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitMode<'a> {
    /// This revision by itself.
    Single,
    /// Whoever holds the lock makes several current together; what `current` is to hold so far, empty if that is what it holds.
    Grouped(&'a str),
}

/// Checks a revision whose files are written and which is not current yet; an error makes the commit fail.
pub(crate) type Verify<'a> = &'a dyn Fn(&Fs, Revnum) -> Result<()>;

impl Txn {
    /// Merges with what was committed since the transaction began, and makes it the next revision if `verify` accepts it.
    ///
    /// # Errors
    /// As [`Txn::commit`].
    pub(crate) fn commit_if(&mut self, now: &dyn Fn() -> Date, verify: Verify<'_>) -> Result<Committed> {
        self.check_open()?;
        let fs = self.fs.clone();
        let active = ActiveCommit::begin(&fs);
        // What can be done without the lock is, in the hope that nobody is faster.
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
        // 14. A crash before or during this: later commits share less.
        Ok(Committed {
            rev,
            post_commit_error: fs.add_to_rep_cache(&rows).err(),
            set_aside,
        })
    }

    /// Brings in what was committed since the transaction began.
    pub(crate) fn merge_with(&mut self, youngest: Revnum) -> Result<()> {
        let mut state = self.state.write();
        match state.base() == youngest {
            true => Ok(()),
            false => state.merge(&self.fs, youngest),
        }
    }

    /// Steps 3 to 7 of a commit: writes the whole revision file, as the revision after the one that the transaction is based on.
    /// Dropping the result takes it back. A crash leaves a transaction with some more bytes at the end of its prototype
    /// revision.
    pub(crate) fn prepare(&mut self, mode: CommitMode<'_>) -> Result<PreparedRevision> {
        self.check_open()?;
        let state_lock = self.state.clone();
        let state = state_lock.read_recursive();
        let previous = state.base();
        let rev = previous.next();
        // 3.
        let mut proto = self.proto.writer()?;
        self.sharing.restart_commit();
        // 4, 5.
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
        // 6, 7.
        proto.finish(rev, written.root, written.changes, mode == CommitMode::Single)?;
        Ok(PreparedRevision {
            rev,
            proto,
            written,
            current,
        })
    }

    /// The other steps up to 13. (Taking the lock has been step 1: it has read `format`, `min-unpacked-rev` and `current`.)
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
        // 2.
        if state.checks_locks() {
            self.check_changed_paths(&state)?;
        }
        let set_aside = match mode {
            CommitMode::Single => strays::set_all_aside(&fs, lock)?,
            CommitMode::Grouped(_) => Vec::new(),
        };
        // 8. A crash leaves a directory without revisions, which is no harm.
        make_shard(&fs, rev, mode == CommitMode::Single)?;
        // 9 to 11.
        let list = revprops(&state, now);
        if let Err(e) = self
            .name_files(proto, rev, previous, &list, mode == CommitMode::Single)
            .and_then(|()| verify(&fs, rev))
        {
            if mode == CommitMode::Single && self.status == TxnStatus::Broken {
                // Under the lock, and nothing was in the way: these are ours. Those that stay have their marker.
                _ = fs.disk().remove_file(&fs.layout().revprops(rev));
                _ = fs.disk().remove_file(&fs.layout().rev(rev));
            }
            return Err(e);
        }
        if mode == CommitMode::Single {
            // 12. The commit. A crash before it leaves the old youngest revision, after it the new one; both are whole.
            let path = fs.layout().file("current");
            write_atomic(fs.disk(), &path, current.as_bytes(), &path)?;
            strays::remove_marker(&fs, previous, &fs.layout().rev(rev));
        }
        fs.set_youngest(rev);
        self.status = TxnStatus::Ended;
        drop(state);
        // 13. A crash leaves an open transaction without texts, and so does a failure, which is no reason to say that the commit
        // failed.
        if fs.format().has_protorevs_dir() {
            _ = fs.disk().remove_file(&fs.layout().proto_rev_lock(self.id));
        }
        _ = fs.remove_txn_dir(&self.name);
        let sharing = std::mem::replace(&mut self.sharing, fs.sharing(self.id, false));
        Ok(PublishedRevision {
            rev,
            rows: sharing.into_rows(),
            written,
            current,
            set_aside,
        })
    }

    /// Steps 9 and 10: gives the revision file its name, and writes the properties.
    fn name_files(
        &mut self,
        proto: ProtoWriter,
        rev: Revnum,
        previous: Revnum,
        list: &Props,
        sync: bool,
    ) -> Result<()> {
        let fs = &self.fs;
        // 9. From here on the transaction has no texts. A crash leaves a revision file that nobody looks at and that the next
        // commit moves away, and a transaction that can only be removed.
        if sync {
            strays::write_marker(fs, previous, rev, &fs.layout().rev(rev))?;
        }
        if let Err(e) = proto.publish(&fs.rev_path(rev), &file_of(fs, previous), sync) {
            if fs.disk().metadata(&fs.layout().proto_rev(self.id)).is_err() {
                self.status = TxnStatus::Broken;
            }
            return Err(e);
        }
        self.status = TxnStatus::Broken;
        // 10. A crash leaves a file that the next commit moves away.
        write_revprops(fs, rev, list, sync)
    }

    /// Enforces users' locks on everything that was changed.
    fn check_changed_paths(&self, state: &TxnState) -> Result<()> {
        let mut checked: Option<FsPath> = None;
        let mut check = |change: &RawChange| {
            let path = &change.info.path;
            // What was checked with its parent needs no check of its own.
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
                // Children directly behind their parents.
                list.sort_by(|a, b| a.info.path.cmp_tree(&b.info.path));
                list.into_iter().try_for_each(check)
            }
            long @ FoldedLog::Spilled(_) => long.each(&mut check),
        }
    }

    /// Counters to start from (formats 1 and 2), and what `current` will hold.
    fn next_current(
        &self,
        state: &TxnState,
        rev: Revnum,
        mode: CommitMode<'_>,
    ) -> Result<(Option<NextIds>, String)> {
        if self.fs.format().has_mergeinfo() {
            return Ok((None, format!("{rev}\n")));
        }
        let path = self.fs.layout().file("current");
        let text = match mode {
            CommitMode::Grouped(text) if !text.is_empty() => text.as_bytes().to_vec(),
            CommitMode::Grouped(_) | CommitMode::Single => read_replaced(self.fs.disk(), &path)?,
        };
        let fields: Vec<_> = text.trim_ascii_end().split(|&b| b == b' ').collect();
        let counters = match fields[..] {
            [_, node, copy] => parse_base36(node).zip(parse_base36(copy)),
            _ => None,
        };
        let Some((node, copy)) = counters else {
            return Err(Error::new(
                Code::FS_CORRUPT,
                format!("Corrupt 'current' file '{}'", path.display()),
            ));
        };
        let mut line = format!("{rev} ");
        push_base36(&mut line, node.saturating_add(state.next_node));
        line.push(' ');
        push_base36(&mut line, copy.saturating_add(state.next_copy));
        line.push('\n');
        Ok((Some(NextIds { node, copy }), line))
    }
}

/// One of those who commit to a filesystem. Only who is alone writes ahead of the lock: with others about, most of that would
/// have to be done again.
struct ActiveCommit<'a>(&'a Fs, usize);

impl<'a> ActiveCommit<'a> {
    fn begin(fs: &'a Fs) -> Self {
        ActiveCommit(fs, fs.committing().fetch_add(1, Ordering::Relaxed))
    }

    fn is_only_one(&self) -> bool {
        self.1 == 0
    }
}

impl Drop for ActiveCommit<'_> {
    fn drop(&mut self) {
        self.0.committing().fetch_sub(1, Ordering::Relaxed);
    }
}

impl PublishedRevision {
    /// What `current` is to hold.
    pub(crate) fn current(&self) -> &str {
        &self.current
    }

    /// Gives the cache what was just written.
    pub(crate) fn fill_cache(self, fs: &Fs) -> (Revnum, Vec<RepCacheRow>) {
        self.written.fill_cache(fs);
        (self.rev, self.rows)
    }
}

/// Every revision has a root of its own.
fn check_root(fs: &Fs, state: &TxnState, previous: Revnum) -> Result<()> {
    let (root, before) = (state.node(ROOT)?, fs.root_noderev(previous)?);
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

/// The file that a revision is in: new ones get its permissions.
fn file_of(fs: &Fs, rev: Revnum) -> PathBuf {
    match (fs.is_packed(rev), fs.layout().shard(rev)) {
        (true, Some(shard)) => fs.layout().pack(shard),
        _ => fs.rev_path(rev),
    }
}

/// Makes the directories of a shard, if `rev` is its first revision.
fn make_shard(fs: &Fs, rev: Revnum, sync: bool) -> Result<()> {
    if fs.layout().shard(rev).is_none() || !rev.0.is_multiple_of(fs.format().shard_size) {
        return Ok(());
    }
    for file in [fs.layout().rev(rev), fs.layout().revprops(rev)] {
        let Some((dir, above)) = file.parent().and_then(|dir| Some((dir, dir.parent()?))) else {
            continue;
        };
        let is_new = match fs.disk().create_dir(dir) {
            // A commit that failed was here before.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => false,
            made => made
                .map(|()| true)
                .map_err(|e| Error::io("Can't create directory", dir, &e))?,
        };
        match fs.disk().copy_permissions(above, dir) {
            // It may be another user's, and writable all the same.
            Err(e) if !is_new && e.kind() == io::ErrorKind::PermissionDenied => {}
            copied => copied.map_err(|e| Error::io("Can't set permissions on", dir, &e))?,
        }
        if sync {
            sync_dir(fs, above)?;
        }
    }
    Ok(())
}

fn sync_dir(fs: &Fs, dir: &Path) -> Result<()> {
    let synced = fs.disk().sync_dir(dir);
    synced.map_err(|e| Error::io("Can't flush directory", dir, &e))
}

/// What the revision's properties will be.
fn revprops(state: &TxnState, now: &dyn Fn() -> Date) -> Props {
    let mut list = Props::clone(&state.props);
    let keeps_date = list.get(CLIENT_DATE).is_some_and(|flag| flag == b"1");
    for flag in [CHECK_LOCKS, CHECK_OOD, CLIENT_DATE] {
        list.remove(flag);
    }
    if !keeps_date {
        list.insert(props::DATE.to_owned(), now().to_string().into_bytes());
    }
    list
}

fn write_revprops(fs: &Fs, rev: Revnum, list: &Props, sync: bool) -> Result<()> {
    let path = fs.layout().revprops(rev);
    let mut text = Vec::new();
    hashdump::write_props(&mut text, list, Terminator::End);
    let disk = fs.disk();
    let mut file = match disk.write(&path, Create::Replace) {
        // A failed commit left it, read-only.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            _ = disk.remove_file(&path);
            disk.write(&path, Create::Replace)
        }
        opened => opened,
    }
    .map_err(|e| Error::io("Can't open file", &path, &e))?;
    let wrote = file.append(&text);
    wrote.map_err(|e| Error::io("Can't write to file", &path, &e))?;
    if sync {
        file.sync()
            .map_err(|e| Error::io("Can't flush file", &path, &e))?;
    }
    drop(file);
    let copied = disk.copy_permissions(&fs.rev_path(rev), &path);
    copied.map_err(|e| Error::io("Can't set permissions on", &path, &e))?;
    match path.parent() {
        // Subversion leaves this one to the file system, and most make a new file's name durable with the file.
        Some(dir) if sync => sync_dir(fs, dir),
        _ => Ok(()),
    }
}
