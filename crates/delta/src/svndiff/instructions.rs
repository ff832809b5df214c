//! Instruction bytes <-> [`Op`]: two bits of opcode, six bits of length (or an integer behind them), an offset.

use super::{SvndiffError, varint};
use crate::window::Op;

/// Reads instructions in order. The applier checks their ranges; here an offset or length beyond 32 bits becomes
/// `u32::MAX`, which no view allows.
pub(super) struct Instructions<'a> {
    bytes: &'a [u8],
    next: u32,
}

impl<'a> Instructions<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Instructions { bytes, next: 0 }
    }

    /// Returns the length, if the section is one insertion of more than 0 bytes.
    pub(super) fn single_insertion(bytes: &[u8]) -> Option<u32> {
        let mut all = Instructions::new(bytes);
        match all.next() {
            Some(Ok(Op::New { len })) if len > 0 && all.bytes.is_empty() => Some(len),
            _ => None,
        }
    }

    #[inline]
    fn int(&mut self) -> Result<u32, SvndiffError> {
        varint::read(&mut self.bytes)
            .map(|value| u32::try_from(value).unwrap_or(u32::MAX))
            .map_err(|_| SvndiffError::Undecodable(self.next))
    }

    #[inline]
    fn decode(&mut self, first: u8) -> Result<Op, SvndiffError> {
        let len = match first & 0x3f {
            0 => self.int()?,
            short => u32::from(short),
        };
        let op = match first >> 6 {
            0 => Op::Source {
                offset: self.int()?,
                len,
            },
            1 => Op::Target {
                offset: self.int()?,
                len,
            },
            2 => Op::New { len },
            _ => return Err(SvndiffError::Undecodable(self.next)),
        };
        self.next += 1;
        Ok(op)
    }
}

impl Iterator for Instructions<'_> {
    type Item = Result<Op, SvndiffError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        let op = self.decode(*first);
        if op.is_err() {
            self.bytes = &[];
        }
        Some(op)
    }
}

/// Appends one instruction.
pub(super) fn write(op: Op, out: &mut Vec<u8>) {
    let (opcode, len, offset) = match op {
        Op::Source { offset, len } => (0x00, len, Some(offset)),
        Op::Target { offset, len } => (0x40, len, Some(offset)),
        Op::New { len } => (0x80, len, None),
    };
    if len < 64 {
        out.push(opcode | len as u8);
    } else {
        out.push(opcode);
        varint::write(u64::from(len), out);
    }
    if let Some(offset) = offset {
        varint::write(u64::from(offset), out);
    }
}
