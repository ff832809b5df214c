//! Converts a repository to the other back end, or to another format of the same one: `sven convert`.
//!
//! The destination gets the same history, revision by revision: each revision of the source is replayed into a transaction
//! ([`apply`]), as `load` does with the records of a dump, and committed in the same groups. There is no dump in between. Texts and
//! properties are stored again, as the destination's format stores them. What is around the filesystem is copied as by `hotcopy`:
//! configuration, hooks, and other files of the administrator. UUID, revision properties and users' locks are carried over;
//! transactions in progress, packing, caches and the history index are not.
//!
//! The file `format`, which makes a directory a repository, is written last. Until then the destination has a file that names the
//! source and the options ([`marker`]). With it an interrupted conversion goes on behind the last revision that was durable, and any
//! other directory is refused.
//!
//! The source may be in use. The conversion ends when it has all revisions; what is committed later is not in the destination, until a
//! later run brings it up to date ([`ConvertOptions::incremental`]).

mod apply;
mod marker;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use base::{Cancel, Code, Depth, Error, FsPath, NodeKind, Result, Revnum, disk_path, props};
use fsfs::disk::{IoMeter, MeteredDisk, RealDisk};
use fsfs::{BackEnd, Cache, Fs, LockAccess};

use crate::admin::{copy_around, make_dir, refuse_itself, whole, write_format};
use crate::create::{CreateOptions, fs_format};
use crate::load::{Clock, Commits};
use crate::repo::{FORMAT, OpenOptions, Repository};
use marker::Marker;

/// How to convert a repository.
#[derive(Clone)]
pub struct ConvertOptions {
    /// The back end of the destination.
    pub to: BackEnd,
    /// The oldest release (its minor number, 1.x) that must be able to use the destination; `None` is the newest one.
    pub compatible: Option<u32>,
    /// Revisions per shard, 0 for the linear layout; `None` is the format's default.
    pub shard_size: Option<u64>,
    /// Brings a complete conversion up to date, if the destination is one.
    pub incremental: bool,
    /// Counts the bytes that are read and written below both `db`, and may limit their rate.
    pub meter: Option<Arc<IoMeter>>,
}

/// Receives the progress of a conversion.
pub trait ConvertObserver {
    /// The conversion begins with revision `next`; the source has revisions up to `youngest`.
    fn started(&mut self, next: Revnum, youngest: Revnum);

    /// A revision is durable in the destination.
    ///
    /// # Errors
    /// An error stops the conversion.
    fn converted(&mut self, rev: Revnum) -> Result<()>;
}

