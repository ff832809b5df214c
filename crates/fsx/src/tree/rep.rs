//! [`StoredRep`]: one stored representation, read chunk by chunk or window by window.
//!
//! A representation is an item of its own, a line `DELTA` and an svndiff document, or a text of a container. A text of a
//! container has no base, and any range of it can be made at once.

use std::sync::Arc;

use base::{Code, Error, Result, Revnum};
use delta::svndiff::{self, EncodedWindow, Parsed, SvndiffError, WindowHeader};
use delta::window::WINDOW_SIZE;
use fsfs::{MAX_REP_HEADER, OpenFile, RepHeader};

use super::FsxFs;
use super::fs::wrong_type;
use crate::format::p2l::ItemType;
use crate::format::proto_index;
use crate::format::rep_container::RepContainer;
use crate::store::container::Container;
use crate::store::handle::in_file;
use crate::store::layout::txn_name;
use crate::store::rev_file::RevFile;

/// An open representation.
pub(super) enum StoredRep {
    /// A text of a container, with its number there.
    Contained(Arc<RevFile>, Arc<RepContainer>, u64),
    Delta(DeltaRep),
}

/// A representation in delta form, with a position among its windows.
pub(super) struct DeltaRep {
    file: Arc<OpenFile>,
    /// Revision and item of the base, if it has one.
    pub(super) base: Option<(Revnum, u64)>,
    /// Offset of the svndiff document in the file, and its length, bytes.
    body: u64,
    body_len: u64,
    version: u8,
    /// The offset in the document of window number `next`, bytes.
    position: u64,
    next: u64,
    /// Bytes of the document from `buffer_start` on.
    buffer: Vec<u8>,
    buffer_start: u64,
}

/// A longer document is read in pieces of at least this many bytes.
const READ: u64 = 64 << 10;

/// The line after the document.
const END: &[u8] = b"ENDREP\n";

impl StoredRep {
    /// Opens the representation that is this item of a revision.
    pub(super) fn open(fs: &FsxFs, rev: Revnum, number: u64) -> Result<Self> {
        let file = fs.store().rev_file(rev)?;
        let item = file.item(rev, number)?;
        if item.item_type.is_rep() {
            let rep = DeltaRep::open(file.bytes().clone(), item.offset, item.size)?;
            return Ok(StoredRep::Delta(rep));
        }
        if item.item_type == ItemType::RepContainer
            && let Container::Reps(container) = fs.store().container(&file, &item)?
        {
            return Ok(StoredRep::Contained(file, container, item.sub_item));
        }
        Err(wrong_type(rev, number))
    }

    /// Opens the representation that is this item of a transaction.
    pub(super) fn open_txn(fs: &FsxFs, txn: u64, number: u64) -> Result<Self> {
        let layout = &fs.store().layout;
        let read = |name| {
            let path = layout.txn_file(txn, name);
            let bytes = fs.store().disk().read_small(&path);
            let bytes = bytes.map_err(|e| Error::io("Can't open file", &path, &e))?;
            Ok::<_, Error>((path, bytes))
        };
        let (path, bytes) = read("index.l2p")?;
        let offset = in_file(proto_index::find_l2p(&bytes, number), &path)?;
        let (path, bytes) = read("index.p2l")?;
        let (items, _) = in_file(proto_index::parse_p2l(&bytes), &path)?;
        let item = items.iter().find(|item| Some(item.offset) == offset);
        let item = item.ok_or_else(|| {
            let message = format!("Item {number} of transaction '{}' does not exist", txn_name(txn));
            Error::new(Code::FS_CORRUPT, message)
        })?;
        let file = OpenFile::open(fs.store().disk(), layout.proto_rev(txn), 0)?;
        let rep = DeltaRep::open(Arc::new(file), item.offset, item.size)?;
        Ok(StoredRep::Delta(rep))
    }

    /// Chunk `at` of the text; empty behind its end. `None` for a delta.
    pub(super) fn contained_chunk(&self, at: u64) -> Result<Option<Vec<u8>>> {
        match self {
            StoredRep::Delta(_) => Ok(None),
            StoredRep::Contained(file, container, sub_item) => {
                let offset = at.saturating_mul(WINDOW_SIZE as u64);
                file.in_file(container.read(*sub_item, offset, WINDOW_SIZE))
                    .map(Some)
            }
        }
    }
}

