//! A repository of files into the cluster.
//!
//! 1. Packs, revisions, and property lists are copied while the source is in use. What is there already is skipped; property lists are
//!    compared.
//! 2. Under all locks of the source the rest is copied: what was committed, packed or changed meanwhile. Directories whose state
//!    has not changed since step 1 have no changed property lists.
//! 3. Locks, the youngest revision and the first unpacked one are written in one transaction. Until then the cluster does not show
//!    the repository, or shows the state of the last import.
//!
//! After an interrupt the next import goes through step 1 again and finds most of it done. The source is not changed. Its users must stop to commit
//! to it before step 2 of the last import; nothing of this program ensures that they do not go on afterwards.

use std::collections::HashMap;
use std::path::Path;

use base::{Cancel, Depth, Error, FsPath, Result, Revnum};
use fsfs::admin::rep_cache;
use fsfs::guard::WriteLock;

use super::source::{PropsState, Source};
use super::target::{Batch, End, Target};
use crate::cluster::Cluster;
use crate::directories::check_name;
use crate::files::read_files;

/// What an import does to a repository whose locks or revision properties were changed in the cluster since the last import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnChanges {
    /// It fails.
    Refuse,
    /// It makes them those of the source.
    Overwrite,
}

/// Copies the repository in the directory `repository` into the cluster as `name`, or adds what is new to an earlier import. Calls
/// `done` with each revision that is there. Returns the youngest revision.
///
/// # Errors
/// `FS_UNSUPPORTED_FORMAT` for formats 1 and 2; `FS_ALREADY_EXISTS` if the cluster has another repository of that name, or commits or other changes of its own in it;
/// `BAD_FILENAME` for a bad name; `CANCELLED`; those of reading, and of the cluster.
pub fn import(
    cluster: &Cluster,
    repository: &Path,
    name: &str,
    own_changes: OwnChanges,
    done: &mut dyn FnMut(Revnum),
    cancel: &Cancel,
) -> Result<Revnum> {
    check_name(name)?;
    cluster.check_store_identity()?;
    let source = Source::open(&repository.join("db"))?;
    let target = Target::find_or_make(cluster, name, own_changes, &source)?;
    let is_first = target.info.youngest.is_none();
    let mut import = Import {
        source: &source,
        target,
        packed: 0,
        states: HashMap::new(),
        done,
        cancel,
    };
    import.packed = import.copy_packs()?;
    let seen = source.fs.youngest()?;
    import.copy_revisions(seen, Pass::First)?;
    let known = import.target.info.youngest.map_or(0, |known| known + 1);
    import.copy_reps(Revnum(known), seen)?;
    let locks = source.fs.all_locks()?;
    let youngest = import.copy_rest(locks.write())?;
    import.copy_reps(seen.next(), youngest)?;
    let end = End {
        youngest,
        min_unpacked: import.packed * source.shard_size,
        locks: source.fs.locks(&FsPath::root(), Depth::Infinity)?,
    };
    if is_first {
        cluster.replace_files(&import.target.info, &read_files(repository)?)?;
    }
    import.target.finish(&end)?;
    drop(locks);
    Ok(youngest)
}

struct Import<'a> {
    source: &'a Source,
    target: Target<'a>,
    /// Shards whose packs are in the cluster, from the first on.
    packed: u64,
    /// The states of directories before the property lists in them were read, by the first revision of a group.
    states: HashMap<u64, PropsState>,
    done: &'a mut dyn FnMut(Revnum),
    cancel: &'a Cancel,
}

/// The first pass looks at all; the last one passes over what has not changed since.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    First,
    Last,
}

