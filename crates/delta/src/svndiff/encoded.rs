//! Reads windows in place: bytes in memory -> header -> window as stored -> target or instructions.

use super::codec::{Codec, Section};
use super::instructions::Instructions;
use super::varint::{self, VarintFault};
use super::{MAX_INSTRUCTIONS, MAX_STORED_NEW_DATA, SvndiffError};
use crate::apply::Applier;
use crate::window::{Op, WINDOW_SIZE, Window};

/// The five integers in front of a window's sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowHeader {
    /// Where the source view starts, bytes.
    pub source_offset: u64,
    /// Length of the source view, bytes.
    pub source_len: u32,
    /// Length of the target made, bytes.
    pub target_len: u32,
    /// Length of the instruction section as stored, bytes.
    pub instructions_len: u32,
    /// Length of the new-data section as stored, bytes.
    pub new_data_len: u32,
    /// Length of the header itself, bytes.
    pub header_len: u32,
}

/// The result of parsing the front of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed<T> {
    /// The whole value. A window's length is that of [`EncodedWindow::raw`]; a header holds its length.
    Complete(T),
    /// An incomplete value: at least `need` bytes from the front are necessary.
    Incomplete {
        /// Bytes, more than were given.
        need: usize,
    },
}

impl WindowHeader {
    /// Longest header, bytes.
    pub const MAX_LEN: usize = 5 * varint::MAX_LEN;

    /// Reads the header of a window and checks its lengths.
    ///
    /// # Errors
    /// E185001.
    pub fn parse(bytes: &[u8]) -> Result<Parsed<WindowHeader>, SvndiffError> {
        let mut rest = bytes;
        let mut fields = [0u64; 5];
        for field in &mut fields {
            *field = match varint::read(&mut rest) {
                Ok(value) => value,
                Err(VarintFault::Incomplete) => {
                    return Ok(Parsed::Incomplete {
                        need: bytes.len() + 1,
                    });
                }
                Err(VarintFault::Overflow) => return Err(SvndiffError::HeaderTooLong),
            };
        }
        let [
            source_offset,
            source_len,
            target_len,
            instructions_len,
            new_data_len,
        ] = fields;
        let source_len = bounded(source_len, WINDOW_SIZE)?;
        if source_offset > i64::MAX as u64 - u64::from(source_len) {
            return Err(SvndiffError::CorruptHeader);
        }
        Ok(Parsed::Complete(WindowHeader {
            source_offset,
            source_len,
            target_len: bounded(target_len, WINDOW_SIZE)?,
            instructions_len: bounded(instructions_len, MAX_INSTRUCTIONS)?,
            new_data_len: bounded(new_data_len, MAX_STORED_NEW_DATA)?,
            header_len: (bytes.len() - rest.len()) as u32,
        }))
    }

    /// Length of header and sections, bytes.
    pub fn window_len(&self) -> usize {
        self.header_len as usize + self.instructions_len as usize + self.new_data_len as usize
    }
}

fn bounded(value: u64, limit: usize) -> Result<u32, SvndiffError> {
    match u32::try_from(value) {
        Ok(value) if value as usize <= limit => Ok(value),
        _ => Err(SvndiffError::TooLong),
    }
}

/// A window as stored: its header fields decoded, its two sections as they are on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedWindow<'a> {
    /// svndiff version of the document it comes from: 0, 1 or 2.
    pub version: u8,
    /// Where the source view starts, bytes.
    pub source_offset: u64,
    /// Length of the source view, bytes.
    pub source_len: u32,
    /// Length of the target made, bytes.
    pub target_len: u32,
    /// The instruction section as stored (in versions 1 and 2 with its length prefix).
    pub instructions: &'a [u8],
    /// The new-data section as stored (in versions 1 and 2 with its length prefix).
    pub new_data: &'a [u8],
    /// The whole window as stored: header and both sections.
    pub raw: &'a [u8],
}

