//! Writing to a proto-revision file: items one after the other, and at the end the indexes or the trailer of a revision file.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use base::checksum::FnvStream;
use base::{Error, Result, Revnum};

use super::proto_rev::{ProtoRev, ProtoRevState};
use crate::format::p2l::{ItemKind, P2lEntry};
use crate::format::rev_trailer::RevTrailer;
use crate::store::disk::{DiskFile, DiskWriter, MoveMode, move_file};
use crate::store::guard::FileLock;

/// The only writer of a proto-revision file. Dropping it takes back what it has written.
pub(crate) struct ProtoWriter {
    proto: ProtoRev,
    /// `None` once published.
    file: Option<Box<dyn DiskWriter>>,
    /// Length of the file, bytes.
    written: u64,
    /// Bytes that follow in the file and are not written yet.
    buffer: Vec<u8>,
    /// Items that this writer has added.
    items: Vec<P2lEntry>,
    /// The last numbers that were taken, without others in between.
    numbers: Range<u64>,
    /// Start of the current item, and the checksum of its bytes so far.
    item: (u64, FnvStream),
    /// `None` in a group, where no other process can write.
    lock: Option<FileLock>,
}

/// Bytes that are collected before they are written.
const BUFFER_SIZE: usize = 128 << 10;

impl ProtoWriter {
    pub(super) fn new(
        proto: ProtoRev,
        lock: Option<FileLock>,
        file: Box<dyn DiskWriter>,
        state: &ProtoRevState,
    ) -> Self {
        ProtoWriter {
            proto,
            file: Some(file),
            written: state.end,
            buffer: Vec::new(),
            items: Vec::new(),
            numbers: 0..0,
            item: (state.end, FnvStream::new()),
            lock,
        }
    }

    /// Returns the offset of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Returns the address of the next item: a number, which is used up by this call (logical addressing), or the offset of the
    /// next byte (physical addressing). With logical addressing the root node-revision has number 2 and the changed paths have 1:
    /// pass those to [`ProtoWriter::append_item`].
    pub(crate) fn next_item(&mut self) -> u64 {
        if !self.is_logical() {
            return self.offset();
        }
        let number = self.proto.0.state.lock().numbers.take();
        if self.numbers.end != number {
            self.numbers.start = number;
        }
        self.numbers.end = number + 1;
        number
    }

