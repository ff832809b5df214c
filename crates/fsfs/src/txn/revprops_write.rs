//! Changing revision properties.
//!
//! All of it happens under the write lock, on the lists that are on disk at that moment. A list that has its own file is replaced
//! by rename. A list in a pack file is written together with its neighbours: as long as they fit into the configured size, the
//! pack file is replaced under its name; otherwise they move to two or three new files, and the manifest is replaced last.
//! Readers see the old list or the new one. A crash may leave a new pack file that no manifest names.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::hashdump::{self, Terminator};
use base::{Code, Error, Props, Result, ResultExt as _, Revnum};

use super::fsx_revprops::FsxRevpropsFile;
use crate::format::revprops_pack::{RevpropsManifest, RevpropsPack};
use crate::store::disk::{Disk, create_unique, read_replaced, write_atomic};
use crate::store::guard::{PackLock, WriteLock};
use crate::store::rev_file::no_such_revision;
use crate::store::shared::{Outcome, SharedFs};
use crate::tree::Fs;

impl Fs {
    /// Sets (or with `None` deletes) one property of a revision and returns the value that it had. With `expected`, the change is
    /// made only if the property has that value now (`Some(None)`: only if it is not set). An unchanged value writes nothing.
    ///
    /// # Errors
    /// `FS_PROP_BASEVALUE_MISMATCH`, `FS_NO_SUCH_REVISION`; what reading the list may say; the system's.
    pub fn change_revprop(
        &self,
        rev: Revnum,
        name: &str,
        expected: Option<Option<&[u8]>>,
        value: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>> {
        self.check_rev(rev)?;
        if let Some(shared) = self.shared_fs() {
            return change_shared(shared, rev, name, expected, value);
        }
        let _no_pack = self.lock_against_packing()?;
        let lock = self.write_lock()?;
        let location = RevpropsLocation::find(self, rev, &lock)?;
        let mut props = location.props(rev)?;
        let old = change_list(&mut props, name, expected, value)?;
        if old.as_deref() != value {
            location.write(self, rev, &props, &lock)?;
        }
        Ok(old)
    }

    /// Replaces the whole property list of a revision (`load`, `load-revprops`). An unchanged list writes nothing.
    ///
    /// # Errors
    /// As [`Fs::change_revprop`].
    pub fn set_revprops(&self, rev: Revnum, props: &Props) -> Result<()> {
        self.check_rev(rev)?;
        if let Some(shared) = self.shared_fs() {
            return replace_shared(shared, rev, props);
        }
        let _no_pack = self.lock_against_packing()?;
        let lock = self.write_lock()?;
        let location = RevpropsLocation::find(self, rev, &lock)?;
        // An unreadable list may be replaced: that is how it is repaired.
        if location.props(rev).is_ok_and(|old| old == *props) {
            return Ok(());
        }
        location.write(self, rev, props, &lock)
    }

    /// Waits until no other process packs a filesystem of FSX: the incumbent packs these without the write lock, and would lose
    /// the change.
    fn lock_against_packing(&self) -> Result<Option<PackLock>> {
        self.format().is_fsx().then(|| self.pack_lock()).transpose()
    }

    /// Returns the file with the data of a revision: new files about the revision get its permissions.
    pub(crate) fn data_file(&self, rev: Revnum, lock: &WriteLock) -> PathBuf {
        match self.layout().shard(rev) {
            Some(shard) if rev < lock.min_unpacked_rev() => self.layout().pack(shard),
            _ => self.layout().rev(rev),
        }
    }
}

/// Changes one property of a list and returns its old value.
fn change_list(
    props: &mut Props,
    name: &str,
    expected: Option<Option<&[u8]>>,
    value: Option<&[u8]>,
) -> Result<Option<Vec<u8>>> {
    let old = match value {
        Some(value) => props.insert(name.to_owned(), value.to_owned()),
        None => props.remove(name),
    };
    if expected.is_some_and(|expected| expected != old.as_deref()) {
        return Err(Error::new(
            Code::FS_PROP_BASEVALUE_MISMATCH,
            format!("revprop '{name}' has unexpected value in filesystem"),
        ));
    }
    Ok(old)
}

/// As [`Fs::change_revprop`], where several machines share the filesystem. The change is made again on the list of another machine
/// that was faster.
fn change_shared(
    shared: &SharedFs,
    rev: Revnum,
    name: &str,
    expected: Option<Option<&[u8]>>,
    value: Option<&[u8]>,
) -> Result<Option<Vec<u8>>> {
    loop {
        let list = shared_list(shared, rev)?;
        let mut props = read_list(&list, rev)?;
        let old = change_list(&mut props, name, expected, value)?;
        if old.as_deref() == value {
            return Ok(old);
        }
        if shared.heads.replace_revprops(rev, &list, &encoded(&props))? == Outcome::Done {
            return Ok(old);
        }
    }
}

/// As [`Fs::set_revprops`], where several machines share the filesystem.
fn replace_shared(shared: &SharedFs, rev: Revnum, props: &Props) -> Result<()> {
    let new = encoded(props);
    loop {
        let list = shared_list(shared, rev)?;
        // An unreadable list may be replaced.
        if read_list(&list, rev).is_ok_and(|old| old == *props)
            || shared.heads.replace_revprops(rev, &list, &new)? == Outcome::Done
        {
            return Ok(());
        }
    }
}

fn shared_list(shared: &SharedFs, rev: Revnum) -> Result<Arc<[u8]>> {
    let mut lists = shared.heads.revprops(&[rev]);
    lists.pop().unwrap_or_else(|| Err(no_such_revision(rev)))
}

fn read_list(list: &[u8], rev: Revnum) -> Result<Props> {
    hashdump::read_props(list).context(|| format!("Failed to parse revprops for r{rev}."))
}

fn encoded(props: &Props) -> Vec<u8> {
    let mut list = Vec::new();
    hashdump::write_props(&mut list, props, Terminator::End);
    list
}

/// The location of a revision's list, and its bytes.
enum RevpropsLocation {
    /// In its own file.
    OwnFile { path: PathBuf, list: Vec<u8> },
    /// In a pack file.
    Packed(RevpropsPackFile),
    /// In a file of FSX.
    Fsx(FsxRevpropsFile),
}

impl RevpropsLocation {
    fn find(fs: &Fs, rev: Revnum, lock: &WriteLock) -> Result<RevpropsLocation> {
        if fs.format().is_fsx() {
            return Ok(RevpropsLocation::Fsx(FsxRevpropsFile::find(fs, rev, lock)?));
        }
        let is_packed = fs.format().has_packed_revprops() && rev < lock.min_unpacked_rev();
        if is_packed && rev != Revnum::ZERO {
            return Ok(RevpropsLocation::Packed(RevpropsPackFile::read(fs, rev)?));
        }
        let path = fs.layout().revprops(rev);
        if let Some(dir) = path.parent() {
            fs.refresh_names(dir)?;
        }
        let list = read_replaced(fs.disk(), &path)?;
        Ok(RevpropsLocation::OwnFile { path, list })
    }

