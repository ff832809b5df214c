//! What the database knows of the bytes of an object: a digest of all of them, and a checksum of each block.
//!
//! A block is what a node reads at once ([`BLOCK`] bytes; the last one may be shorter). Its checksum tells each reader whether the object
//! store has returned what was written, so a damaged block is neither served nor kept in a cache.

use flate2::Crc;
use sha2::{Digest as _, Sha256};

use crate::block_cache::BLOCK;

/// The digest and the checksums of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectDigest {
    /// The SHA-256 of all bytes.
    pub(crate) sha256: [u8; 32],
    /// The CRC-32 of each block, 4 bytes each, little-endian: the form in which the database has them.
    pub(crate) blocks: Vec<u8>,
}

/// Makes an [`ObjectDigest`] of bytes that come in parts.
#[derive(Default)]
pub(crate) struct ObjectDigester {
    sha256: Sha256,
    blocks: Vec<u8>,
    /// Of the block that is not complete.
    crc: Crc,
}

impl ObjectDigester {
    /// Takes the next bytes.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        self.sha256.update(bytes);
        while !bytes.is_empty() {
            let missing = BLOCK as usize - self.crc.amount() as usize;
            let (now, rest) = bytes.split_at(missing.min(bytes.len()));
            self.crc.update(now);
            bytes = rest;
            if u64::from(self.crc.amount()) == BLOCK {
                self.end_block();
            }
        }
    }

    /// Returns the digest of all bytes that were taken.
    pub(crate) fn finish(mut self) -> ObjectDigest {
        if self.crc.amount() > 0 {
            self.end_block();
        }
        ObjectDigest {
            sha256: self.sha256.finalize().into(),
            blocks: self.blocks,
        }
    }

    fn end_block(&mut self) {
        self.blocks.extend_from_slice(&self.crc.sum().to_le_bytes());
        self.crc.reset();
    }
}

/// Returns the digest of bytes.
pub(crate) fn digest_of_bytes(bytes: &[u8]) -> ObjectDigest {
    let mut digester = ObjectDigester::default();
    digester.update(bytes);
    digester.finish()
}

/// Returns the checksum of a block, as [`ObjectDigest::blocks`] has it; `None` if that is not known.
pub(crate) fn block_checksum(blocks: &[u8], number: u64) -> Option<u32> {
    let number = usize::try_from(number).ok()?;
    blocks
        .as_chunks::<4>()
        .0
        .get(number)
        .map(|bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_any_length_give_the_checksums_of_blocks() {
        let block = BLOCK as usize;
        let bytes: Vec<u8> = (0..3 * block + 5).map(|at| (at * 7 + at / 300) as u8).collect();
        for length in [0, 1, block - 1, block, block + 1, 3 * block, bytes.len()] {
            let bytes = &bytes[..length];
            let whole = digest_of_bytes(bytes);
            assert_eq!(whole.sha256, <[u8; 32]>::from(Sha256::digest(bytes)));
            for (number, part) in bytes.chunks(block).enumerate() {
                let mut crc = Crc::new();
                crc.update(part);
                assert_eq!(
                    block_checksum(&whole.blocks, number as u64),
                    Some(crc.sum()),
                    "{length}"
                );
            }
            assert_eq!(block_checksum(&whole.blocks, length.div_ceil(block) as u64), None);
            for part in [1 << 12, 777_777, 2 * block, 5 * block] {
                let mut digester = ObjectDigester::default();
                bytes.chunks(part).for_each(|part| digester.update(part));
                assert_eq!(digester.finish(), whole, "{length} in parts of {part}");
            }
        }
    }
}
