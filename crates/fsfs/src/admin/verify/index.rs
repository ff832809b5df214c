//! Checking the indexes of a revision or pack file, and every byte that they describe.
//!
//! The two indexes must agree about every item and cover the file without gap or overlap, and each item must have its recorded
//! checksum. The file is read once, from front to back.

use std::cell::RefCell;
use std::sync::Arc;

use base::checksum::{FnvStream, Md5, Md5Stream};
use base::{Code, Date, Error, Result, Revnum, props};

use super::fsx_files::FsxFileCheck;
use crate::format::fs_format::BackEnd;
use crate::format::p2l::{ItemKind, P2lEntry};
use crate::store::rev_file::RevFile;
use crate::tree::Fs;

/// Checks the indexes of the file that contains `rev`, and the revision properties of all its revisions.
///
/// # Errors
/// `FS_CORRUPT`, `FS_INDEX_CORRUPTION` and related codes, `BAD_DATE`; those of reading.
pub(super) fn check(fs: &Fs, rev: Revnum) -> Result<()> {
    fs.with_rev_file(rev, |file| match fs.format().back_end {
        BackEnd::Fsfs => {
            let buffer = RefCell::new(ReadBuffer::default());
            IndexCheck { fs, file, buffer }.run()
        }
        BackEnd::Fsx => FsxFileCheck::of(fs, file)?.run(),
    })?;
    let file = fs.rev_file(rev)?;
    let revisions = file.first_rev().0..file.first_rev().0.saturating_add(file.rev_count());
    let last = fs.youngest()?;
    revisions
        .take_while(|rev| *rev <= last.0)
        .try_for_each(|rev| revprops(fs, Revnum(rev)))
}

struct IndexCheck<'a> {
    fs: &'a Fs,
    file: &'a Arc<RevFile>,
    buffer: RefCell<ReadBuffer>,
}

/// Bytes that were read with one call, for many items.
#[derive(Default)]
struct ReadBuffer {
    start: u64,
    bytes: Vec<u8>,
}