    fn props(&self, rev: Revnum) -> Result<Props> {
        let list = match self {
            RevpropsLocation::OwnFile { list, .. } => list,
            RevpropsLocation::Packed(packed) => packed.pack.list(rev).unwrap_or_default(),
            RevpropsLocation::Fsx(file) => return file.props(rev),
        };
        read_list(list, rev)
    }

    fn write(&self, fs: &Fs, rev: Revnum, props: &Props, lock: &WriteLock) -> Result<()> {
        let list = encoded(props);
        let permissions = fs.data_file(rev, lock);
        match self {
            RevpropsLocation::OwnFile { path, .. } => write_atomic(fs.disk(), path, &list, &permissions),
            RevpropsLocation::Packed(packed) => packed.write(fs, rev, &list, &permissions),
            RevpropsLocation::Fsx(file) => file.write(fs, rev, props, &permissions),
        }
    }
}

/// The pack file that has a revision's list, and the manifest that names it.
struct RevpropsPackFile {
    dir: PathBuf,
    /// Revision of the first line of the manifest.
    first: u64,
    manifest: RevpropsManifest,
    name: (u64, u64),
    pack: RevpropsPack,
}

impl RevpropsPackFile {
    fn read(fs: &Fs, rev: Revnum) -> Result<RevpropsPackFile> {
        let corrupt = || {
            let message = format!("Revprop pack file for r{rev} is corrupt");
            Error::new(Code::FS_CORRUPT, message)
        };
        let size = fs.format().shard_size;
        let shard = fs.layout().shard(rev).unwrap_or_default();
        let dir = fs.layout().revprops_pack_dir(shard);
        // Revision 0 is not packed: the first manifest begins with revision 1.
        let first = (shard * size).max(1);
        fs.refresh_names(&dir)?;
        let text = read_replaced(fs.disk(), &dir.join("manifest"))?;
        let manifest = RevpropsManifest::parse(&text, (shard + 1) * size - first).map_err(|e| {
            let message = format!("Packed revprop manifest for r{rev} {}", e.text());
            Error::new(e.code(), message)
        })?;
        let name = manifest.name(rev.0.saturating_sub(first)).ok_or_else(corrupt)?;
        let bytes = read_replaced(fs.disk(), &dir.join(pack_file_name(name)))?;
        let pack = RevpropsPack::decode(&bytes)
            .map_err(|e| Error::from(e).wrap(Code::FS_CORRUPT, corrupt().message()))?;
        let held = pack.revisions();
        let is_named = |rev: u64| manifest.name(rev.wrapping_sub(first)) == Some(name);
        // All lists of the file are written back, so the manifest must name this file for all of them.
        if !held.contains(&rev.0) || !is_named(held.start) || !is_named(held.end - 1) {
            return Err(corrupt());
        }
        Ok(RevpropsPackFile {
            dir,
            first,
            manifest,
            name,
            pack,
        })
    }