    /// Appends a whole item. `item` is a number from [`ProtoWriter::next_item`] or a fixed one; `None` takes the next. It is
    /// ignored with physical addressing. Returns the address of the item.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn append_item(&mut self, kind: ItemKind, item: Option<u64>, bytes: &[u8]) -> Result<u64> {
        self.start_item();
        self.append(bytes)?;
        self.end_item(kind, item)
    }

    /// Begins an item; returns its offset.
    pub(crate) fn start_item(&mut self) -> u64 {
        self.item = (self.offset(), FnvStream::new());
        self.item.0
    }

    /// Appends bytes to the current item.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if self.is_logical() {
            self.item.1.update(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_SIZE {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Ends the current item; arguments and result are those of [`ProtoWriter::append_item`].
    ///
    /// # Errors
    /// None yet.
    pub(crate) fn end_item(&mut self, kind: ItemKind, item: Option<u64>) -> Result<u64> {
        let (offset, checksum) = std::mem::take(&mut self.item);
        if !self.is_logical() {
            return Ok(offset);
        }
        let item = item.unwrap_or_else(|| self.next_item());
        self.items.push(P2lEntry {
            offset,
            size: self.offset() - offset,
            kind,
            rev: Revnum::ZERO,
            item,
            checksum: checksum.finish(),
        });
        Ok(item)
    }

    /// Appends unused bytes.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn pad(&mut self, mut length: u64) -> Result<()> {
        let (offset, size) = (self.offset(), length);
        while length > 0 {
            let part = length.min(BUFFER_SIZE as u64);
            self.buffer.resize(self.buffer.len() + part as usize, 0);
            self.flush()?;
            length -= part;
        }
        self.items.push(P2lEntry {
            offset,
            size,
            kind: ItemKind::Unused,
            rev: Revnum::ZERO,
            item: 0,
            checksum: 0,
        });
        Ok(())
    }

    /// Discards the current item.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn drop_item(&mut self) -> Result<()> {
        let start = self.item.0;
        match start.checked_sub(self.written) {
            Some(kept) => self.buffer.truncate(kept as usize),
            None => {
                self.buffer.clear();
                self.truncate(start)?;
            }
        }
        Ok(())
    }

    /// Writes the buffer to the file, for readers of what has been written.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let path = &self.proto.0.path;
        if let Some(file) = &mut self.file {
            // After a failure it is unknown how much was written. The drop cuts it off.
            file.append(&self.buffer)
                .map_err(|e| Error::io("Can't write to file", path, &e))?;
        }
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Makes what was written part of the transaction, and gives the lock back.
    ///
    /// # Errors
    /// The system's, if the buffer could not be written: then nothing is kept.
    pub(crate) fn keep(mut self) -> Result<()> {
        self.flush()?;
        let mut state = self.proto.0.state.lock();
        state.end = self.written;
        state.items.append(&mut self.items);
        self.numbers = 0..0;
        Ok(())
    }

    /// Appends the end of the revision: indexes and footer (logical addressing) or the trailer line (physical addressing). Then
    /// all is written to the file.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn finish(&mut self, rev: Revnum, root: u64, changes: u64) -> Result<()> {
        let mut end = Vec::new();
        if self.is_logical() {
            self.encode_indexes(rev, &mut end);
        } else {
            RevTrailer { root, changes }.encode(&mut end);
        }
        self.buffer.append(&mut end);
        self.flush()
    }

    /// After [`ProtoWriter::finish`]: makes the whole file durable, with the texts that other writers have written before.
    ///
    /// # Errors
    /// The system's. It is unknown then which bytes are lost, and a later call may succeed without them: the file must not become
    /// a revision.
    pub(crate) fn sync(&mut self) -> Result<()> {
        let path = &self.proto.0.path;
        match &mut self.file {
            Some(file) => file.sync().map_err(|e| Error::io("Can't flush file", path, &e)),
            None => Ok(()),
        }
    }

    fn encode_indexes(&mut self, rev: Revnum, out: &mut Vec<u8>) {
        let mut items = std::mem::take(&mut self.proto.0.state.lock().items);
        let kept = items.len();
        items.append(&mut self.items);
        for entry in &mut items {
            entry.rev = rev;
        }
        let fs = &self.proto.0.fs;
        fs.format()
            .encode_indexes(out, rev, self.offset(), fs.conf().page_sizes(), &items);
        // The commit may still fail: the items of the transaction stay as they were.
        items.truncate(kept);
        self.proto.0.state.lock().items = items;
    }

    /// After [`ProtoWriter::finish`]: the file, to be read.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn finished_file(&self) -> Result<Arc<dyn DiskFile>> {
        let path = self.path();
        let opened = self.proto.0.fs.disk().open(path);
        opened.map_err(|e| Error::io("Can't open file", path, &e))
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.proto.0.path
    }

    /// Gives the finished file up, which is published elsewhere: it is not cut back before it is removed with the transaction.
    pub(crate) fn give_up(mut self) {
        self.file = None;
    }

    /// After [`ProtoWriter::finish`]: gives the file the permissions of `like` and renames it to `target`, durably if `sync`.
    /// Then the lock is given back.
    ///
    /// # Errors
    /// The system's. The file may have either name then.
    pub(crate) fn publish(mut self, target: &Path, like: &Path, sync: bool) -> Result<()> {
        let disk = self.proto.0.fs.disk();
        let path = &self.proto.0.path;
        disk.copy_permissions(like, path)
            .map_err(|e| Error::io("Can't set permissions on file", path, &e))?;
        let mode = match sync {
            true => MoveMode::New,
            // A group is put aside; a crash may have left a file there.
            false => MoveMode::ReplaceVolatile,
        };
        move_file(disk, path, target, mode)?;
        // It is a revision file now: the drop must not truncate it.
        self.file = None;
        if !sync {
            return Ok(());
        }
        let directory = target.parent().unwrap_or(target);
        disk.sync_dir(directory)
            .map_err(|e| Error::io("Can't flush directory", directory, &e))
    }

    fn truncate(&mut self, length: u64) -> Result<()> {
        if let Some(file) = &mut self.file {
            file.truncate(length)
                .map_err(|e| Error::io("Can't truncate file", &self.proto.0.path, &e))?;
        }
        self.written = length;
        Ok(())
    }

    fn is_logical(&self) -> bool {
        self.proto.0.fs.format().logical
    }
}

impl Drop for ProtoWriter {
    fn drop(&mut self) {
        let mut state = self.proto.0.state.lock();
        state.is_writing = false;
        state.numbers.give_back(self.numbers.clone());
        if let Some(mut file) = self.file.take() {
            if state.is_held {
                state.lock = self.lock.take();
            }
            // A flush may have failed halfway, so the length comes from the file. If it cannot be truncated now, the next writer
            // tries again, or it goes with the transaction.
            let is_cut = file
                .len()
                .is_ok_and(|length| length == state.end || file.truncate(state.end).is_ok());
            if is_cut && !state.is_released {
                state.file = Some(file);
            }
            if !state.is_held {
                // The lock was given back meanwhile, with complete files. If others cannot be admitted, they refuse the transaction.
                _ = self.proto.admit_others(&mut state);
            }
        }
    }
}
