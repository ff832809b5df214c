//! Operations on a whole repository: hotcopy, upgrade and recovery.
//!
//! The storage engine handles `db/`. This module handles the rest: configuration, hooks, lock files, and the file
//! `format`, which makes a directory a repository and is therefore written last.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Cancel, Code, Error, Result, Revnum, disk_path};
use fsfs::admin::hotcopy::{self, CopiedRevisions};
use fsfs::admin::recover;
use fsfs::admin::upgrade::{self, UpgradeEvent};
use fsfs::disk::{IoMeter, RealDisk, write_atomic};
use fsfs::{Cache, Fs};

use crate::create::make_locks;
use crate::repo::{FORMAT, OpenOptions, Repository, read_format};

/// How to copy a repository.
#[derive(Clone, Debug, Default)]
pub struct HotcopyOptions {
    /// Copy only what the destination lacks.
    pub incremental: bool,
    /// Continue a copy that was interrupted before the destination was a repository.
    pub resume: bool,
    /// Counts the bytes that are read and written below `db`, and may limit their rate.
    pub meter: Option<Arc<IoMeter>>,
}

/// Copies the repository in `source` to `destination`, also while the source is in use.
///
/// # Errors
/// `DIR_NOT_EMPTY` unless the copy is incremental, or continues an interrupted one; `INCORRECT_PARAMS` for a copy onto or into
/// itself; those of opening the source and of [`fsfs::admin::hotcopy::run`]; the system's.
pub fn hotcopy(
    source: &Path,
    destination: &Path,
    options: HotcopyOptions,
    notify: &mut dyn FnMut(CopiedRevisions),
    cancel: &Cancel,
    cache: &Arc<Cache>,
) -> Result<()> {
    let (source, destination) = (whole(source)?, whole(destination)?);
    let opening = OpenOptions {
        meter: options.meter.clone(),
        ..OpenOptions::default()
    };
    let repository = Repository::open_with(&source, cache, opening)?;
    refuse_itself(&source, &destination, "Hotcopy")?;
    let is_new = prepare(repository.fs(), &destination, &options)?;
    let mut copy = || -> Result<()> {
        let db = destination.join("db");
        hotcopy::begin(repository.fs(), &db)?;
        copy_around(&source, &destination, Path::new(""), cancel)?;
        // A first copy that is continued may be complete except for `format`: then it is brought up to date.
        let options = hotcopy::HotcopyOptions {
            incremental: options.incremental || options.resume,
            ..hotcopy::HotcopyOptions::default()
        };
        hotcopy::run(repository.fs(), &db, options, notify, cancel)?;
        write_format(&destination, repository.format())
    };
    copy().inspect_err(|_| {
        if is_new {
            // The destination is useless; the next attempt finds its path free.
            _ = fs::remove_dir(&destination);
        }
    })
}

/// Upgrades the repository in `path` to the newest format. `started` is called once no other process can change it.
///
/// # Errors
/// Those of opening it and of [`fsfs::admin::upgrade::run`]; the system's.
pub fn upgrade(path: &Path, started: &mut dyn FnMut(), notify: &mut dyn FnMut(UpgradeEvent)) -> Result<()> {
    check_format(path)?;
    started();
    upgrade::run(&path.join("db"), notify)?;
    write_format(path, NEWEST)
}

/// Makes the repository in `path` usable after a crash and returns its youngest revision. `started` is called once no
/// other process can change it.
///
/// # Errors
/// Those of opening it and of [`fsfs::admin::recover::run`]; the system's.
pub fn recover(path: &Path, started: &mut dyn FnMut(), cancel: &Cancel) -> Result<Revnum> {
    check_format(path)?;
    started();
    recover::run(&path.join("db"), cancel)
}

fn check_format(path: &Path) -> Result<()> {
    match read_format(&path.join(FORMAT))? {
        3 | NEWEST => Ok(()),
        other => Err(Error::new(
            Code::REPOS_UNSUPPORTED_VERSION,
            format!("Expected repository format '3' or '{NEWEST}'; found format '{other}'"),
        )),
    }
}

/// Writes the file `format`: with it the directory is a repository.
pub(crate) fn write_format(path: &Path, number: u32) -> Result<()> {
    let file = path.join(FORMAT);
    let like = path.join("db").join(FORMAT);
    write_atomic(&RealDisk, &file, format!("{number}\n").as_bytes(), &like)
}

/// Returns the absolute path.
pub(crate) fn whole(path: &Path) -> Result<PathBuf> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let whole = std::path::absolute(path).map_err(|e| Error::io("Can't find the whole path of", path, &e))?;
    Ok(whole.components().collect())
}

