//! [`OpenRep`]: one representation on disk, with its header parsed and its body read window by window.

use std::sync::Arc;

use base::{Code, Error, Result, Revnum};
use delta::svndiff::{self, Codec, EncodedWindow, Parsed, SvndiffError, WindowHeader};

use crate::format::fsx::rep_container::RepContainer;
use crate::format::id::TxnId;
use crate::format::rep_header::{MAX_HEADER, RepHeader, RepHeaderError};
use crate::store::fsx::container::Container;
use crate::store::open_file::OpenFile;
use crate::store::rev_file::RevFile;
use crate::tree::Fs;
use crate::tree::fsx::wrong_type;

/// The address of a representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RepAddress {
    /// An item of a revision.
    Rev(Revnum, u64),
    /// An item (or offset) in a transaction's proto-revision file.
    Txn(TxnId, u64),
    /// The offset in that file of a representation that is not an item yet.
    Unfinished(TxnId, u64),
}

/// An open representation, with a position among its windows.
pub(super) struct OpenRep {
    fs: Fs,
    pub(super) address: RepAddress,
    file: RepFile,
    pub(super) header: RepHeader,
    /// Offset of the body in the file, bytes.
    body: u64,
    pub(super) body_len: u64,
    /// svndiff version of the body; meaningless for PLAIN.
    pub(super) version: u8,
    /// The position in the body of window number `next`, bytes.
    position: u64,
    next: u64,
    /// Bytes of the body from `buffer_start` on, after `before` bytes of the header. Not used if the file is in
    /// memory.
    buffer: Vec<u8>,
    before: usize,
    buffer_start: u64,
}

/// The file with a representation.
enum RepFile {
    Rev(Arc<RevFile>),
    Proto(Arc<OpenFile>),
    /// A text of a container of FSX, and its number there.
    Contained(Arc<RevFile>, Arc<RepContainer>, u64),
}

impl RepFile {
    fn bytes(&self) -> &OpenFile {
        match self {
            RepFile::Rev(file) | RepFile::Contained(file, ..) => file.bytes(),
            RepFile::Proto(file) => file,
        }
    }
}

/// A shorter body is read at once; of a longer one, at least this many bytes at a time.
const READ: u64 = 64 << 10;

/// The line after the body.
const END: &[u8] = b"ENDREP\n";

impl OpenRep {
    /// Opens the representation whose body has `body_len` bytes.
    pub(super) fn open(fs: &Fs, address: RepAddress, body_len: u64) -> Result<Self> {
        let mut level = match address {
            RepAddress::Rev(rev, item) if fs.format().is_fsx() => {
                fs.with_rev_file(rev, |file| Self::open_fsx(fs, file, rev, item))?
            }
            RepAddress::Rev(rev, item) => fs.with_rev_file(rev, |file| {
                let start = file.item_offset(fs.cache(), rev, item)?;
                let end = file.items_end(rev)?;
                Self::read_start(fs, address, RepFile::Rev(file.clone()), start, end, body_len)
            })?,
            RepAddress::Txn(txn, _) | RepAddress::Unfinished(txn, _) => {
                let start = match address {
                    RepAddress::Txn(_, item) => fs.proto_rev_offset(txn, item)?,
                    RepAddress::Unfinished(_, offset) | RepAddress::Rev(_, offset) => offset,
                };
                let file = fs.proto_rev_file(txn)?;
                let end = file.len();
                Self::read_start(fs, address, RepFile::Proto(file), start, end, body_len)?
            }
        };
        if level.header != RepHeader::Plain {
            let start = level.bytes(0, svndiff::HEADER_LEN as u64)?;
            level.version = match svndiff::parse_header(start).map_err(|_| malformed_diff())? {
                Parsed::Complete(version) => version,
                Parsed::Incomplete { .. } => return Err(malformed_diff()),
            };
            level.position = svndiff::HEADER_LEN as u64;
        }
        Ok(level)
    }

    /// Opens an item of FSX: a representation, or a text of a container, which is read as a PLAIN representation. The index
    /// says how long an item is. A length in a rep line is that of before the revision was packed.
    fn open_fsx(fs: &Fs, file: &Arc<RevFile>, rev: Revnum, number: u64) -> Result<Self> {
        let address = RepAddress::Rev(rev, number);
        let items = file.fsx(fs.cache())?;
        let item = items.item(rev, number)?;
        if !item.item_type.is_rep() {
            let Container::Reps(container) = file.container(fs.cache(), &item)? else {
                return Err(wrong_type(rev, number));
            };
            let body_len = items.in_file(container.text_len(item.sub_item))?;
            return Ok(OpenRep {
                fs: fs.clone(),
                address,
                file: RepFile::Contained(file.clone(), container, item.sub_item),
                header: RepHeader::Plain,
                body: 0,
                body_len,
                version: 0,
                position: 0,
                next: 0,
                buffer: Vec::new(),
                before: 0,
                buffer_start: 0,
            });
        }
        let end = item.offset + item.size;
        let mut opened = Self::read_start(fs, address, RepFile::Rev(file.clone()), item.offset, end, 0)?;
        let body_len = end.checked_sub(opened.body + END.len() as u64);
        opened.body_len = body_len
            .filter(|_| opened.header != RepHeader::Plain)
            .ok_or_else(|| Error::from(RepHeaderError::Malformed))?;
        Ok(opened)
    }