impl IndexCheck<'_> {
    fn run(&self) -> Result<()> {
        let Some(footer) = self.file.footer() else {
            return Ok(());
        };
        self.check_section("L2P", footer.l2p_offset, footer.p2l_offset, &footer.l2p_md5)?;
        self.check_section("P2L", footer.p2l_offset, footer.footer_offset, &footer.p2l_md5)?;
        let first = self.file.first_rev().0;
        let revs = first..first.saturating_add(self.file.rev_count());
        let cache = self.fs.cache();
        // The length of the index has bounded the number of revisions and entries.
        let l2p: Vec<Vec<Option<u64>>> = revs
            .map(|rev| self.file.l2p_entries(cache, Revnum(rev)))
            .collect::<Result<_>>()?;
        let used = l2p.iter().flatten().flatten().count();
        let items = self.items(&l2p)?;
        if items != used {
            return Err(self.missing(&l2p));
        }
        Ok(())
    }

    fn check_section(&self, index: &str, start: u64, end: u64, expected: &Md5) -> Result<()> {
        let mut md5 = Md5Stream::new();
        self.read(start, end, |bytes| {
            md5.update(bytes);
            Ok(())
        })?;
        let actual = md5.finish();
        if expected.matches(&actual) {
            return Ok(());
        }
        let message = format!(
            "{index} index checksum mismatch in file {}:\n   expected:  {expected}\n     actual:  {actual}\n",
            self.name()
        );
        Err(Error::new(Code::CHECKSUM_MISMATCH, message))
    }

    /// Checks all items in their order and returns their number.
    fn items(&self, l2p: &[Vec<Option<u64>>]) -> Result<usize> {
        let header = self.file.p2l_header()?;
        let (mut offset, mut items) = (0, 0);
        for page in 0..header.page_count() {
            for entry in self.file.p2l_page(self.fs.cache(), page)?.iter() {
                if entry.offset != offset {
                    let message = format!(
                        "P2L index of file {} describes offset {} where {offset} should be",
                        self.name(),
                        entry.offset
                    );
                    return Err(Error::new(Code::FS_INDEX_CORRUPTION, message));
                }
                offset = entry.end();
                if entry.offset >= header.file_size {
                    // The entry that fills the last page.
                    if entry.kind != ItemKind::Unused {
                        return Err(self.beyond(entry));
                    }
                } else if offset > header.file_size {
                    return Err(self.beyond(entry));
                } else {
                    items += usize::from(entry.kind != ItemKind::Unused);
                    self.item(entry, l2p)?;
                }
            }
        }
        if offset < header.file_size {
            let message = format!("P2L index of file {} ends at offset {offset}", self.name());
            return Err(Error::new(Code::FS_INDEX_CORRUPTION, message));
        }
        Ok(items)
    }

    fn item(&self, entry: &P2lEntry, l2p: &[Vec<Option<u64>>]) -> Result<()> {
        if entry.kind == ItemKind::Unused {
            return self.read(entry.offset, entry.end(), |bytes| {
                if bytes.iter().all(|byte| *byte == 0) {
                    return Ok(());
                }
                let message = format!(
                    "Empty regions in file {} contain non-NUL data at offset {}",
                    self.name(),
                    entry.offset
                );
                Err(Error::new(Code::FS_CORRUPT, message))
            });
        }
        let at = entry.rev.0.checked_sub(self.file.first_rev().0);
        let of_rev = at.and_then(|at| l2p.get(usize::try_from(at).ok()?));
        let found = of_rev.and_then(|of_rev| of_rev.get(usize::try_from(entry.item).ok()?));
        if found.copied().flatten() != Some(entry.offset) {
            let message = format!(
                "l2p index entry not found for r{}:i{} at offset {} of file {}",
                entry.rev,
                entry.item,
                entry.offset,
                self.name()
            );
            return Err(Error::new(Code::FS_INDEX_INCONSISTENT, message));
        }
        let mut fnv = FnvStream::new();
        self.read(entry.offset, entry.end(), |bytes| {
            fnv.update(bytes);
            Ok(())
        })?;
        if fnv.finish() == entry.checksum {
            return Ok(());
        }
        let message = format!(
            "Checksum mismatch in item at offset {} of length {} bytes in file {}",
            entry.offset,
            entry.size,
            self.name()
        );
        Err(Error::new(Code::FS_CORRUPT, message))
    }

    /// Returns the error for an L2P entry without a P2L entry. There is such an entry.
    fn missing(&self, l2p: &[Vec<Option<u64>>]) -> Error {
        let mut unknown = None;
        for (rev, offsets) in (self.file.first_rev().0..).zip(l2p) {
            for (item, offset) in offsets.iter().enumerate() {
                let Some(offset) = offset else { continue };
                let entry = self.file.p2l_at(self.fs.cache(), *offset).ok().flatten();
                let is_same = |entry: P2lEntry| {
                    entry.offset == *offset && entry.rev.0 == rev && entry.item == item as u64
                };
                if unknown.is_none() && !entry.is_some_and(is_same) {
                    unknown = Some((rev, item, *offset));
                }
            }
        }
        let (rev, item, offset) = unknown.unwrap_or_default();
        let message = format!(
            "p2l index entry not found for PHYS {offset} returned by l2p index for LOG r{rev}:i{item}"
        );
        Error::new(Code::FS_INDEX_INCONSISTENT, message)
    }

    fn beyond(&self, entry: &P2lEntry) -> Error {
        let message = format!(
            "Item at offset {} exceeds the data of file {}",
            entry.offset,
            self.name()
        );
        Error::new(Code::FS_INDEX_CORRUPTION, message)
    }

    /// Calls `each` for the bytes from `start` to `end` in pieces. Efficient for reading forward.
    fn read(&self, start: u64, end: u64, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut buffer = self.buffer.borrow_mut();
        let mut at = start;
        while at < end {
            let known = at
                .checked_sub(buffer.start)
                .and_then(|skip| buffer.bytes.get(usize::try_from(skip).ok()?..));
            match known {
                Some(known) if !known.is_empty() => {
                    let length = known.len().min(usize::try_from(end - at).unwrap_or(PIECE));
                    each(&known[..length])?;
                    at += length as u64;
                }
                _ => {
                    let left = self.file.bytes().len().saturating_sub(at);
                    let length = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
                    if length == 0 {
                        // The indexes were checked to lie within the file: it has shrunk since.
                        let message = format!("Unexpected end of file {}", self.name());
                        return Err(Error::new(Code::FS_CORRUPT, message));
                    }
                    buffer.start = at;
                    buffer.bytes.resize(length, 0);
                    let read = self.file.bytes().read_exact_at(at, &mut buffer.bytes);
                    if read.is_err() {
                        buffer.bytes.clear();
                    }
                    read?;
                }
            }
        }
        Ok(())
    }

    fn name(&self) -> String {
        self.file.bytes().path().display().to_string()
    }
}

fn revprops(fs: &Fs, rev: Revnum) -> Result<()> {
    match fs.revprops_in_turn(rev, Revnum::ZERO)?.get(props::DATE) {
        Some(date) => Date::parse(date).map(drop),
        None => Ok(()),
    }
}

/// Bytes that are read with one call.
const PIECE: usize = 128 << 10;