/// Converts the repository in `source` to a new one in `destination`, continues an interrupted conversion, or brings a complete one up to
/// date. `caches` are for reading the source and for writing.
///
/// # Errors
/// `DIR_NOT_EMPTY` for a destination that is not empty and no such conversion; `INCORRECT_PARAMS` for the conversion of another
/// repository or with other options, for one that has gone on otherwise, and for a destination that is the source or inside of it; `UNSUPPORTED_FEATURE` for options that
/// the format lacks and for a repository of a cluster; those of reading the source, of [`fsfs::create`] and of committing; `CANCELLED`.
pub fn convert(
    source: &Path,
    destination: &Path,
    options: &ConvertOptions,
    observer: &mut dyn ConvertObserver,
    cancel: &Cancel,
    caches: [&Arc<Cache>; 2],
    clock: &Clock,
) -> Result<()> {
    let (source, destination) = (whole(source)?, whole(destination)?);
    let opening = OpenOptions {
        meter: options.meter.clone(),
        ..OpenOptions::default()
    };
    let repository = Repository::open_with(&source, caches[0], opening.clone())?;
    if repository.shared_nodes().is_some() {
        let shown = disk_path::shown(&source);
        let text =
            format!("'{shown}' is in a cluster: copy it with 'svnadmin hotcopy', and convert the copy");
        return Err(Error::new(Code::UNSUPPORTED_FEATURE, text));
    }
    refuse_itself(&source, &destination, "Conversion")?;
    let compatible = options.compatible.unwrap_or(CreateOptions::default().compatible);
    let create = fsfs::CreateOptions {
        back_end: options.to,
        format: fs_format(compatible),
        shard_size: options.shard_size,
        uuid: Some(repository.uuid()),
        log_addressing: None,
        conf: conf_of(&repository, options.to)?,
    };
    create.check()?;
    let marker = Marker::of(&create);
    let found = prepare(&destination, &marker, options.incremental)?;
    let conversion = |fs: Fs| Conversion {
        source: repository.fs(),
        destination: fs,
        was_complete: found == Found::Complete,
        cancel,
        clock,
    };
    if found == Found::Complete {
        let converted = Repository::open_with(&destination, caches[1], opening)?;
        check_options(&converted, &create, options)?;
        let conversion = conversion(converted.fs().clone());
        conversion.check_same_history()?;
        copy_around(&source, &destination, Path::new(""), cancel)?;
        return conversion.run(observer);
    }
    let begun = marker.write(&destination);
    begun.inspect_err(|_| {
        if found == Found::Nothing {
            // The next attempt finds the path free.
            _ = fs::remove_dir(&destination);
        }
    })?;
    copy_around(&source, &destination, Path::new(""), cancel)?;
    let fs = open_destination(&destination, &create, options, caches[1], clock)?;
    let conversion = conversion(fs);
    conversion.check_same_history()?;
    conversion.run(observer)?;
    // A crash between the two leaves a complete repository, which the next run only finds complete.
    write_format(&destination, if compatible < 4 { 3 } else { 5 })?;
    Marker::remove(&destination)
}

struct Conversion<'a> {
    source: &'a Fs,
    destination: Fs,
    /// The destination is a repository, which may be in use.
    was_complete: bool,
    cancel: &'a Cancel,
    clock: &'a Clock,
}

