//! The list of changed paths in a revision of FSX.
//!
//! Subversion 1.14 reads a list twice, the second time behind its end, if it crosses a boundary of the blocks in which the file is
//! read. So a list that would cross one starts at the next block. A list that is longer than a block has the form that it would
//! have in a pack file: that form is read rightly wherever it is. Subversion's own packing ends abnormally at it; this program's does not.

use base::Result;

use super::folded_log::FoldedLog;
use super::tree::{CHANGES_ITEM, TreeWriter};
use crate::format::changes::ChangedPath;
use crate::format::fsx::changes;
use crate::format::fsx::changes_container::{ChangesContainer, MAX_CHANGES};
use crate::format::p2l::ItemKind;

impl TreeWriter<'_> {
    /// Writes the list.
    pub(super) fn write_fsx_changes(&mut self, log: &FoldedLog<'_>) -> Result<u64> {
        let block = self.fs.conf().block_size;
        let (mut text, mut list, mut count) = (Vec::new(), Vec::<ChangedPath>::new(), 0);
        log.each(&mut |change| {
            count += 1;
            if count <= MAX_CHANGES {
                list.push(change.info.clone());
            }
            if (text.len() as u64) < block {
                changes::encode_entry(&change.info, &mut text);
            }
            Ok(())
        })?;
        text.push(changes::END);
        let (length, left) = (text.len() as u64, block - self.proto.offset() % block);
        if length < block {
            if length >= left {
                self.proto.pad(left)?;
            }
            return self
                .proto
                .append_item(ItemKind::Changes, Some(CHANGES_ITEM), &text);
        }
        let container = match count <= MAX_CHANGES {
            true => ChangesContainer::encode(&[&list]),
            false => None,
        };
        match container {
            Some(container) => {
                self.proto
                    .append_item(ItemKind::ChangesContainer, Some(CHANGES_ITEM), &container)
            }
            // Too long for a container: at least this program reads it rightly.
            None => self.stream_changes(log),
        }
    }
}
