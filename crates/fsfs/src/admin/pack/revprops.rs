//! Packing the revision properties of a shard.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use base::{Error, Result, ResultExt as _, Revnum};

use super::{SMALL_CACHE, create_dir, remove_dir, sync_dir};
use crate::format::fs_format::BackEnd;
use crate::format::fsx::{self, prop_list};
use crate::format::revprops_pack::{RevpropsManifest, RevpropsPack};
use crate::store::cache::Cache;
use crate::store::disk::{Create, DiskWriter, RealDisk, is_missing};
use crate::store::guard::WriteLock;
use crate::tree::Fs;
use crate::txn::revprops_write::{OVERHEAD_PER_LIST, pack_file_name};

/// Packs the property lists of a shard, in files of at most `aim` bytes where possible. The unpacked lists stay. On return the
/// pack files are durable.
pub(in crate::admin) fn pack(fs: &Fs, shard: u64, aim: u64, compress: bool, _: &WriteLock) -> Result<()> {
    let disk = fs.disk();
    let dir = fs.layout().revprops_pack_dir(shard);
    let size = fs.format().shard_size;
    // The list of revision 0 is never packed.
    let first = (shard * size).max(1);
    let lists = (first..(shard + 1) * size).map(|rev| {
        let path = fs.layout().revprops(Revnum(rev));
        disk.read_small(&path)
            .map_err(|e| Error::io("Can't open file", &path, &e))
    });
    let lists = lists.collect::<Result<Vec<_>>>()?;
    // In FSX the directory has the pack file too.
    if !fs.format().is_fsx() {
        // Left by an interrupted run, and useless as the unpacked lists exist.
        remove_dir(disk, &dir)?;
        create_dir(disk, &dir)?;
    }
    let mut unsynced = Vec::new();
    let mut take = |name: &str, bytes: &[u8]| {
        unsynced.push(write(fs, &dir.join(name), bytes)?);
        // Flushing files together saves time, but the number of open files is limited.
        match unsynced.len() == FILES_PER_SYNC {
            true => sync(&mut unsynced),
            false => Ok(()),
        }
    };
    match fs.format().back_end {
        BackEnd::Fsfs => each_file(first, &lists, aim, compress, &mut take)?,
        BackEnd::Fsx => {
            if shard == 0 {
                let path = fs.layout().revprops(Revnum::ZERO);
                let list = disk.read_small(&path);
                take("p0", &list.map_err(|e| Error::io("Can't open file", &path, &e))?)?;
            }
            each_fsx_file(first, &lists, aim, &mut take)?;
        }
    }
    sync(&mut unsynced)?;
    let shard_dir = fs.layout().revprops(Revnum(shard * size));
    let shard_dir = shard_dir.parent().unwrap_or(Path::new("."));
    disk.copy_permissions(shard_dir, &dir)
        .map_err(|e| Error::io("Can't set permissions on directory", &dir, &e))?;
    sync_dir(disk, &dir)?;
    sync_dir(disk, dir.parent().unwrap_or(Path::new(".")))
}

/// Returns the files with the property lists of a shard, in the form that packing gives them: names and contents, the manifest last.
/// `first` is the revision of the first list; the list of revision 0 is never packed. The sizes of files are those that `fsfs.conf` in
/// `db` asks for.
///
/// # Errors
/// The system's, and those of parsing, for `format` and `fsfs.conf`.
pub fn packed_revprops(
    db: &Path,
    first: Revnum,
    lists: &[impl AsRef<[u8]>],
) -> Result<Vec<(String, Vec<u8>)>> {
    let fs = Fs::open_without_current(db, &Cache::new(SMALL_CACHE), Arc::new(RealDisk))?;
    let (aim, compress) = (fs.conf().revprop_pack_size, fs.conf().compress_packed_revprops);
    let mut files = Vec::new();
    each_file(first.0, lists, aim, compress, &mut |name, bytes| {
        files.push((name.to_owned(), bytes.to_vec()));
        Ok(())
    })?;
    Ok(files)
}

/// Calls `take` with each file of packed property lists, the manifest last.
fn each_file(
    first: u64,
    lists: &[impl AsRef<[u8]>],
    aim: u64,
    compress: bool,
    take: &mut dyn FnMut(&str, &[u8]) -> Result<()>,
) -> Result<()> {
    let sizes: Vec<u64> = lists.iter().map(|list| list.as_ref().len() as u64).collect();
    let mut names = Vec::with_capacity(lists.len());
    for part in parts(&sizes, aim) {
        let name = (first + part.start as u64, 0);
        names.resize(part.end, name);
        let mut bytes = Vec::new();
        let part: Vec<&[u8]> = lists[part].iter().map(AsRef::as_ref).collect();
        RevpropsPack::encode(&mut bytes, Revnum(name.0), &part, compress);
        take(&pack_file_name(name), &bytes)?;
    }
    let mut text = Vec::new();
    RevpropsManifest::of(names).encode(&mut text);
    take("manifest", &text)
}

