//! Containers that are being filled. A group collects items until the container is large enough, and is then appended to the
//! pack file.
//!
//! A reader decompresses a container whole. Small containers are read faster, large ones take less room together.

use base::Result;

use super::writer::FsxPackWriter;
use crate::admin::pack::logical::corrupt;
use crate::admin::pack::range::RevisionRange;
use crate::format::changes::ChangedPath;
use crate::format::fsx::changes;
use crate::format::fsx::changes_container::ChangesContainer;
use crate::format::fsx::noderev::FsxNodeRev;
use crate::format::fsx::noderev_container::NodeRevContainer;
use crate::format::fsx::p2l::ItemType;
use crate::format::fsx::rep_container_writer::RepContainerWriter;
use crate::format::p2l::{ItemKind, P2lEntry};
use crate::store::fsx::in_file;

/// The size that a container has before it is compressed, bytes, if the items allow it.
const AIM: usize = 64 << 10;

/// The size before compression from which on a container of representations is closed within the contents of a node, bytes.
const MOST: usize = 256 << 10;

/// Changed-path lists. In a container, the incumbent reads them right wherever it is in the file; on its own, a list must not cross
/// the end of a block.
#[derive(Default)]
pub(super) struct ChangesGroup {
    items: Vec<P2lEntry>,
    lists: Vec<Vec<ChangedPath>>,
    size: usize,
}

impl ChangesGroup {
    pub(super) fn add(
        &mut self,
        item: &P2lEntry,
        range: &RevisionRange<'_>,
        pack: &mut FsxPackWriter<'_>,
    ) -> Result<()> {
        let bytes = range.checked_bytes(item)?;
        let list = match item.kind {
            ItemKind::ChangesContainer => {
                ChangesContainer::decode(&bytes).and_then(|container| container.get(0))
            }
            _ => changes::parse(&bytes),
        };
        let list = in_file(list, range.path(item))?;
        let paths: usize = list.iter().map(|change| change.path.as_str().len()).sum();
        let size = BYTES_PER_CHANGE * list.len() + paths;
        if self.size + size > AIM {
            self.close(range, pack)?;
        }
        self.size += size;
        self.items.push(*item);
        self.lists.push(list);
        Ok(())
    }

    pub(super) fn close(&mut self, range: &RevisionRange<'_>, pack: &mut FsxPackWriter<'_>) -> Result<()> {
        if self.items.is_empty() {
            return Ok(());
        }
        let lists: Vec<&[ChangedPath]> = self.lists.iter().map(Vec::as_slice).collect();
        match ChangesContainer::encode(&lists) {
            Some(bytes) => pack.push(ItemType::ChangesContainer, &self.items, &bytes)?,
            // Too long for a container: this is a single list.
            None => self.items.iter().try_for_each(|item| pack.copy(range, item))?,
        }
        *self = ChangesGroup::default();
        Ok(())
    }
}

/// A guess of what a change takes beside its path.
const BYTES_PER_CHANGE: usize = 8;

/// Node-revisions.
#[derive(Default)]
pub(super) struct NodeRevGroup {
    items: Vec<P2lEntry>,
    nodes: Vec<FsxNodeRev>,
    size: usize,
}

impl NodeRevGroup {
    pub(super) fn add(
        &mut self,
        item: &P2lEntry,
        node: FsxNodeRev,
        pack: &mut FsxPackWriter<'_>,
    ) -> Result<()> {
        if self.size + item.size as usize > AIM {
            self.close(pack)?;
        }
        self.size += item.size as usize;
        self.items.push(*item);
        self.nodes.push(node);
        Ok(())
    }

    pub(super) fn close(&mut self, pack: &mut FsxPackWriter<'_>) -> Result<()> {
        let Some(first) = self.items.first() else {
            return Ok(());
        };
        let bytes = NodeRevContainer::encode(&self.nodes);
        let bytes = bytes.ok_or_else(|| corrupt(first, "has paths that are too long"))?;
        pack.push(ItemType::NodeRevContainer, &self.items, &bytes)?;
        *self = NodeRevGroup::default();
        Ok(())
    }
}

/// Contents.
pub(super) struct RepGroup {
    items: Vec<P2lEntry>,
    writer: RepContainerWriter,
}

impl RepGroup {
    pub(super) fn new() -> Self {
        RepGroup {
            items: Vec::new(),
            writer: RepContainerWriter::new(),
        }
    }

    pub(super) fn add(
        &mut self,
        item: &P2lEntry,
        text: &[u8],
        range: &RevisionRange<'_>,
        pack: &mut FsxPackWriter<'_>,
    ) -> Result<()> {
        if self.writer.size() + text.len() > MOST {
            self.close(range, pack)?;
        }
        self.items.push(*item);
        self.writer.push(text);
        Ok(())
    }

    /// Closes the group if it is large enough. What follows is less similar.
    pub(super) fn end_of_node(
        &mut self,
        range: &RevisionRange<'_>,
        pack: &mut FsxPackWriter<'_>,
    ) -> Result<()> {
        match self.writer.size() < AIM {
            true => Ok(()),
            false => self.close(range, pack),
        }
    }

    pub(super) fn close(&mut self, range: &RevisionRange<'_>, pack: &mut FsxPackWriter<'_>) -> Result<()> {
        let items = std::mem::take(&mut self.items);
        let writer = std::mem::replace(&mut self.writer, RepContainerWriter::new());
        if items.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        writer.finish(&mut bytes);
        // Deltas may take less room: those of long texts with small changes whose bases are in other shards.
        let as_deltas: u64 = items.iter().map(|item| item.size).sum();
        match bytes.len() as u64 <= as_deltas {
            true => pack.push(ItemType::RepContainer, &items, &bytes),
            false => items.iter().try_for_each(|item| pack.copy(range, item)),
        }
    }
}
