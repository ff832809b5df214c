//! Revision properties: the only part of a committed revision that can change.
//!
//! The list of a revision is a file of its own, or part of a pack that the manifest of its shard names; that of revision 0
//! is never packed, but moves to the packed shard. Lists are read from their files each time, so they are as new as the
//! disk. Another process may rewrite a pack under another name, or pack the shard: a missing file means another attempt.

use base::{Props, Result, ResultExt as _, Revnum};
use fsfs::disk::{is_missing, read_replaced};

use super::FsxFs;
use crate::format::prop_list;
use crate::format::revprops_pack::{self, RevpropsManifest};
use crate::store::handle::no_such_revision;

/// The number of attempts to find a list while other processes move it.
const ATTEMPTS: u32 = 10;

impl FsxFs {
    /// The property list of a revision, as it is now.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`, `CHECKSUM_MISMATCH`, `FS_CORRUPT_PROPLIST`, `FS_CORRUPT_REVPROP_MANIFEST`; the system's.
    pub fn revprops(&self, rev: Revnum) -> Result<Props> {
        self.store().check_rev(rev)?;
        let mut attempt = 1;
        loop {
            let is_packed = self.store().is_packed(rev);
            let result = match is_packed && rev != Revnum::ZERO {
                true => self.packed_revprops(rev),
                false => self.revprops_of_its_own(rev, is_packed),
            };
            match result {
                Err(e) if is_missing(&e) && attempt < ATTEMPTS => {
                    attempt += 1;
                    self.store().refresh_min_unpacked_rev()?;
                }
                result => return result,
            }
        }
    }

    fn revprops_of_its_own(&self, rev: Revnum, is_packed: bool) -> Result<Props> {
        let path = match is_packed {
            true => self.store().layout.packed(rev, "p0"),
            false => self.store().layout.revprops(rev),
        };
        let file = read_replaced(self.store().disk(), &path)?;
        let list = prop_list::check_file(&file).and_then(|list| Ok(prop_list::decode(list)?));
        list.context(|| format!("Revprop file for r{rev} is corrupt"))
    }

    fn packed_revprops(&self, rev: Revnum) -> Result<Props> {
        let layout = &self.store().layout;
        let path = layout.packed(rev, "manifest");
        let manifest = read_replaced(self.store().disk(), &path)?;
        let first = layout.first_of_shard(rev);
        let manifest = RevpropsManifest::decode(&manifest, first, layout.shard_size());
        let manifest = manifest.context(|| format!("Revprop manifest file for r{rev} is corrupt"))?;
        let (start, name) = manifest.pack_of(rev).ok_or_else(|| no_such_revision(rev))?;
        let path = layout.packed(rev, &name);
        let pack = read_replaced(self.store().disk(), &path)?;
        let props = revprops_pack::props_in_pack(&pack, rev.0 - start.0);
        props.context(|| format!("Revprop pack file for r{rev} is corrupt"))
    }
}
