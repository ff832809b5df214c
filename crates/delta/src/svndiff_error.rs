//! The faults of a delta, each with Subversion's number.

use std::fmt;

use base::{Code, Error};

/// Why a delta cannot be read or applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SvndiffError {
    /// The document does not start with `SVN` and a known version.
    Header,
    /// A source or target view, or a section, is longer than any that may be written.
    TooLong,
    /// The header of a window holds an integer of more than ten bytes.
    HeaderTooLong,
    /// The source view starts or ends beyond the largest file offset.
    CorruptHeader,
    /// The source view starts or ends before the previous one did.
    BackwardView,
    /// The instruction of this number (from 0) cannot be decoded.
    Undecodable(u32),
    /// The instruction has length 0.
    ZeroLength(u32),
    /// The instruction would write beyond the target view.
    TargetOverflow(u32),
    /// The instruction copies from outside the source view.
    SourceOverflow(u32),
    /// The instruction copies from target bytes that do not exist yet.
    TargetAhead(u32),
    /// The instruction takes more new data than there is.
    NewDataMissing(u32),
    /// New data is left after the last instruction.
    NewDataLeft,
    /// The instructions do not fill the target view.
    TargetShort,
    /// The document ends inside its header or a window.
    UnexpectedEnd,
    /// A section of a document of this version has no readable size.
    SectionSize(u8),
    /// A section of a document of this version claims to be longer than any that may be written.
    SectionTooLong(u8),
    /// A compressed section does not have the length that it claims.
    SectionLength,
    /// The zlib stream of a section is damaged.
    Zlib,
    /// The LZ4 block of a section is damaged.
    Lz4,
}

impl SvndiffError {
    /// Subversion's number.
    pub fn code(self) -> Code {
        match self {
            Self::Header => Code::SVNDIFF_INVALID_HEADER,
            Self::TooLong | Self::HeaderTooLong | Self::CorruptHeader => Code::SVNDIFF_CORRUPT_WINDOW,
            Self::BackwardView => Code::SVNDIFF_BACKWARD_VIEW,
            Self::Undecodable(_)
            | Self::ZeroLength(_)
            | Self::TargetOverflow(_)
            | Self::SourceOverflow(_)
            | Self::TargetAhead(_)
            | Self::NewDataMissing(_)
            | Self::NewDataLeft
            | Self::TargetShort => Code::SVNDIFF_INVALID_OPS,
            Self::UnexpectedEnd => Code::SVNDIFF_UNEXPECTED_END,
            Self::SectionSize(_) | Self::SectionTooLong(_) | Self::SectionLength => {
                Code::SVNDIFF_INVALID_COMPRESSED_DATA
            }
            Self::Zlib => Code::STREAM_MALFORMED_DATA,
            Self::Lz4 => Code::LZ4_DECOMPRESSION_FAILED,
        }
    }
}

impl fmt::Display for SvndiffError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("Svndiff has invalid header"),
            Self::TooLong => f.write_str("Svndiff contains a too-large window"),
            Self::HeaderTooLong => f.write_str("Svndiff contains a too-large window header"),
            Self::CorruptHeader => f.write_str("Svndiff contains corrupt window header"),
            Self::BackwardView => f.write_str("Svndiff has backwards-sliding source views"),
            Self::Undecodable(n) => write!(f, "Invalid diff stream: insn {n} cannot be decoded"),
            Self::ZeroLength(n) => write!(f, "Invalid diff stream: insn {n} has length zero"),
            Self::TargetOverflow(n) => write!(f, "Invalid diff stream: insn {n} overflows the target view"),
            Self::SourceOverflow(n) => {
                write!(f, "Invalid diff stream: [src] insn {n} overflows the source view")
            }
            Self::TargetAhead(n) => {
                write!(
                    f,
                    "Invalid diff stream: [tgt] insn {n} starts beyond the target view position"
                )
            }
            Self::NewDataMissing(n) => {
                write!(
                    f,
                    "Invalid diff stream: [new] insn {n} overflows the new data section"
                )
            }
            Self::NewDataLeft => f.write_str("Delta does not contain enough new data"),
            Self::TargetShort => f.write_str("Delta does not fill the target window"),
            Self::UnexpectedEnd => f.write_str("Unexpected end of svndiff input"),
            Self::SectionSize(1) => f.write_str("Decompression of zlib compressed data failed: no size"),
            Self::SectionSize(_) => f.write_str("Decompression of compressed data failed: no size"),
            Self::SectionTooLong(1) => {
                f.write_str("Decompression of zlib compressed data failed: size too large")
            }
            Self::SectionTooLong(_) => f.write_str("Decompression of compressed data failed: size too large"),
            Self::SectionLength => {
                f.write_str("Size of uncompressed data does not match stored original length")
            }
            Self::Zlib => {
                f.write_str("zlib (uncompress): corrupt data: Decompression of svndiff data failed")
            }
            Self::Lz4 => f.write_str("LZ4 decompression failed"),
        }
    }
}

impl std::error::Error for SvndiffError {}

impl From<SvndiffError> for Error {
    fn from(error: SvndiffError) -> Self {
        Error::new(error.code(), error.to_string())
    }
}
