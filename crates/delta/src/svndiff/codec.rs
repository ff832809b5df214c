//! Compression of sections: state and buffers that one thread reuses for all its windows, and the block "length, then
//! raw or packed" of svndiff 1 and 2 and of packed revision properties.

use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};

use super::{SvndiffError, lz4_block, varint};

/// Sections shorter than this are not worth a zlib stream.
const MIN_ZLIB: usize = 512;

/// Most bytes that one compressed byte expands to: 1032 in a zlib stream, 255 in an LZ4 block.
const MAX_RATIO: usize = 1032;

/// Compressors, decompressors and scratch buffers, made on first use. Each thread that reads or writes windows owns
/// one and passes it to every call.
#[derive(Default)]
pub struct Codec {
    inflater: Option<Decompressor>,
    deflater: Option<(u8, Compressor)>,
    lz4_small: Option<CompressTable>,
    lz4_large: Option<CompressTable>,
    lz4_out: Vec<u8>,
    /// Expanded or encoded instructions of the current window.
    pub(super) instructions: Vec<u8>,
    /// Expanded new data of the current window.
    pub(super) new_data: Vec<u8>,
    /// Sections that are being written.
    pub(super) packed: Vec<u8>,
}

/// A section without its length prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section<'a> {
    /// The bytes themselves.
    Raw(&'a [u8]),
    /// Compressed bytes that expand to `len`.
    Packed { len: usize, payload: &'a [u8] },
}

impl<'a> Section<'a> {
    /// Reads the length prefix that sections of `version` have; `limit` is the longest expanded section.
    pub(super) fn parse(version: u8, stored: &'a [u8], limit: usize) -> Result<Self, SvndiffError> {
        if version == 0 {
            return Ok(Section::Raw(stored));
        }
        let mut payload = stored;
        let len = varint::read(&mut payload).map_err(|_| SvndiffError::SectionSize(version))?;
        let len = usize::try_from(len)
            .ok()
            .filter(|len| *len <= limit)
            .ok_or(SvndiffError::SectionTooLong(version))?;
        Ok(if payload.len() == len {
            Section::Raw(payload)
        } else {
            Section::Packed { len, payload }
        })
    }

    pub(super) fn expanded_len(&self) -> usize {
        match self {
            Section::Raw(bytes) => bytes.len(),
            Section::Packed { len, .. } => *len,
        }
    }
}

impl Codec {
    /// Starts with nothing allocated.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the block "length, then raw or zlib" of `bytes`: raw if they are short, `level` is 0, or zlib
    /// gains nothing. `level` is 0 to 9.
    pub fn write_zlib_block(&mut self, bytes: &[u8], level: u8, out: &mut Vec<u8>) {
        self.write_section(1, level, bytes, out);
    }

    /// Returns the contents of a block made by [`Codec::write_zlib_block`], of at most `limit` bytes.
    ///
    /// # Errors
    /// E185005 for lengths that do not fit, E140001 for a damaged zlib stream.
    pub fn read_zlib_block(&mut self, block: &[u8], limit: usize) -> Result<Vec<u8>, SvndiffError> {
        let section = Section::parse(1, block, limit)?;
        let mut out = Vec::new();
        Inflate(&mut self.inflater).expand(1, section, &mut out)?;
        Ok(out)
    }

    /// Appends a section in the form of `version`, with its length prefix if it has one; raw if `level` is 0.
    pub(super) fn write_section(&mut self, version: u8, level: u8, bytes: &[u8], out: &mut Vec<u8>) {
        if version == 0 {
            out.extend_from_slice(bytes);
            return;
        }
        varint::write(bytes.len() as u64, out);
        let start = out.len();
        let packed_len = match version {
            _ if level == 0 => None,
            1 if bytes.len() < MIN_ZLIB => None,
            1 => self.deflate(bytes, level, out),
            _ => self.lz4(bytes, out),
        };
        match packed_len {
            Some(len) => out.truncate(start + len),
            None => {
                out.truncate(start);
                out.extend_from_slice(bytes);
            }
        }
    }

    /// Appends the zlib stream; `None` if it is not shorter than `bytes`.
    fn deflate(&mut self, bytes: &[u8], level: u8, out: &mut Vec<u8>) -> Option<usize> {
        let level = level.min(9);
        let deflater = match &mut self.deflater {
            Some((at, deflater)) if *at == level => deflater,
            slot => {
                let lvl = CompressionLvl::new(i32::from(level)).unwrap_or_default();
                &mut slot.insert((level, Compressor::new(lvl))).1
            }
        };
        let start = out.len();
        // The buffer has no room for a larger stream: the compressor then gives up by itself.
        out.resize(start + bytes.len() - 1, 0);
        deflater.zlib_compress(bytes, &mut out[start..]).ok()
    }

    /// Appends the LZ4 block; `None` if it is not shorter than `bytes`.
    fn lz4(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let block = self.lz4_block(bytes)?;
        out.extend_from_slice(block);
        Some(block.len())
    }

    /// Makes the LZ4 block in a buffer of this codec; `None` if it is not shorter than `bytes`.
    pub(super) fn lz4_block(&mut self, bytes: &[u8]) -> Option<&[u8]> {
        // A block of less than 13 bytes holds no match, so it is longer than its text.
        if bytes.len() < 13 {
            return None;
        }
        let table = if bytes.len() < usize::from(u16::MAX) {
            self.lz4_small.get_or_insert_with(CompressTable::small)
        } else {
            self.lz4_large.get_or_insert_with(CompressTable::large)
        };
        // The room for the worst case is zeroed once, not for each section.
        let room = get_maximum_output_size(bytes.len());
        if self.lz4_out.len() < room {
            self.lz4_out.resize(room, 0);
        }
        let len = compress_into_with_table(bytes, &mut self.lz4_out[..room], table).ok()?;
        (len < bytes.len()).then(|| &self.lz4_out[..len])
    }

    /// The parts of the codec that reading borrows separately.
    pub(super) fn reading(&mut self) -> (Inflate<'_>, &mut Vec<u8>, &mut Vec<u8>) {
        (
            Inflate(&mut self.inflater),
            &mut self.instructions,
            &mut self.new_data,
        )
    }
}

/// The decompressor, borrowed apart from the buffers.
pub(super) struct Inflate<'a>(&'a mut Option<Decompressor>);