impl Import<'_> {
    /// Copies the packs that are not there. Returns the number of packed shards.
    fn copy_packs(&self) -> Result<u64> {
        let known = self.target.packs()?;
        let packed = self.source.packed_shards()?;
        for shard in (0..packed).filter(|shard| !known.contains(shard)) {
            self.cancel.check()?;
            let pack = self.source.pack(shard)?;
            self.target.put_pack(shard, &*pack.file, pack.manifest)?;
        }
        Ok(packed)
    }

    /// Copies revisions that are not there, and property lists that are different, in groups of revisions that share a directory.
    fn copy_revisions(&mut self, youngest: Revnum, pass: Pass) -> Result<()> {
        let size = match self.source.shard_size {
            0 => GROUP,
            size => size.min(GROUP),
        };
        // Groups do not cross the border of a shard.
        let mut first = 0;
        while first <= youngest.0 {
            let shard_end = match self.source.shard_size {
                0 => u64::MAX,
                shard => (first / shard + 1) * shard,
            };
            let end = (first + size).min(shard_end).min(youngest.0 + 1);
            if pass == Pass::First || !self.is_unchanged(first) {
                self.copy_group(first, end)?;
            }
            first = (first + size).min(shard_end);
        }
        Ok(())
    }

    /// True if no property list of the group has changed since it was copied, and no revision was added.
    fn is_unchanged(&self, first: u64) -> bool {
        let state = self.states.get(&first);
        state.is_some_and(|state| state.proves_unchanged(&self.source.props_state(Revnum(first))))
    }

    /// Copies the rows for rep sharing of the revisions `first` to `last`.
    fn copy_reps(&self, first: Revnum, last: Revnum) -> Result<()> {
        let mut rows = Vec::new();
        rep_cache::rows(&self.source.fs, first, last, &mut |row| {
            rows.push(row);
            if rows.len() == REPS {
                self.cancel.check()?;
                self.target.add_reps(&std::mem::take(&mut rows))?;
            }
            Ok(())
        })?;
        self.target.add_reps(&rows)
    }

    fn copy_group(&mut self, first: u64, end: u64) -> Result<()> {
        self.cancel.check()?;
        let state = self.source.props_state(Revnum(first));
        let known = self.target.props(first, end)?;
        let revs: Vec<Revnum> = (first..end).map(Revnum).collect();
        let lists = self.source.props(&revs)?;
        let (mut batch, mut changed) = (Batch::default(), Vec::new());
        for (rev, list) in revs.into_iter().zip(lists) {
            match known.get(&rev.0) {
                Some(old) if *old == list => {}
                Some(_) => changed.push((rev.0, list)),
                None => {
                    self.cancel.check()?;
                    let is_packed = rev.0 < self.packed * self.source.shard_size;
                    let file = match is_packed {
                        true => None,
                        false => match self.source.revision(rev)? {
                            Some(file) => Some(file),
                            // Its shard was packed just now.
                            None => {
                                self.target.write(&mut batch)?;
                                self.packed = self.copy_packs()?;
                                match rev.0 < self.packed * self.source.shard_size {
                                    true => None,
                                    false => return Err(no_file(self.source, rev)),
                                }
                            }
                        },
                    };
                    self.target.add_revision(&mut batch, rev, file.as_deref(), list)?;
                }
            }
        }
        self.target.write(&mut batch)?;
        self.target.replace_props(changed)?;
        // The last group may grow.
        self.states.insert(first, state);
        (self.done)(Revnum(end - 1));
        Ok(())
    }

    /// Copies what has changed since the first pass. Returns the youngest revision.
    fn copy_rest(&mut self, lock: &WriteLock) -> Result<Revnum> {
        let youngest = lock.youngest();
        self.packed = self.copy_packs()?;
        self.copy_revisions(youngest, Pass::Last)?;
        Ok(youngest)
    }
}

fn no_file(source: &Source, rev: Revnum) -> Error {
    let missing = std::io::Error::from(rustix::io::Errno::NOENT);
    Error::io(
        "Can't open the file of revision",
        &source.db.join(rev.to_string()),
        &missing,
    )
}

/// Revisions whose property lists are compared at once.
const GROUP: u64 = 1000;

/// Rows for rep sharing that are written at once.
const REPS: usize = 2000;