impl<'a> EncodedWindow<'a> {
    /// Reads a window of a document of `version` from the front of `bytes`. Its length is that of
    /// [`EncodedWindow::raw`]. The sections are not looked into.
    ///
    /// # Errors
    /// E185001.
    pub fn parse(version: u8, bytes: &'a [u8]) -> Result<Parsed<EncodedWindow<'a>>, SvndiffError> {
        let header = match WindowHeader::parse(bytes)? {
            Parsed::Complete(header) => header,
            Parsed::Incomplete { need } => return Ok(Parsed::Incomplete { need }),
        };
        Ok(match EncodedWindow::with_header(version, &header, bytes) {
            Some(window) => Parsed::Complete(window),
            None => Parsed::Incomplete {
                need: header.window_len(),
            },
        })
    }

    /// Makes the window whose parsed header `bytes` start with; `None` if they do not reach its end.
    pub fn with_header(version: u8, header: &WindowHeader, bytes: &'a [u8]) -> Option<EncodedWindow<'a>> {
        let raw = bytes.get(..header.window_len())?;
        let (instructions, new_data) = raw
            .get(header.header_len as usize..)?
            .split_at_checked(header.instructions_len as usize)?;
        Some(EncodedWindow {
            version,
            source_offset: header.source_offset,
            source_len: header.source_len,
            target_len: header.target_len,
            instructions,
            new_data,
            raw,
        })
    }

    /// Appends the target that this window makes from `source_view` to `target`, without building a list of
    /// instructions. `source_view` holds the [`EncodedWindow::source_len`] bytes of the source from
    /// [`EncodedWindow::source_offset`] on; more are ignored.
    ///
    /// # Errors
    /// Any [`SvndiffError`] of a section or an instruction; `target` is then as long as before.
    pub fn apply(
        &self,
        source_view: &[u8],
        target: &mut Vec<u8>,
        codec: &mut Codec,
    ) -> Result<(), SvndiffError> {
        let start = target.len();
        let result = self.apply_from(source_view, target, codec);
        if result.is_err() {
            target.truncate(start);
        }
        result
    }

    fn apply_from(
        &self,
        source_view: &[u8],
        target: &mut Vec<u8>,
        codec: &mut Codec,
    ) -> Result<(), SvndiffError> {
        let (instructions, new_data) = self.sections()?;
        let (mut inflate, ops_scratch, new_scratch) = codec.reading();
        let ops = inflate.borrow(self.version, instructions, ops_scratch)?;
        if Instructions::single_insertion(ops) == Some(self.target_len)
            && new_data.expanded_len() == self.target_len as usize
        {
            // Full texts consist of such windows: they are expanded in place.
            return inflate.expand(self.version, new_data, target);
        }
        let new_data = inflate.borrow(self.version, new_data, new_scratch)?;
        let view = &source_view[..source_view.len().min(self.source_len as usize)];
        let mut applier = Applier::new(view, new_data, target, self.target_len)?;
        for op in Instructions::new(ops) {
            applier.run(op?)?;
        }
        applier.finish()
    }

    /// Decodes the window; it passes [`Window::validate`].
    ///
    /// # Errors
    /// Any [`SvndiffError`] of a section or an instruction.
    pub fn decode(&self, codec: &mut Codec) -> Result<Window, SvndiffError> {
        let mut window = Window::default();
        self.decode_into(codec, &mut window)?;
        Ok(window)
    }

    /// Decodes into a window whose buffers are reused. After an error its contents are undefined.
    ///
    /// # Errors
    /// Any [`SvndiffError`] of a section or an instruction.
    pub fn decode_into(&self, codec: &mut Codec, window: &mut Window) -> Result<(), SvndiffError> {
        let (instructions, new_data) = self.sections()?;
        let (mut inflate, ops_scratch, _) = codec.reading();
        window.source_offset = self.source_offset;
        window.source_len = self.source_len;
        window.target_len = self.target_len;
        window.ops.clear();
        window.new_data.clear();
        let ops = inflate.borrow(self.version, instructions, ops_scratch)?;
        let mut made = 0u32;
        for (at, op) in Instructions::new(ops).enumerate() {
            let op = op?;
            // Bounds the list by the target's length; `validate` checks the rest.
            if op.len() == 0 {
                return Err(SvndiffError::ZeroLength(at as u32));
            }
            made = made
                .checked_add(op.len())
                .filter(|made| *made <= self.target_len)
                .ok_or(SvndiffError::TargetOverflow(at as u32))?;
            window.ops.push(op);
        }
        inflate.expand(self.version, new_data, &mut window.new_data)?;
        window.validate()
    }

    /// True if the target depends on the source.
    ///
    /// # Errors
    /// Any [`SvndiffError`] of the instruction section.
    pub fn has_source_ops(&self, codec: &mut Codec) -> Result<bool, SvndiffError> {
        if self.source_len == 0 {
            return Ok(false);
        }
        let (instructions, _) = self.sections()?;
        let (mut inflate, ops_scratch, _) = codec.reading();
        let ops = inflate.borrow(self.version, instructions, ops_scratch)?;
        for op in Instructions::new(ops) {
            if let Op::Source { .. } = op? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Strips the length prefixes and checks all lengths: the value may have been made by hand.
    pub(super) fn sections(&self) -> Result<(Section<'a>, Section<'a>), SvndiffError> {
        if self.version > 2 {
            return Err(SvndiffError::Header);
        }
        bounded(self.source_len.into(), WINDOW_SIZE)?;
        bounded(self.target_len.into(), WINDOW_SIZE)?;
        bounded(self.instructions.len() as u64, MAX_INSTRUCTIONS)?;
        bounded(self.new_data.len() as u64, MAX_STORED_NEW_DATA)?;
        Ok((
            Section::parse(self.version, self.instructions, MAX_INSTRUCTIONS)?,
            Section::parse(self.version, self.new_data, WINDOW_SIZE)?,
        ))
    }
}

/// A stored window that owns its bytes: for caches, and for threads that prefetch windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedWindow {
    version: u8,
    raw: Box<[u8]>,
}

impl OwnedWindow {
    /// Copies `raw`, the whole window in the form of `version`.
    pub fn new(version: u8, raw: &[u8]) -> Self {
        OwnedWindow {
            version,
            raw: raw.into(),
        }
    }

    /// Returns the window.
    ///
    /// # Errors
    /// E185001 if the bytes are not a window.
    pub fn window(&self) -> Result<EncodedWindow<'_>, SvndiffError> {
        match EncodedWindow::parse(self.version, &self.raw)? {
            Parsed::Complete(window) => Ok(window),
            Parsed::Incomplete { .. } => Err(SvndiffError::UnexpectedEnd),
        }
    }

    /// Length of the window, bytes.
    #[expect(clippy::len_without_is_empty, reason = "no window is empty")]
    pub fn len(&self) -> usize {
        self.raw.len()
    }
}
