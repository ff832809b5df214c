//! Revision properties: the only part of a committed revision that can change.
//!
//! The list of a revision is a file of its own. In packed shards of format 6 and later it is part of a pack file,
//! which the manifest of the shard names; the list of revision 0 is never packed. Other processes change lists
//! without any signal. So a cached list is kept with the metadata of its file, and every look-up compares the
//! metadata: one or two `stat` calls instead of reading and parsing.
//!
//! A packed list moves to another file when it grows, and a shard may be packed while it is read. A missing file
//! therefore means another attempt: with the manifest read again, up to ten times, or with the packed shard.
//!
//! Where several machines share the filesystem, the lists are in the shared storage, which keeps those in memory that are valid.

use std::io;
use std::result::Result as StdResult;
use std::sync::Arc;

use base::{Code, Error, PropList, Result, ResultExt as _, Revnum};

use crate::format::revprops_pack::{RevpropsManifest, RevpropsPack, RevpropsPackError};
use crate::store::cache::values::{
    CachedFile, CachedManifest, CachedRevprops, CachedRevpropsPack, ReadRevpropsPack,
};
use crate::store::cache::{Cached, Key};
use crate::store::disk::{ATTEMPTS, DiskDir, FileMeta, is_missing, is_stale};
use crate::store::rev_file::no_such_revision;
use crate::store::shard_dirs::ShardKind;
use crate::store::shared::SharedFs;
use crate::tree::Fs;

/// The name of a pack file: its first revision, and the number of times that it was written.
type PackName = (u64, u64);

/// The manifest and the pack file that a walk over packed lists has read last. They are not compared with the disk
/// again during the short walk.
#[derive(Default)]
struct PackWalk {
    /// A shard and its manifest.
    manifest: Option<(u64, CachedManifest)>,
    /// A shard, the name of a pack file in it, and the file.
    pack: Option<((u64, PackName), CachedRevpropsPack)>,
}

/// The bytes of a file and its metadata.
type ReadFile = (Vec<u8>, FileMeta);

impl Fs {
    /// The property list of a revision, as it is now.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`, `FS_CORRUPT`, `MALFORMED_FILE`, or the system's number with the file's name.
    pub fn revprops(&self, rev: Revnum) -> Result<PropList> {
        self.revprops_on(&mut PackWalk::default(), rev)
    }

    /// The property lists of several revisions, as they are now. A pack file that holds several of them is read once.
    pub fn revprop_lists(&self, revs: &[Revnum]) -> Vec<Result<PropList>> {
        if let Some(shared) = self.shared_fs() {
            return self.shared_revprop_lists(shared, revs);
        }
        let mut walk = PackWalk::default();
        revs.iter().map(|rev| self.revprops_on(&mut walk, *rev)).collect()
    }

    fn revprops_on(&self, walk: &mut PackWalk, rev: Revnum) -> Result<PropList> {
        if let Some(shared) = self.shared_fs() {
            return self.shared_revprops(shared, rev);
        }
        self.check_rev(rev)?;
        if self.format().is_fsx() {
            return self.fsx_revprops(rev);
        }
        let may_be_packed = self.format().has_packed_revprops() && rev != Revnum::ZERO;
        if may_be_packed && self.is_packed(rev) {
            return self.packed(walk, rev);
        }
        match self.unpacked(rev) {
            Err(e) if is_gone(&e) && self.format().has_packed_revprops() => {
                self.refresh_min_unpacked_rev()?;
                if may_be_packed && self.is_packed(rev) {
                    return self.packed(walk, rev);
                }
                Err(no_such_packed_revision(rev))
            }
            result => result,
        }
    }

    /// As [`Fs::revprops`], for a check that began with revision `first`. An error inside a list names the pack file
    /// only if the list is the first one that is read of the file, as with the incumbent.
    pub(crate) fn revprops_in_turn(&self, rev: Revnum, first: Revnum) -> Result<PropList> {
        self.revprops(rev).map_err(|e| {
            let is_list = e
                .links()
                .nth(1)
                .is_some_and(|link| link.code() == Code::MALFORMED_FILE);
            match is_list && e.code() == Code::FS_CORRUPT && rev > first && self.shares_pack(rev) {
                true => {
                    let links = e.links().skip(1);
                    Error::from_links(links.map(|link| (link.code(), link.message().map(str::to_owned))))
                        .unwrap_or(e)
                }
                false => e,
            }
        })
    }

