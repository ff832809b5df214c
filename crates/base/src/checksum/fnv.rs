//! The checksum of stored items: FNV-1a, 32 bits, in four interleaved chains.
//!
//! Each chain is one multiplication per byte, which waits for the one before, so four chains just keep a scalar
//! multiplier busy. In vector registers the same loop takes twice as long, but compilers prefer it. The chains are
//! therefore 64 bits wide: vector multiplications of that width are too slow for the compiler to choose them. The
//! upper halves never affect the lower ones and are dropped at the end.

const BASIS: u32 = 0x811c_9dc5;

const PRIME: u32 = 0x0100_0193;

/// Checksum of a stored item (format 7 and later): four interleaved 32-bit FNV-1a hashes over the bytes whose
/// position is 0, 1, 2, 3 modulo 4, then plain FNV-1a over the four results (big-endian) and the 0 to 3 bytes left.
pub fn fnv1a_32x4(bytes: &[u8]) -> u32 {
    let mut stream = FnvStream::new();
    stream.update(bytes);
    stream.finish()
}

/// A checksum of [`fnv1a_32x4`] that is being computed.
#[derive(Clone, Debug)]
pub struct FnvStream {
    /// The four chains; their upper halves have no meaning.
    lanes: [u64; 4],
    /// The 0 to 3 bytes that are not in a chain yet.
    rest: [u8; 4],
    rest_len: usize,
}

impl Default for FnvStream {
    fn default() -> Self {
        FnvStream {
            lanes: [u64::from(BASIS); 4],
            rest: [0; 4],
            rest_len: 0,
        }
    }
}

impl FnvStream {
    /// Starts with no bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        if self.rest_len > 0 {
            let taken = bytes.len().min(4 - self.rest_len);
            self.rest[self.rest_len..self.rest_len + taken].copy_from_slice(&bytes[..taken]);
            self.rest_len += taken;
            bytes = &bytes[taken..];
            if self.rest_len < 4 {
                return;
            }
            self.lanes = quads(self.lanes, &[self.rest]);
            self.rest_len = 0;
        }
        let (fours, rest) = bytes.as_chunks::<4>();
        self.lanes = quads(self.lanes, fours);
        self.rest[..rest.len()].copy_from_slice(rest);
        self.rest_len = rest.len();
    }

    /// Returns the checksum of all bytes added.
    pub fn finish(self) -> u32 {
        let chains = self.lanes.map(|chain| (chain as u32).to_be_bytes());
        plain(plain(BASIS, chains.as_flattened()), &self.rest[..self.rest_len])
    }
}

fn quads([mut a, mut b, mut c, mut d]: [u64; 4], fours: &[[u8; 4]]) -> [u64; 4] {
    for four in fours {
        a = (a ^ u64::from(four[0])).wrapping_mul(PRIME.into());
        b = (b ^ u64::from(four[1])).wrapping_mul(PRIME.into());
        c = (c ^ u64::from(four[2])).wrapping_mul(PRIME.into());
        d = (d ^ u64::from(four[3])).wrapping_mul(PRIME.into());
    }
    [a, b, c, d]
}

fn plain(hash: u32, bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(hash, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_same_as_the_whole() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in 0..40 {
            let whole = fnv1a_32x4(&bytes[..length]);
            for cut in 0..=length {
                for second in cut..=length {
                    let mut stream = FnvStream::new();
                    stream.update(&bytes[..cut]);
                    stream.update(&bytes[cut..second]);
                    stream.update(&bytes[second..length]);
                    assert_eq!(stream.finish(), whole, "{length} {cut} {second}");
                }
            }
        }
    }
}
