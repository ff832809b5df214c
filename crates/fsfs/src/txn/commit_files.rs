//! The files of a new revision besides the revision file: directories of a new shard, and revision properties.

use std::io;
use std::path::{Path, PathBuf};

use base::{Date, Error, Props, Result, Revnum, props};

use super::begin::{CHECK_LOCKS, CHECK_OOD, CLIENT_DATE};
use super::state::TxnState;
use crate::store::disk::Create;
use crate::tree::Fs;

/// Returns the revision or pack file of a revision: new files get its permissions.
pub(super) fn file_of(fs: &Fs, rev: Revnum) -> PathBuf {
    if fs.is_shared() {
        return fs.layout().file("format");
    }
    match (fs.is_packed(rev), fs.layout().shard(rev)) {
        (true, Some(shard)) => fs.layout().pack(shard),
        _ => fs.rev_path(rev),
    }
}

/// Makes the directories of a shard, if `rev` is its first revision.
pub(super) fn make_shard(fs: &Fs, rev: Revnum, sync: bool) -> Result<()> {
    let is_first = fs.layout().shard(rev).is_some() && rev.0.is_multiple_of(fs.format().shard_size);
    if fs.is_shared() || !is_first {
        return Ok(());
    }
    for file in [fs.layout().rev(rev), fs.layout().revprops(rev)] {
        let Some((dir, above)) = file.parent().and_then(|dir| Some((dir, dir.parent()?))) else {
            continue;
        };
        let is_new = match fs.disk().create_dir(dir) {
            // Left by a commit that failed.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => false,
            made => made
                .map(|()| true)
                .map_err(|e| Error::io("Can't create directory", dir, &e))?,
        };
        match fs.disk().copy_permissions(above, dir) {
            // The directory may belong to another user and be writable nevertheless.
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

/// Returns the properties of the new revision.
pub(super) fn revprops(state: &TxnState, now: &dyn Fn() -> Date) -> Props {
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

pub(super) fn write_revprops(fs: &Fs, rev: Revnum, list: &Props, sync: bool) -> Result<()> {
    let path = fs.revprops_path(rev);
    let mut text = Vec::new();
    fs.format().back_end.encode_revprops(list, &mut text);
    let disk = fs.disk();
    let mut file = match disk.write(&path, Create::Replace) {
        // Left by a commit that failed, and read-only.
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
        // Subversion does not flush this directory: most file systems make the name of a new file durable with the file.
        Some(dir) if sync => sync_dir(fs, dir),
        _ => Ok(()),
    }
}