    /// True if the list of the preceding revision is in the same pack file.
    fn shares_pack(&self, rev: Revnum) -> bool {
        if self.format().is_fsx() {
            return false;
        }
        let shard = self.layout().shard(rev);
        let name = |rev: Revnum| {
            let shard = self.layout().shard(rev)?;
            self.pack_of(&mut PackWalk::default(), rev, shard).ok()
        };
        if self.shared_fs().is_some() {
            return false;
        }
        let before = rev.prev().filter(|before| *before != Revnum::ZERO);
        before.is_some_and(|before| self.layout().shard(before) == shard && name(before) == name(rev))
    }

    /// The list of a revision of a shared filesystem.
    fn shared_revprops(&self, shared: &SharedFs, rev: Revnum) -> Result<PropList> {
        self.check_rev(rev)?;
        if let Some(prepared) = self.prepared(rev) {
            return parsed(PropList::read(&prepared.props), rev);
        }
        if !self.has_final_name(rev) {
            // Of an open group: in a file of this machine.
            return self.unpacked(rev);
        }
        let list = match shared.heads.try_revprops(rev) {
            Some(list) => list,
            None => {
                self.check_may_wait()?;
                let mut lists = shared.heads.revprops(&[rev]);
                lists.pop().unwrap_or_else(|| Err(no_such_revision(rev)))?
            }
        };
        parsed(PropList::read(&list), rev)
    }

    /// As [`Fs::revprop_lists`], of a shared filesystem: one question for all lists that are not in memory.
    fn shared_revprop_lists(&self, shared: &SharedFs, revs: &[Revnum]) -> Vec<Result<PropList>> {
        let is_plain = |rev: &Revnum| self.has_final_name(*rev) && self.check_rev(*rev).is_ok();
        if !self.read_mode().may_wait() || !revs.iter().all(is_plain) {
            return revs
                .iter()
                .map(|rev| self.shared_revprops(shared, *rev))
                .collect();
        }
        let lists = shared.heads.revprops(revs).into_iter().zip(revs);
        lists
            .map(|(list, rev)| parsed(PropList::read(&list?), *rev))
            .collect()
    }

    fn unpacked(&self, rev: Revnum) -> Result<PropList> {
        let path = || self.revprops_path(rev);
        let key = Key::new::<CachedRevprops>(self.instance(), rev.0, 0);
        let parse = |bytes: &[u8]| parsed(PropList::read(bytes), rev);
        let shard = self.layout().shard(rev).unwrap_or_default();
        let dir = match self.has_final_name(rev) {
            true => self.shard_dir(ShardKind::Revprops, shard, path),
            false => None,
        };
        let cached = match dir {
            None => self.current(key, &path(), parse)?,
            Some(dir) => match self.current_in_dir(key, &*dir, &rev.to_string()) {
                Ok(Ok(cached)) => cached,
                Ok(Err((bytes, meta))) => self.parse_and_cache(key, &bytes, meta, parse)?,
                // Another directory may have taken the place of the open one.
                Err(_) => {
                    self.check_may_wait()?;
                    self.forget_shard_dir(ShardKind::Revprops, shard);
                    self.current(key, &path(), parse)?
                }
            },
        };
        Ok(cached.value.clone())
    }