impl Conversion<'_> {
    fn run(&self, observer: &mut dyn ConvertObserver) -> Result<()> {
        let done = self.destination.youngest()?;
        let mut youngest = self.source.youngest()?;
        observer.started(done.next(), youngest);
        let mut next = done.next();
        loop {
            self.revisions(next, youngest, observer)?;
            next = youngest.next();
            youngest = self.source.youngest()?;
            if youngest < next {
                // What was changed meanwhile, in this run or since an earlier one.
                self.renew_revprops(self.destination.youngest()?)?;
                if !self.was_complete {
                    self.remove_rests()?;
                }
                return self.locks();
            }
        }
    }

    /// Removes what runs that were killed have left.
    fn remove_rests(&self) -> Result<()> {
        self.destination.remove_set_aside()?;
        let txns = self.destination.list_txns()?;
        txns.iter().try_for_each(|txn| self.destination.purge_txn(txn))
    }

    /// Refuses a destination whose history is not the source's: one of them was replaced, or has gone on otherwise.
    fn check_same_history(&self) -> Result<()> {
        let done = self.destination.youngest()?;
        let is_same = done <= self.source.youngest()?
            && self
                .source
                .has_history_of(&self.destination, done, &has_same_contents)?;
        match is_same {
            true => Ok(()),
            false => Err(Error::new(
                Code::INCORRECT_PARAMS,
                format!("Revision {done} of the conversion is not that of the source"),
            )),
        }
    }

    /// Brings the properties of revisions that were converted earlier up to date. That of revision 0 is made by every new filesystem.
    fn renew_revprops(&self, last: Revnum) -> Result<()> {
        for first in (0..=last.0).step_by(REVPROPS_AT_ONCE) {
            self.cancel.check()?;
            let end = last.0.min(first + (REVPROPS_AT_ONCE as u64 - 1));
            let revs: Vec<Revnum> = (first..=end).map(Revnum).collect();
            let (wanted, there) = (
                self.source.revprop_lists(&revs),
                self.destination.revprop_lists(&revs),
            );
            for ((rev, wanted), there) in revs.iter().zip(wanted).zip(there) {
                let wanted = wanted?.to_props();
                if wanted != there?.to_props() {
                    self.destination.set_revprops(*rev, &wanted)?;
                }
            }
        }
        Ok(())
    }

    /// Converts the revisions from `first` to `last`.
    fn revisions(&self, first: Revnum, last: Revnum, observer: &mut dyn ConvertObserver) -> Result<()> {
        let mut commits = Commits::new(&self.destination, false)?;
        let mut progress = Progress {
            reported: first,
            next: first,
        };
        let converted = self.revisions_into(&mut commits, last, &mut progress, observer);
        // Complete revisions stay, also after a failure.
        let flushed = commits.flush().and_then(|()| progress.report(observer));
        converted.and(flushed)
    }

    fn revisions_into(
        &self,
        commits: &mut Commits,
        last: Revnum,
        progress: &mut Progress,
        observer: &mut dyn ConvertObserver,
    ) -> Result<()> {
        for rev in (progress.next.0..=last.0).map(Revnum) {
            self.cancel.check()?;
            let mut txn = commits.begin((self.clock)())?;
            txn.set_lock_access(LockAccess {
                ignores_locks: true,
                ..LockAccess::default()
            });
            let copied_from = commits.fs().clone();
            let applied = apply::revision(self.source, rev, &copied_from, &mut txn, self.cancel);
            let applied = applied.and_then(|()| {
                for (name, value) in self.source.revprops(rev)?.iter() {
                    txn.set_prop(name, Some(value))?;
                }
                if self.source.revprops(rev)?.get(props::DATE).is_none() {
                    txn.set_prop(props::DATE, None)?;
                }
                Ok(())
            });
            if let Err(error) = applied {
                // The error matters, and the next run begins the revision again.
                _ = txn.abort();
                return Err(error.context(format!("Can't convert revision {rev}")));
            }
            // What is set aside is of an earlier run that was killed before it had finished a revision.
            let (made, _) = commits.commit(txn, self.clock)?;
            if made != rev {
                // It is the first one of its group, as no other process commits during a group. It is discarded with the group.
                *commits = Commits::new(&self.destination, false)?;
                let text = format!(
                    "Revision {rev} would become revision {made} of the conversion, to which another process has committed; nothing was added. \
                     It is no copy of the source any more: make another one"
                );
                return Err(Error::new(Code::FS_CONFLICT, text));
            }
            progress.next = rev.next();
            if commits.is_due() {
                commits.flush()?;
                progress.report(observer)?;
            }
        }
        Ok(())
    }

    /// Makes the locks of the destination those of the source, with their tokens and times.
    fn locks(&self) -> Result<()> {
        let wanted = self.source.locks(&FsPath::root(), Depth::Infinity)?;
        self.destination.replace_locks(&wanted)
    }
}

/// How far a conversion is.
struct Progress {
    /// The next revision to report.
    reported: Revnum,
    /// The next revision to convert.
    next: Revnum,
}

impl Progress {
    /// Reports the converted revisions, which are durable, that were not reported yet.
    fn report(&mut self, observer: &mut dyn ConvertObserver) -> Result<()> {
        while self.reported < self.next {
            observer.converted(self.reported)?;
            self.reported = self.reported.next();
        }
        Ok(())
    }
}

/// What was in the place of the destination.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Nothing; there is a directory now.
    Nothing,
    /// An empty directory, or an interrupted conversion.
    Part,
    /// A repository.
    Complete,
}

/// Makes sure that the destination is a directory that may be filled, or a repository that may be brought up to date.
fn prepare(destination: &Path, marker: &Marker, incremental: bool) -> Result<Found> {
    let refused = |what: &str| {
        let message = format!("'{}' exists and is {what}", disk_path::shown(destination));
        Err(Error::new(Code::DIR_NOT_EMPTY, message))
    };
    let mut entries = match fs::read_dir(destination) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return make_dir(destination).map(|()| Found::Nothing);
        }
        Err(e) => return Err(Error::io("Can't check directory", destination, &e)),
    };
    match Marker::read(destination)? {
        Some(found) if found == *marker => Ok(Found::Part),
        Some(_) => Err(Error::new(
            Code::INCORRECT_PARAMS,
            format!(
                "'{}' is the interrupted conversion of another repository, or one with other options",
                disk_path::shown(destination)
            ),
        )),
        None if destination.join(FORMAT).exists() => match incremental {
            true => Ok(Found::Complete),
            false => refused("a complete repository; '--incremental' brings a conversion up to date"),
        },
        // A crash may have left the marker under its first name.
        None if entries.any(|entry| entry.is_ok_and(|entry| entry.file_name() != marker::TEMPORARY)) => {
            refused("non-empty")
        }
        None => Ok(Found::Part),
    }
}

