//! Checking revision and pack files: the digests of their indexes, that the indexes agree with each other and describe
//! every byte, the checksum of each item, and that containers and revision properties can be decoded.
//!
//! Texts, directories and property lists are checked by reading the trees. A file is read from front to back; memory does
//! not grow with it, but for its indexes.

use std::ops::RangeInclusive;

use base::checksum::{FnvStream, Md5, Md5Stream};
use base::{Cancel, Code, Date, Error, Result, Revnum, props};

use crate::format::p2l::{ItemType, P2lEntry};
use crate::store::container::Container;
use crate::store::rev_file::RevFile;
use crate::tree::FsxFs;

impl FsxFs {
    /// Checks the files that hold these revisions, and the properties of the revisions.
    ///
    /// # Errors
    /// `CHECKSUM_MISMATCH`, `FS_INDEX_CORRUPTION`, `FS_INDEX_INCONSISTENT`, `FS_CORRUPT`, `CORRUPT_PACKED_DATA`, `BAD_DATE`;
    /// those of reading; `CANCELLED`.
    pub fn verify_files(&self, revs: RangeInclusive<Revnum>, cancel: &Cancel) -> Result<()> {
        let (mut rev, last) = (*revs.start(), (*revs.end()).min(self.youngest()?));
        while rev <= last {
            cancel.check()?;
            let file = self.store().rev_file(rev)?;
            FileCheck {
                fs: self,
                file: &file,
                cancel,
            }
            .run()?;
            let after = file.revisions().end.min(last.0.saturating_add(1));
            while rev.0 < after {
                self.check_revprops(rev)?;
                rev = rev.next();
            }
        }
        Ok(())
    }

    fn check_revprops(&self, rev: Revnum) -> Result<()> {
        match self.revprops(rev)?.get(props::DATE) {
            Some(date) => Date::parse(date).map(drop),
            None => Ok(()),
        }
    }
}

struct FileCheck<'a> {
    fs: &'a FsxFs,
    file: &'a RevFile,
    cancel: &'a Cancel,
}

/// The most bytes that are read at once.
const READ: u64 = 64 << 10;

impl FileCheck<'_> {
    fn run(&self) -> Result<()> {
        let footer = self.file.footer();
        self.check_index("L2P", footer.l2p_offset, footer.p2l_offset, &footer.l2p_md5)?;
        self.check_index("P2L", footer.p2l_offset, footer.footer_offset, &footer.p2l_md5)?;
        let items = self.check_items(footer.l2p_offset)?;
        // Each item of the P2L index was found in the L2P index, so equal numbers mean that there are no others.
        let mut used = 0;
        for rev in self.file.revisions() {
            used += self.file.used_items(Revnum(rev))?;
        }
        match items == used {
            true => Ok(()),
            false => Err(self.fault(
                Code::FS_INDEX_INCONSISTENT,
                format!("L2P index has {used} items, P2L index has {items}"),
            )),
        }
    }

    fn check_index(&self, name: &str, start: u64, end: u64, expected: &Md5) -> Result<()> {
        let mut md5 = Md5Stream::new();
        self.read(start, end, |bytes| md5.update(bytes))?;
        let actual = md5.finish();
        if expected.matches(&actual) {
            return Ok(());
        }
        let message =
            format!("{name} index checksum mismatch:\n   expected:  {expected}\n     actual:  {actual}\n");
        Err(self.fault(Code::CHECKSUM_MISMATCH, message))
    }

    /// Checks all items in their order and returns their number.
    fn check_items(&self, end: u64) -> Result<usize> {
        let (mut offset, mut items) = (0, 0);
        for page in 0..self.file.page_count()? {
            for entry in self.file.page_entries(page)?.iter() {
                self.cancel.check()?;
                let is_filler = entry.offset >= end && entry.item_type == ItemType::Unused;
                if entry.offset != offset || (entry.end() > end && !is_filler) {
                    let message = format!(
                        "P2L index describes offset {} where {offset} should be",
                        entry.offset
                    );
                    return Err(self.fault(Code::FS_INDEX_CORRUPTION, message));
                }
                offset = entry.end();
                if !is_filler {
                    self.check_item(entry)?;
                }
                items += entry.items.len();
            }
        }
        match offset >= end {
            true => Ok(items),
            false => Err(self.fault(
                Code::FS_INDEX_CORRUPTION,
                format!("P2L index ends at offset {offset}"),
            )),
        }
    }

    fn check_item(&self, entry: &P2lEntry) -> Result<()> {
        let mut fnv = FnvStream::new();
        let mut has_data = false;
        self.read(entry.offset, entry.end(), |bytes| {
            fnv.update(bytes);
            has_data |= bytes.iter().any(|&byte| byte != 0);
        })?;
        if entry.item_type == ItemType::Unused {
            let message = format!("Unused range at offset {} has data", entry.offset);
            return if has_data {
                Err(self.fault(Code::FS_CORRUPT, message))
            } else {
                Ok(())
            };
        }
        let actual = fnv.finish();
        if actual != entry.checksum {
            let message = format!(
                "Checksum mismatch in item at offset {} of length {} bytes:\n   expected:  {:08x}\n     actual:  {actual:08x}\n",
                entry.offset, entry.size, entry.checksum
            );
            return Err(self.fault(Code::CHECKSUM_MISMATCH, message));
        }
        for (at, &(rev, number)) in entry.items.iter().enumerate() {
            let item = self.file.item(rev, number)?;
            if (item.offset, item.sub_item) != (entry.offset, at as u64) {
                let message = format!(
                    "Item {number} of revision {rev} is at offset {}, not {}",
                    item.offset, entry.offset
                );
                return Err(self.fault(Code::FS_INDEX_INCONSISTENT, message));
            }
            if at == 0 && entry.item_type.is_container() {
                let records = match self.fs.store().container(self.file, &item)? {
                    Container::NodeRevs(container) => container.len(),
                    Container::Changes(container) => container.len(),
                    Container::Reps(container) => container.len(),
                };
                if records != entry.items.len() {
                    let message = format!("Container at offset {} has {records} records", entry.offset);
                    return Err(self.fault(Code::FS_INDEX_INCONSISTENT, message));
                }
            }
        }
        Ok(())
    }

    fn read(&self, start: u64, end: u64, mut each: impl FnMut(&[u8])) -> Result<()> {
        let (mut at, mut buffer) = (start, Vec::new());
        while at < end {
            let length = (end - at).min(READ);
            self.file.bytes().read_into(at, length as usize, &mut buffer)?;
            each(&buffer);
            at += length;
        }
        Ok(())
    }

    fn fault(&self, code: Code, message: String) -> Error {
        let path = self.file.bytes().path().display();
        Error::new(code, format!("{message} (file '{path}')"))
    }
}