impl Inflate<'_> {
    /// Returns the section's bytes: in place if raw, else expanded into `scratch`.
    pub(super) fn borrow<'s>(
        &mut self,
        version: u8,
        section: Section<'s>,
        scratch: &'s mut Vec<u8>,
    ) -> Result<&'s [u8], SvndiffError> {
        let (len, payload) = match section {
            Section::Raw(bytes) => return Ok(bytes),
            Section::Packed { len, payload } => (len, payload),
        };
        check_ratio(len, payload)?;
        // The bytes of the previous use are overwritten, not zeroed first.
        if scratch.len() < len {
            scratch.resize(len, 0);
        }
        self.unpack(version, payload, &mut scratch[..len])?;
        Ok(&scratch[..len])
    }

    /// Appends the section's bytes; after a failure the end of `out` is undefined.
    pub(super) fn expand(
        &mut self,
        version: u8,
        section: Section<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), SvndiffError> {
        let (len, payload) = match section {
            Section::Raw(bytes) => {
                out.extend_from_slice(bytes);
                return Ok(());
            }
            Section::Packed { len, payload } => (len, payload),
        };
        check_ratio(len, payload)?;
        let start = out.len();
        out.resize(start + len, 0);
        self.unpack(version, payload, &mut out[start..])
    }

    /// Fills `out`, whose length is the section's announced length.
    fn unpack(&mut self, version: u8, payload: &[u8], out: &mut [u8]) -> Result<(), SvndiffError> {
        let made = if version == 1 {
            self.0
                .get_or_insert_with(Decompressor::new)
                .zlib_decompress(payload, out)
                .map_err(|error| match error {
                    DecompressionError::BadData => SvndiffError::Zlib,
                    DecompressionError::InsufficientSpace => SvndiffError::SectionLength,
                })?
        } else if lz4_block::has_long_runs(payload, out.len()) {
            lz4_block::expand(payload, out).ok_or(SvndiffError::Lz4)?
        } else {
            lz4_flex::block::decompress_into(payload, out).map_err(|_| SvndiffError::Lz4)?
        };
        match made == out.len() {
            true => Ok(()),
            false => Err(SvndiffError::SectionLength),
        }
    }
}

/// Neither format packs more than this, so an absurd length costs no memory.
fn check_ratio(len: usize, payload: &[u8]) -> Result<(), SvndiffError> {
    match len / MAX_RATIO > payload.len() {
        true => Err(SvndiffError::SectionLength),
        false => Ok(()),
    }
}