impl DeltaRep {
    /// Opens the representation with `size` bytes, header and last line among them, at `offset` of a file.
    fn open(file: Arc<OpenFile>, offset: u64, size: u64) -> Result<Self> {
        let malformed = || Error::new(Code::FS_CORRUPT, "Malformed representation header");
        let start = file.read_vec(offset, size.min(MAX_REP_HEADER as u64))?;
        let (header, header_len) = RepHeader::parse(&start)?.ok_or_else(malformed)?;
        let base = match header {
            RepHeader::SelfDelta => None,
            RepHeader::Delta { rev, item, .. } => Some((rev, item)),
            RepHeader::Plain => return Err(malformed()),
        };
        let body_len = size.checked_sub((header_len + END.len()) as u64);
        let mut rep = DeltaRep {
            base,
            body: offset + header_len as u64,
            body_len: body_len.ok_or_else(malformed)?,
            file,
            version: 0,
            position: svndiff::HEADER_LEN as u64,
            next: 0,
            buffer: Vec::new(),
            buffer_start: 0,
        };
        rep.version = match svndiff::parse_header(rep.bytes(0, svndiff::HEADER_LEN as u64)?) {
            Ok(Parsed::Complete(version @ 0..=1)) => version,
            _ => {
                let message = "Malformed svndiff data in representation";
                return Err(Error::new(Code::FS_CORRUPT, message));
            }
        };
        Ok(rep)
    }

    /// True if window `at` does not exist.
    pub(super) fn ends_before(&mut self, at: u64) -> Result<bool> {
        self.skip_to(at)?;
        Ok(self.next < at || self.position >= self.body_len)
    }

    /// Window `at`; earlier ones are skipped. Windows must be read in ascending order.
    pub(super) fn window(&mut self, at: u64) -> Result<EncodedWindow<'_>> {
        self.skip_to(at)?;
        let header = self.window_header()?;
        let version = self.version;
        let bytes = self.bytes(self.position, header.window_len() as u64)?;
        EncodedWindow::with_header(version, &header, bytes).ok_or_else(|| SvndiffError::UnexpectedEnd.into())
    }

    /// Releases the buffer; the bytes are read again when needed.
    pub(super) fn release(&mut self) {
        self.buffer = Vec::new();
    }

    fn skip_to(&mut self, at: u64) -> Result<()> {
        while self.next < at && self.position < self.body_len {
            self.position += self.window_header()?.window_len() as u64;
            self.next += 1;
        }
        Ok(())
    }

    fn window_header(&mut self) -> Result<WindowHeader> {
        let rest = self.body_len.saturating_sub(self.position);
        let bytes = self.bytes(self.position, rest.min(WindowHeader::MAX_LEN as u64))?;
        match WindowHeader::parse(bytes)? {
            Parsed::Complete(header) if header.window_len() as u64 <= rest => Ok(header),
            Parsed::Complete(_) => Err(Error::new(
                Code::FS_CORRUPT,
                "Reading one svndiff window read beyond the end of the representation",
            )),
            Parsed::Incomplete { .. } => Err(SvndiffError::UnexpectedEnd.into()),
        }
    }

    /// `length` bytes of the document at `offset`.
    fn bytes(&mut self, offset: u64, length: u64) -> Result<&[u8]> {
        if offset.checked_add(length).is_none_or(|end| end > self.body_len) {
            return Err(SvndiffError::UnexpectedEnd.into());
        }
        let buffer_end = self.buffer_start + self.buffer.len() as u64;
        if offset < self.buffer_start || offset + length > buffer_end {
            let length = length.max(READ).min(self.body_len - offset);
            self.buffer.clear();
            let (at, length) = (self.body + offset, length as usize);
            self.file.read_into(at, length, &mut self.buffer)?;
            self.buffer_start = offset;
        }
        let start = (offset - self.buffer_start) as usize;
        Ok(&self.buffer[start..start + length as usize])
    }
}