    fn write(&self, fs: &Fs, rev: Revnum, list: &[u8], permissions: &Path) -> Result<()> {
        let held = self.pack.revisions();
        let changed = (rev.0 - held.start) as usize;
        let mut lists: Vec<&[u8]> = held
            .clone()
            .map(|rev| self.pack.list(Revnum(rev)).unwrap_or_default())
            .collect();
        lists[changed] = list;
        let sizes: Vec<u64> = lists.iter().map(|list| list.len() as u64).collect();
        let encode = |part: Range<usize>| {
            let mut bytes = Vec::new();
            let first = Revnum(held.start + part.start as u64);
            let compress = fs.conf().compress_packed_revprops;
            RevpropsPack::encode(&mut bytes, first, &lists[part], compress);
            bytes
        };
        let Some(parts) = split(&sizes, changed, fs.conf().revprop_pack_size) else {
            let path = self.dir.join(pack_file_name(self.name));
            return write_atomic(fs.disk(), &path, &encode(0..lists.len()), permissions);
        };
        let mut manifest = self.manifest.clone();
        for part in parts {
            let first = held.start + part.start as u64;
            let name = (first, self.name.1 + 1);
            // Until the manifest is replaced, a crash leaves files that no manifest names; the next change of this kind replaces
            // them.
            write_new(
                fs.disk(),
                &self.dir.join(pack_file_name(name)),
                &encode(part.clone()),
            )?;
            for rev in part {
                manifest.set_name(held.start + rev as u64 - self.first, name);
            }
        }
        fs.disk()
            .sync_dir(&self.dir)
            .map_err(|e| Error::io("Can't flush directory", &self.dir, &e))?;
        let mut text = Vec::new();
        manifest.encode(&mut text);
        write_atomic(fs.disk(), &self.dir.join("manifest"), &text, permissions)?;
        // From here on no reader looks for the old file. One that stays is harmless.
        _ = fs.disk().remove_file(&self.dir.join(pack_file_name(self.name)));
        Ok(())
    }
}

/// Writes a file that no reader looks for yet. The content is durable, the name is not; the file gets the permissions of new
/// files.
pub(crate) fn write_new(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    // Under a temporary name first: a crash may have left an unwritable file of this name.
    let (temporary, mut file) = create_unique(disk, directory)?;
    let mut write = || -> Result<()> {
        file.append(bytes)
            .map_err(|e| Error::io("Can't write to file", &temporary, &e))?;
        file.sync()
            .map_err(|e| Error::io("Can't flush file", &temporary, &e))?;
        disk.rename(&temporary, path)
            .map_err(|e| Error::io("Can't move a file to", path, &e))
    };
    let result = write();
    if result.is_err() {
        _ = disk.remove_file(&temporary);
    }
    result
}

pub(crate) fn pack_file_name((first, counter): (u64, u64)) -> String {
    format!("{first}.{counter}")
}

/// Splits the lists of a pack file after a change of one of them; `None` if all stay together. `sizes` are the new lengths, `aim`
/// is the size limit of a pack file, bytes.
pub(super) fn split(sizes: &[u64], changed: usize, aim: u64) -> Option<Vec<Range<usize>>> {
    let count = sizes.len();
    let total = sizes.iter().sum::<u64>() + (count as u64 + 2) * OVERHEAD_PER_LIST;
    if total < aim || count <= 1 {
        return None;
    }
    // The next list goes to the side that is smaller with it.
    let (mut left, mut right) = (0, count);
    let (mut left_size, mut right_size) = (2 * OVERHEAD_PER_LIST, 2 * OVERHEAD_PER_LIST);
    while left < right {
        let (next, last) = (sizes[left], sizes[right - 1]);
        if left_size + next < right_size + last {
            left_size += next + OVERHEAD_PER_LIST;
            left += 1;
        } else {
            right_size += last + OVERHEAD_PER_LIST;
            right -= 1;
        }
    }
    let parts = if left_size > aim || right_size > aim {
        vec![0..changed, changed..changed + 1, changed + 1..count]
    } else {
        vec![0..left, left..count]
    };
    Some(parts.into_iter().filter(|part| !part.is_empty()).collect())
}

/// Assumed overhead of a list in a pack file, bytes; the file itself has twice as much.
pub(crate) const OVERHEAD_PER_LIST: u64 = 21;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_packs_stay_together() {
        assert_eq!(split(&[100; 7], 3, 1024), None);
        assert_eq!(split(&[99_999], 0, 1024), None);
    }

    #[test]
    fn large_packs_fall_into_halves_or_around_the_changed_list() {
        let parts = |sizes: &[u64], changed| split(sizes, changed, 1024).expect("too large");
        // The real tool's 8.0 (r8 to r14) became 8.1, 10.1 and 11.1.
        assert_eq!(parts(&[97, 97, 5000, 97, 97, 97, 97], 2), [0..2, 2..3, 3..7]);
        assert_eq!(parts(&[100, 100, 100, 700, 100, 100], 3), [0..3, 3..6]);
        assert_eq!(parts(&[2000, 100], 0), [0..1, 1..2]);
    }
}