    fn read_start(
        fs: &Fs,
        address: RepAddress,
        file: RepFile,
        start: u64,
        end: u64,
        body_len: u64,
    ) -> Result<Self> {
        let wanted = body_len.min(READ) + MAX_HEADER as u64;
        let wanted = wanted.min(end.saturating_sub(start));
        let mut buffer = Vec::new();
        let beginning = match file.bytes().slice_in_memory(start, wanted) {
            Some(in_memory) if file.bytes().is_whole() => in_memory,
            _ => {
                buffer = file.bytes().read_up_to(start, wanted as usize)?;
                &buffer
            }
        };
        let (header, header_len) =
            RepHeader::parse(beginning)?.ok_or_else(|| Error::from(RepHeaderError::Malformed))?;
        let body = start + header_len as u64;
        if body.checked_add(body_len).is_none_or(|body_end| body_end > end) {
            return Err(Error::new(
                Code::FS_CORRUPT,
                "Representation does not fit into its file",
            ));
        }
        Ok(OpenRep {
            fs: fs.clone(),
            address,
            file,
            header,
            body,
            body_len,
            version: 0,
            position: 0,
            next: 0,
            buffer,
            before: header_len,
            buffer_start: 0,
        })
    }

    /// True if window `at` does not exist: the delta ends before it.
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

    /// Bytes of a PLAIN body from `offset` on, at most `length`.
    pub(super) fn plain(&mut self, offset: u64, length: u64) -> Result<&[u8]> {
        let offset = offset.min(self.body_len);
        self.bytes(offset, length.min(self.body_len - offset))
    }

    /// Releases the buffer; the bytes are read again when needed.
    pub(super) fn release(&mut self) {
        self.buffer = Vec::new();
        self.before = 0;
    }

    fn skip_to(&mut self, at: u64) -> Result<()> {
        debug_assert!(at >= self.next, "windows are read in ascending order");
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
            Parsed::Complete(header) => Err(self.overlong(&header)),
            _ => Err(SvndiffError::UnexpectedEnd.into()),
        }
    }

    /// The error of a window that extends beyond its representation. The incumbent reads the window to its end first,
    /// and reports this only if the window can be decoded.
    fn overlong(&self, header: &WindowHeader) -> Error {
        let length = header.window_len().min(MAX_WINDOW);
        let bytes = match self.file.bytes().read_up_to(self.body + self.position, length) {
            Ok(bytes) => bytes,
            Err(e) => return e,
        };
        let Some(window) = EncodedWindow::with_header(self.version, header, &bytes) else {
            return SvndiffError::UnexpectedEnd.into();
        };
        match window.decode(&mut Codec::new()) {
            Ok(_) => Error::new(
                Code::FS_CORRUPT,
                "Reading one svndiff window read beyond the end of the representation",
            ),
            Err(e) => e.into(),
        }
    }

    /// `length` bytes of the body at `offset`.
    fn bytes(&mut self, offset: u64, length: u64) -> Result<&[u8]> {
        if offset.checked_add(length).is_none_or(|end| end > self.body_len) {
            return Err(SvndiffError::UnexpectedEnd.into());
        }
        let is_contained = matches!(self.file, RepFile::Contained(..));
        if self.file.bytes().is_whole() && !is_contained {
            let in_memory = self.file.bytes().slice_in_memory(self.body + offset, length);
            return in_memory.ok_or_else(|| self.file.bytes().ends_early());
        }
        let buffer_end = self.buffer_start + self.buffer.len().saturating_sub(self.before) as u64;
        if offset < self.buffer_start || offset + length > buffer_end {
            self.fill(offset, length.max(READ).min(self.body_len - offset))?;
        }
        let start = self.before + (offset - self.buffer_start) as usize;
        Ok(&self.buffer[start..start + length as usize])
    }

    fn fill(&mut self, offset: u64, length: u64) -> Result<()> {
        (self.buffer_start, self.before) = (offset, 0);
        if let RepFile::Contained(file, container, number) = &self.file {
            self.buffer =
                file.fsx(self.fs.cache())?
                    .in_file(container.read(*number, offset, length as usize))?;
            return match self.buffer.len() as u64 == length {
                true => Ok(()),
                false => Err(SvndiffError::UnexpectedEnd.into()),
            };
        }
        let (at, length) = (self.body + offset, length as usize);
        let stale = match self.file.bytes().read_into(at, length, &mut self.buffer) {
            Err(e) if crate::store::disk::is_stale(&e) => e,
            result => {
                if result.is_err() {
                    self.buffer.clear();
                }
                return result;
            }
        };
        // The file was deleted on its server, probably because its shard was packed. Opening the representation again
        // finds it in the pack file.
        self.buffer.clear();
        if let RepFile::Rev(file) = &self.file {
            self.fs.cache().drop_file(&file.key());
        }
        let reopened = OpenRep::open(&self.fs, self.address, self.body_len)?;
        if reopened.header != self.header {
            // FSX has put the text into a container. A new reader reads it there.
            return Err(stale);
        }
        (self.file, self.body) = (reopened.file, reopened.body);
        let at = self.body + offset;
        self.file.bytes().read_into(at, length, &mut self.buffer)
    }
}

/// The most bytes of a window with a wrong length that are decoded.
const MAX_WINDOW: usize = 256 << 10;

fn malformed_diff() -> Error {
    Error::new(Code::FS_CORRUPT, "Malformed svndiff data in representation")
}