/// Refuses a repository that is no conversion of the source, or one with other options than those that were given.
fn check_options(
    converted: &Repository,
    create: &fsfs::CreateOptions,
    options: &ConvertOptions,
) -> Result<()> {
    let refused = |what: &str| {
        let shown = disk_path::shown(converted.path());
        let text = format!("'{shown}' is no conversion of this repository with these options: {what}");
        Err(Error::new(Code::INCORRECT_PARAMS, text))
    };
    let info = converted.fs_info()?;
    if converted.shared_nodes().is_some() || info.fs_type != create.back_end.name() {
        return refused("it has another storage engine");
    }
    if Some(converted.uuid()) != create.uuid {
        return refused("it has another UUID");
    }
    if create.back_end == BackEnd::Fsfs && options.compatible.is_some() && info.format != create.format {
        return refused("it has another format");
    }
    match options.shard_size.is_some_and(|size| size != info.shard_size) {
        true => refused("its shards have another size"),
        false => Ok(()),
    }
}

/// Opens the filesystem of the destination. Creates it if it is not complete.
fn open_destination(
    destination: &Path,
    create: &fsfs::CreateOptions,
    options: &ConvertOptions,
    cache: &Arc<Cache>,
    clock: &Clock,
) -> Result<Fs> {
    let db = destination.join("db");
    let disk: Arc<dyn fsfs::disk::Disk> = match &options.meter {
        Some(meter) => Arc::new(MeteredDisk::new(Arc::new(RealDisk), meter.clone())),
        None => Arc::new(RealDisk),
    };
    // `format` is the last file of a new filesystem.
    if !db.join(FORMAT).exists() {
        match fs::remove_dir_all(&db) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("Can't remove directory", &db, &e));
            }
            _ => {}
        }
        fsfs::create(&db, create, (clock)(), disk.clone())?;
    }
    Fs::open_on(&db, cache, disk)
}

/// Returns the contents of the source's `fsfs.conf` or `fsx.conf`, if it is about the destination's back end too.
fn conf_of(repository: &Repository, to: BackEnd) -> Result<Option<Vec<u8>>> {
    let name = repository.fs_info()?.fs_type;
    if name != to.name() {
        return Ok(None);
    }
    let path = repository.path().join("db").join(format!("{name}.conf"));
    match fs::read(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read
            .map(Some)
            .map_err(|e| Error::io("Can't open file", &path, &e)),
    }
}

/// True if a revision has the same paths, contents and properties of nodes in both filesystems, whatever their formats.
fn has_same_contents(one: &Fs, other: &Fs, rev: Revnum) -> Result<bool> {
    let paths = |fs: &Fs| -> Result<Vec<FsPath>> {
        let changes = fs.changed_paths(rev)?.to_vec();
        let mut paths: Vec<FsPath> = changes.into_iter().map(|change| change.path).collect();
        paths.sort();
        Ok(paths)
    };
    let changed = paths(one)?;
    if changed != paths(other)? {
        return Ok(false);
    }
    for path in changed.iter().take(NODES) {
        let is_same = match (one.root(rev)?.try_node(path)?, other.root(rev)?.try_node(path)?) {
            (Some(here), Some(there)) => {
                here.kind() == there.kind()
                    && here.props()? == there.props()?
                    && (here.kind() != NodeKind::File || here.md5()? == there.md5()?)
            }
            (here, there) => here.is_none() && there.is_none(),
        };
        if !is_same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Changed nodes of a revision that are compared, at most.
const NODES: usize = 1000;

/// Revisions whose properties are compared at once.
const REVPROPS_AT_ONCE: usize = 256;
