//! Checking a revision or pack file of FSX: the digests of its indexes, that the indexes agree with each other and describe
//! every byte, the checksum of each item, and that containers can be decoded.
//!
//! Texts, directories and property lists are checked by reading the trees. A file is read from front to back; memory does
//! not grow with it, but for its indexes.

use base::checksum::{FnvStream, Md5, Md5Stream};
use base::{Code, Error, Result, Revnum};

use crate::format::fsx::p2l::{ItemType, P2lEntry};
use crate::store::fsx::indexes::FsxItems;
use crate::store::rev_file::RevFile;
use crate::tree::Fs;

/// The most bytes that are read at once.
const READ: u64 = 64 << 10;

/// The check of one file.
pub(super) struct FsxFileCheck<'a> {
    fs: &'a Fs,
    file: &'a RevFile,
    items: FsxItems<'a>,
}

impl<'a> FsxFileCheck<'a> {
    pub(super) fn of(fs: &'a Fs, file: &'a RevFile) -> Result<Self> {
        let items = file.fsx(fs.cache())?;
        Ok(FsxFileCheck { fs, file, items })
    }

    /// Checks the file.
    ///
    /// # Errors
    /// `CHECKSUM_MISMATCH`, `FS_INDEX_CORRUPTION`, `FS_INDEX_INCONSISTENT`, `FS_CORRUPT`, `CORRUPT_PACKED_DATA`; those of
    /// reading.
    pub(super) fn run(&self) -> Result<()> {
        let footer = &self.items.indexes.footer;
        self.check_index("L2P", footer.l2p_offset, footer.p2l_offset, &footer.l2p_md5)?;
        self.check_index("P2L", footer.p2l_offset, footer.footer_offset, &footer.p2l_md5)?;
        let items = self.check_items(footer.l2p_offset)?;
        // Each item of the P2L index was found in the L2P index, so equal numbers mean that there are no others.
        let mut used = 0;
        for rev in self.items.revisions() {
            used += self.items.used_items(Revnum(rev))?;
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
        for page in 0..self.items.page_count()? {
            for entry in self.items.page_entries(page)?.iter() {
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
            let item = self.items.item(rev, number)?;
            if (item.offset, item.sub_item) != (entry.offset, at as u64) {
                let message = format!(
                    "Item {number} of revision {rev} is at offset {}, not {}",
                    item.offset, entry.offset
                );
                return Err(self.fault(Code::FS_INDEX_INCONSISTENT, message));
            }
            if at == 0 && entry.item_type.is_container() {
                let records = self.file.container(self.fs.cache(), &item)?.len();
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