/// Refuses a destination that is the source or inside of it. `what` begins the message.
///
/// # Errors
/// `INCORRECT_PARAMS`.
pub fn refuse_itself(source: &Path, destination: &Path, what: &str) -> Result<()> {
    let (source, destination) = (&whole(source)?, &whole(destination)?);
    let refused = |text: &str| Err(Error::new(Code::INCORRECT_PARAMS, format!("{what} {text}")));
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let parent = destination.parent().unwrap_or(destination);
    if real(source) == real(destination) {
        return refused("source and destination are equal");
    }
    match real(parent).starts_with(real(source)) {
        true => refused("destination is inside of the source"),
        false => Ok(()),
    }
}

/// Makes sure that the destination is a directory which may be copied to; true if it was created.
fn prepare(source: &Fs, destination: &Path, options: &HotcopyOptions) -> Result<bool> {
    let refused = |what: &str| {
        let message = format!("'{}' exists and is {what}", disk_path::shown(destination));
        Err(Error::new(Code::DIR_NOT_EMPTY, message))
    };
    match fs::read_dir(destination) {
        Ok(_) if options.incremental => Ok(false),
        Ok(_) if options.resume && destination.join(FORMAT).exists() => {
            refused("a complete repository; use --incremental to bring it up to date")
        }
        Ok(mut entries) => {
            match entries.next().is_some() && !(options.resume && is_begun(source, destination)?) {
                true => refused("non-empty"),
                false => Ok(false),
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => make_dir(destination).map(|()| true),
        Err(e) => Err(Error::io("Can't check directory", destination, &e)),
    }
}

/// Returns whether an interrupted copy has left `destination`.
fn is_begun(source: &Fs, destination: &Path) -> Result<bool> {
    let db = destination.join("db");
    let is_empty = |dir: &Path| fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    let has_db_alone = fs::read_dir(destination).is_ok_and(|entries| entries.count() == 1) && is_empty(&db);
    Ok(has_db_alone || hotcopy::is_interrupted(source, &db)?)
}

/// Copies everything beside `db/`: configuration, hooks, and whatever an administrator added.
pub(crate) fn copy_around(source: &Path, destination: &Path, below: &Path, cancel: &Cancel) -> Result<()> {
    let dir = source.join(below);
    let failed = |e: io::Error| Error::io("Can't read directory", &dir, &e);
    for entry in fs::read_dir(&dir).map_err(failed)? {
        cancel.check()?;
        let entry = entry.map_err(failed)?;
        let at = below.join(entry.file_name());
        if below.as_os_str().is_empty() && (at == Path::new("db") || at == Path::new(FORMAT)) {
            continue;
        }
        if at == Path::new("locks") {
            // The copy has lock files of its own, also if those of the source are elsewhere, behind a link.
            make_locks(destination)?;
            continue;
        }
        let (from, to) = (source.join(&at), destination.join(&at));
        let kind = entry
            .file_type()
            .map_err(|e| Error::io("Can't stat", &from, &e))?;
        if kind.is_dir() {
            make_dir(&to)?;
            copy_around(source, destination, &at, cancel)?;
        } else if kind.is_symlink() {
            copy_link(&from, &to)?;
        } else if kind.is_file() {
            copy_file(&from, &to)?;
        }
    }
    Ok(())
}

pub(crate) fn make_dir(path: &Path) -> Result<()> {
    match fs::create_dir(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made.map_err(|e| Error::io("Can't create directory", path, &e)),
    }
}

/// Replaces `to` by a copy in one step, unless it is one already.
fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let failed = |e: io::Error| Error::io("Can't copy to", to, &e);
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(".sven-copy");
    let temporary = to.with_file_name(name);
    let exists = to.exists();
    if exists && is_copy(from, to) {
        // A killed run may have left it.
        _ = fs::remove_file(&temporary);
        return Ok(());
    }
    let copied = || {
        fs::copy(from, &temporary)?;
        if exists {
            // After a power cut the old file or the new one is there, and not an empty one.
            fs::File::open(&temporary)?.sync_all()?;
        }
        fs::rename(&temporary, to)
    };
    copied().map_err(|e| {
        _ = fs::remove_file(&temporary);
        failed(e)
    })
}

/// True if two files have the same contents and permissions.
fn is_copy(from: &Path, to: &Path) -> bool {
    let mode = |path: &Path| fs::metadata(path).map(|meta| (meta.len(), meta.permissions()));
    let is_like = matches!((mode(from), mode(to)), (Ok(from), Ok(to)) if from == to);
    is_like && matches!((fs::read(from), fs::read(to)), (Ok(from), Ok(to)) if from == to)
}

fn copy_link(from: &Path, to: &Path) -> Result<()> {
    let target = fs::read_link(from).map_err(|e| Error::io("Can't read link", from, &e))?;
    match std::os::unix::fs::symlink(&target, to) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map_err(|e| Error::io("Can't create symbolic link", to, &e)),
    }
}

/// The layout of repositories since Subversion 1.4.
const NEWEST: u32 = 5;
