//! [`FsxPackWriter`]: a pack file of FSX, its items and its indexes.
//!
//! There is no padding. Items that cross the end of a block are read with two reads; only changed-path lists outside of containers
//! must not do so, and all lists are in containers.

use std::path::Path;

use base::checksum::fnv1a_32x4;
use base::{Result, Revnum};

use crate::admin::pack::logical::corrupt;
use crate::admin::pack::pack_file::PackFile;
use crate::admin::pack::range::RevisionRange;
use crate::format::fsx::l2p::{self, L2pEntry};
use crate::format::fsx::p2l::{self, ItemType};
use crate::format::p2l::P2lEntry;
use crate::store::disk::DiskWriter;
use crate::tree::Fs;

/// A pack file that is being written.
pub(super) struct FsxPackWriter<'a> {
    file: PackFile<'a>,
    first: Revnum,
    l2p_page_size: usize,
    p2l_page_size: u64,
    l2p: Vec<Vec<Option<L2pEntry>>>,
    p2l: Vec<p2l::P2lEntry>,
}

impl<'a> FsxPackWriter<'a> {
    /// Creates the file of the shard that begins with `first`.
    pub(super) fn create(fs: &Fs, first: Revnum, path: &'a Path) -> Result<Self> {
        let revisions = usize::try_from(fs.format().shard_size).unwrap_or_default();
        Ok(FsxPackWriter {
            file: PackFile::create(fs.disk(), path)?,
            first,
            l2p_page_size: usize::try_from(fs.conf().l2p_page_size).unwrap_or(usize::MAX),
            p2l_page_size: fs.conf().p2l_page_size,
            l2p: vec![Vec::new(); revisions],
            p2l: Vec::new(),
        })
    }

    /// Appends a container with these items as its records.
    pub(super) fn push(&mut self, item_type: ItemType, items: &[P2lEntry], bytes: &[u8]) -> Result<()> {
        self.add_to_indexes(item_type, items, bytes.len() as u64, fnv1a_32x4(bytes))?;
        self.file.append(bytes)
    }

    /// Appends an item as it is.
    pub(super) fn copy(&mut self, range: &RevisionRange<'_>, item: &P2lEntry) -> Result<()> {
        self.add_to_indexes(
            ItemType::of(item.kind),
            std::slice::from_ref(item),
            item.size,
            item.checksum,
        )?;
        range.each_piece(item, &mut |piece| self.file.append(piece))
    }

    fn add_to_indexes(
        &mut self,
        item_type: ItemType,
        items: &[P2lEntry],
        size: u64,
        checksum: u32,
    ) -> Result<()> {
        let offset = self.file.position();
        for (sub_item, item) in (0..).zip(items) {
            let entries = self.l2p.get_mut((item.rev.0 - self.first.0) as usize);
            let entries = entries.ok_or_else(|| corrupt(item, "is of another shard"))?;
            // The source has checked that the number is below the length of its file.
            let number = item.item as usize;
            if entries.len() <= number {
                entries.resize(number + 1, None);
            }
            entries[number] = Some(L2pEntry { offset, sub_item });
        }
        self.p2l.push(p2l::P2lEntry {
            offset,
            size,
            item_type,
            checksum,
            items: items.iter().map(|item| (item.rev, item.item)).collect(),
        });
        Ok(())
    }

    /// Appends the indexes.
    pub(super) fn finish(self) -> Result<Box<dyn DiskWriter>> {
        let (mut l2p, mut p2l) = (Vec::new(), Vec::new());
        l2p::encode(&mut l2p, self.first, self.l2p_page_size, &self.l2p);
        p2l::encode(
            &mut p2l,
            self.first,
            self.file.position(),
            self.p2l_page_size,
            &self.p2l,
        );
        self.file.finish(&l2p, &p2l)
    }
}
