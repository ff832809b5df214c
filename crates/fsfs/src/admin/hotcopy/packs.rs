//! The change of a destination from the files of single revisions to packs.

use base::{Error, Result, Revnum};

use super::Hotcopy;
use super::shard::NamedRevisions;
use crate::format::short_line::leading_revision;
use crate::store::disk::{is_missing, read_replaced, write_atomic};
use crate::txn::strays::set_aside;

impl Hotcopy<'_> {
    /// Makes the packs at the destination valid, and removes the unpacked files. In a first copy all files are copies.
    pub(super) fn switch_to_packs(
        &self,
        named: NamedRevisions,
        packed: Revnum,
        is_first: bool,
    ) -> Result<()> {
        let path = self.dst.file("min-unpacked-rev");
        let disk = self.copier.disk;
        let old = named.min_unpacked;
        if old >= packed {
            return Ok(());
        }
        write_atomic(disk, &path, format!("{packed}\n").as_bytes(), &path)?;
        let size = self.src.format().shard_size;
        let youngest = named.youngest.unwrap_or(Revnum::ZERO);
        for shard in old.0 / size..packed.0 / size {
            let unpacked = self.dst.file("revs").join(shard.to_string());
            // Files beyond the youngest revision were not copied.
            let is_stray = |rev| self.copier.metadata(&self.dst.rev(Revnum(rev)));
            let mut beyond = (youngest.0 + 1).max(shard * size)..(shard + 1) * size;
            if self.copier.metadata(&unpacked)?.is_some() {
                let has_strays = !is_first
                    && beyond.try_fold(false, |found, rev| {
                        Ok::<_, Error>(found || is_stray(rev)?.is_some())
                    })?;
                match has_strays {
                    true => drop(set_aside(
                        disk,
                        self.dst.db(),
                        &unpacked,
                        &format!("shard-{shard}"),
                    )?),
                    false => self.copier.remove_tree(&unpacked)?,
                }
            }
            // In FSX, property lists are in the directories of the revisions.
            if !self.src.format().has_packed_revprops() || self.src.format().is_fsx() {
                continue;
            }
            if shard > 0 {
                self.copier
                    .remove_tree(&self.dst.file("revprops").join(shard.to_string()))?;
                continue;
            }
            // The properties of revision 0 are never packed.
            let dir = self.dst.file("revprops").join("0");
            for name in self.copier.names(&dir)?.unwrap_or_default() {
                let rev = name.to_str().and_then(|name| name.parse::<u64>().ok());
                if !rev.is_some_and(|rev| (1..size).contains(&rev)) {
                    continue;
                }
                let path = dir.join(name);
                match disk
                    .remove_file(&path)
                    .map_err(|e| Error::io("Can't remove file", &path, &e))
                {
                    Err(e) if !is_missing(&e) => return Err(e),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Returns the revisions that the destination has before this copy.
    pub(super) fn named(&self) -> NamedRevisions {
        let read = |name: &str| read_replaced(self.copier.disk, &self.dst.file(name)).ok();
        NamedRevisions {
            youngest: read("current").and_then(|text| leading_revision(&text).ok()),
            min_unpacked: read("min-unpacked-rev")
                .and_then(|text| Revnum::parse(text.trim_ascii_end()))
                .unwrap_or(Revnum::ZERO),
        }
    }
}