/// As [`each_file`], for FSX. The lists have checksums, which are compared.
fn each_fsx_file(
    first: u64,
    lists: &[impl AsRef<[u8]>],
    aim: u64,
    take: &mut dyn FnMut(&str, &[u8]) -> Result<()>,
) -> Result<()> {
    let sizes: Vec<u64> = lists.iter().map(|list| list.as_ref().len() as u64).collect();
    let mut starts = Vec::new();
    for part in parts(&sizes, aim) {
        let start = Revnum(first + part.start as u64);
        let lists = (start.0..).zip(&lists[part]).map(|(rev, list)| {
            let list = prop_list::check_file(list.as_ref());
            list.context(|| format!("Revprop file for r{rev} is corrupt"))
        });
        let bytes = fsx::revprops_pack::encode_pack(&lists.collect::<Result<Vec<_>>>()?);
        take(&pack_file_name((start.0, 0)), &bytes)?;
        starts.push(start);
    }
    take(
        "manifest",
        &fsx::revprops_pack::RevpropsManifest::of(&starts).encode(),
    )
}

/// True if a shard has packed property lists.
pub(super) fn is_packed(fs: &Fs, shard: u64) -> bool {
    let manifest = fs.layout().revprops_pack_dir(shard).join("manifest");
    fs.disk().metadata(&manifest).is_ok_and(|meta| meta.len > 0)
}

/// Removes the unpacked property lists of a packed shard; false if there are none. The one of revision 0 stays.
pub(in crate::admin) fn remove_unpacked(fs: &Fs, shard: u64, _: &WriteLock) -> Result<bool> {
    if shard > 0 {
        let dir = fs.layout().file("revprops").join(shard.to_string());
        return remove_dir(fs.disk(), &dir);
    }
    for rev in 1..fs.format().shard_size {
        let path = fs.layout().revprops(Revnum(rev));
        match fs
            .disk()
            .remove_file(&path)
            .map_err(|e| Error::io("Can't remove file", &path, &e))
        {
            Err(e) if !is_missing(&e) => return Err(e),
            _ => {}
        }
    }
    Ok(true)
}

/// Divides the lists into files. `aim` is the size limit of a file, bytes.
fn parts(sizes: &[u64], aim: u64) -> Vec<Range<usize>> {
    let most = (aim.saturating_mul(9) / 10).max(1);
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut total = 0;
    for (at, &size) in sizes.iter().enumerate() {
        match parts.last_mut() {
            Some(part) if size <= most && total + size + OVERHEAD_PER_LIST <= most => part.end += 1,
            _ => {
                parts.push(at..at + 1);
                total = 2 * OVERHEAD_PER_LIST;
            }
        }
        total += size + OVERHEAD_PER_LIST;
    }
    parts
}

/// A file that is written and not flushed, and its path.
type UnsyncedFile = (std::path::PathBuf, Box<dyn DiskWriter>);

fn write(fs: &Fs, path: &Path, bytes: &[u8]) -> Result<UnsyncedFile> {
    let file = fs.disk().write(path, Create::New);
    let mut file = file.map_err(|e| Error::io("Can't create file", path, &e))?;
    file.append(bytes)
        .map_err(|e| Error::io("Can't write to file", path, &e))?;
    Ok((path.to_owned(), file))
}

fn sync(files: &mut Vec<UnsyncedFile>) -> Result<()> {
    files
        .drain(..)
        .try_for_each(|(path, mut file)| file.sync().map_err(|e| Error::io("Can't flush file", &path, &e)))
}

const FILES_PER_SYNC: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_to_nine_tenths_of_the_aim() {
        // As the incumbent packs lists of 97 bytes.
        assert_eq!(parts(&[97; 15], 1024), [0..7, 7..14, 14..15]);
        assert_eq!(parts(&[], 1024), []);
        assert_eq!(parts(&[5000, 10, 10, 5000, 5000], 1024), [0..1, 1..3, 3..4, 4..5]);
        assert_eq!(parts(&[1, 1], 0), [0..1, 1..2]);
    }
}
