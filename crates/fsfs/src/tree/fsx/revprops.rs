//! Revision properties of FSX.
//!
//! The list of a revision is a file of its own, or part of a pack that the manifest of its shard names; that of revision 0
//! is never packed, but moves to the packed shard. As in FSFS, parsed files are cached with their metadata, which is
//! compared at each look-up: a pack is rewritten under its name.

use base::{PropList, Props, Result, ResultExt as _, Revnum};

use crate::format::fsx::prop_list;
use crate::format::fsx::revprops_pack::{self, RevpropsManifest};
use crate::store::cache::Key;
use crate::store::cache::values::{CachedFsxManifest, CachedFsxPack, CachedRevprops};
use crate::store::disk::{ATTEMPTS, is_missing, is_stale};
use crate::store::no_such_revision;
use crate::tree::Fs;

impl Fs {
    /// The property list of a revision, as it is now.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`, `CHECKSUM_MISMATCH`, `FS_CORRUPT_PROPLIST`, `FS_CORRUPT_REVPROP_MANIFEST`; the system's.
    pub(crate) fn fsx_revprops(&self, rev: Revnum) -> Result<PropList> {
        let mut attempt = 1;
        loop {
            let is_packed = self.is_packed(rev);
            let result = match is_packed && rev != Revnum::ZERO {
                true => self.fsx_packed_revprops(rev).map(|props| (&props).into()),
                false => self.fsx_own_revprops(rev, is_packed),
            };
            match result {
                Err(e) if (is_missing(&e) || is_stale(&e)) && attempt < ATTEMPTS => {
                    attempt += 1;
                    self.refresh_min_unpacked_rev()?;
                }
                result => return result,
            }
        }
    }

    fn fsx_own_revprops(&self, rev: Revnum, is_packed: bool) -> Result<PropList> {
        let path = match is_packed {
            true => self.layout().revprops_pack_dir(0).join("p0"),
            false => self.revprops_path(rev),
        };
        let key = Key::new::<CachedRevprops>(self.instance(), rev.0, 0);
        let cached = self.current(key, &path, |file| {
            let list = prop_list::check_file(file).and_then(|list| Ok(prop_list::decode(list)?));
            let list = list.context(|| format!("Revprop file for r{rev} is corrupt"))?;
            Ok(PropList::from(&list))
        })?;
        Ok(cached.value.clone())
    }

    fn fsx_packed_revprops(&self, rev: Revnum) -> Result<Props> {
        let size = self.format().shard_size;
        let shard = rev.0 / size;
        let dir = self.layout().revprops_pack_dir(shard);
        let key = Key::new::<CachedFsxManifest>(self.instance(), shard, 0);
        let manifest = self.current(key, &dir.join("manifest"), |file| {
            let manifest = RevpropsManifest::decode(file, Revnum(shard * size), size);
            manifest.context(|| format!("Revprop manifest file for r{rev} is corrupt"))
        })?;
        let (start, name) = manifest.value.pack_of(rev).ok_or_else(|| no_such_revision(rev))?;
        let corrupt = || format!("Revprop pack file for r{rev} is corrupt");
        let key = Key::new::<CachedFsxPack>(self.instance(), start.0, 0);
        let pack = self.current(key, &dir.join(name), |file| {
            revprops_pack::lists_in_pack(file).context(corrupt)
        })?;
        pack.value.props(rev.0 - start.0).context(corrupt)
    }
}