    fn packed(&self, walk: &mut PackWalk, rev: Revnum) -> Result<PropList> {
        let mut attempt = 1;
        loop {
            match self.try_packed(walk, rev) {
                Err(e) if attempt < ATTEMPTS && is_gone(&e) => {
                    *walk = PackWalk::default();
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    /// The name of the pack file of a revision in the directory of its shard.
    fn pack_of(&self, walk: &mut PackWalk, rev: Revnum, shard: u64) -> Result<PackName> {
        let size = self.format().shard_size;
        // Revision 0 is not packed: the manifest of the first shard starts with revision 1.
        let (first, count) = if shard == 0 {
            (1, size.saturating_sub(1))
        } else {
            (shard * size, size)
        };
        let manifest = match &walk.manifest {
            Some((of, manifest)) if *of == shard => manifest,
            _ => {
                let key = Key::new::<CachedManifest>(self.instance(), shard, 0);
                let path = self.layout().revprops_pack_dir(shard).join("manifest");
                let manifest = self.current(key, &path, |bytes| {
                    RevpropsManifest::parse(bytes, count).map_err(|e| {
                        let message = format!("Packed revprop manifest for r{rev} {}", e.text());
                        Error::new(e.code(), message)
                    })
                })?;
                &walk.manifest.insert((shard, manifest)).1
            }
        };
        let at = rev.0.saturating_sub(first);
        manifest.value.name(at).ok_or_else(|| corrupt(rev))
    }

    fn try_packed(&self, walk: &mut PackWalk, rev: Revnum) -> Result<PropList> {
        let shard = self.layout().shard(rev).unwrap_or_default();
        let name = self.pack_of(walk, rev, shard)?;
        let pack = match &walk.pack {
            Some((of, pack)) if *of == (shard, name) => pack,
            _ => {
                let key = Key::part::<CachedRevpropsPack>(self.instance(), name.0, name.1, shard);
                let dir = self.layout().revprops_pack_dir(shard);
                let path = dir.join(format!("{}.{}", name.0, name.1));
                let pack = self.current(key, &path, |bytes| {
                    let pack = RevpropsPack::decode(bytes).map_err(|e| pack_error(e, rev))?;
                    let pack = ReadRevpropsPack::new(pack);
                    self.check_range(&pack, shard, rev)?;
                    Ok(pack)
                })?;
                &walk.pack.insert(((shard, name), pack)).1
            }
        };
        // The pack file of the walk was checked for another revision.
        self.check_range(&pack.value, shard, rev)?;
        let list = pack.value.list(rev).ok_or_else(|| corrupt(rev))?;
        parsed(list, rev).map_err(|e| e.wrap(Code::FS_CORRUPT, corrupt(rev).message()))
    }

    fn check_range(&self, pack: &ReadRevpropsPack, shard: u64, rev: Revnum) -> Result<()> {
        let range = pack.revisions();
        let in_shard = |rev| self.layout().shard(Revnum(rev)) == Some(shard);
        if range.start == 0 || !in_shard(range.start) || !in_shard(range.end - 1) {
            let message = format!(
                "Revprop pack for revision r{rev} contains revprops for r{} .. r{}",
                range.start,
                range.end - 1
            );
            return Err(Error::new(Code::FS_CORRUPT, message)).context(|| corrupt(rev).message());
        }
        if range.contains(&rev.0) {
            Ok(())
        } else {
            Err(no_such_packed_revision(rev))
        }
    }

    /// The cached value, if its file has not changed; otherwise a new one. The metadata is read before the file, so
    /// that a replacement in between is seen the next time.
    pub(crate) fn current<T>(
        &self,
        key: Key,
        path: &std::path::Path,
        parse: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<Arc<CachedFile<T>>>
    where
        Arc<CachedFile<T>>: Cached,
    {
        let failed = |e: io::Error| Error::io("Can't open file", path, &e);
        let meta = self.disk().metadata(path).map_err(failed)?;
        if let Some(cached) = self.cache().get::<Arc<CachedFile<T>>>(&key)
            && cached.meta == meta
        {
            return Ok(cached);
        }
        self.check_may_wait()?;
        let bytes = self.disk().read_small(path).map_err(failed)?;
        self.parse_and_cache(key, &bytes, meta, parse)
    }

    /// As `current`, for a file of an open directory: the cached value, or the bytes and the metadata of the file
    /// that they were read from.
    fn current_in_dir(
        &self,
        key: Key,
        dir: &dyn DiskDir,
        name: &str,
    ) -> io::Result<StdResult<CachedRevprops, ReadFile>> {
        if let Some(cached) = self.cache().get::<CachedRevprops>(&key)
            && cached.meta == dir.metadata(name)?
        {
            return Ok(Ok(cached));
        }
        self.check_may_wait().map_err(io::Error::other)?;
        dir.read_small(name).map(Err)
    }

    fn parse_and_cache<T>(
        &self,
        key: Key,
        bytes: &[u8],
        meta: FileMeta,
        parse: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<Arc<CachedFile<T>>>
    where
        Arc<CachedFile<T>>: Cached,
    {
        let cached = Arc::new(CachedFile {
            meta,
            bytes: 2 * bytes.len() + 200,
            value: parse(bytes)?,
        });
        self.cache().insert(key, cached.clone());
        Ok(cached)
    }
}

fn parsed(list: Result<PropList>, rev: Revnum) -> Result<PropList> {
    list.context(|| format!("Failed to parse revprops for r{rev}."))
}

fn pack_error(e: RevpropsPackError, rev: Revnum) -> Error {
    Error::from(e).wrap(Code::FS_CORRUPT, corrupt(rev).message())
}

fn no_such_packed_revision(rev: Revnum) -> Error {
    Error::new(
        Code::FS_NO_SUCH_REVISION,
        format!("No such packed revision {rev}"),
    )
}

fn corrupt(rev: Revnum) -> Error {
    Error::new(
        Code::FS_CORRUPT,
        format!("Revprop pack file for r{rev} is corrupt"),
    )
}

/// True if a file was moved or removed.
fn is_gone(e: &Error) -> bool {
    is_missing(e) || is_stale(e)
}
