//! The checksum of stored items: FNV-1a, 32 bits, in four interleaved chains.
//!
//! Each chain is a multiplication a byte, one waiting for the other, so four of them keep a scalar multiplier just
//! busy. In vector registers the same loop takes twice as long, but compilers prefer it: the chains are
//! therefore kept in 64 bits, where vector multiplications are too dear to be tempting. The upper halves never
//! flow down and are dropped at the end.

const BASIS: u32 = 0x811c_9dc5;

const PRIME: u32 = 0x0100_0193;

/// Checksum of a stored item (format 7 and later): four interleaved 32-bit FNV-1a hashes over the bytes whose
/// position is 0, 1, 2, 3 modulo 4, then plain FNV-1a over the four results (big-endian) and the 0 to 3 bytes left.
pub fn fnv1a_32x4(bytes: &[u8]) -> u32 {
    let (fours, rest) = bytes.as_chunks::<4>();
    let [mut a, mut b, mut c, mut d] = [u64::from(BASIS); 4];
    for four in fours {
        a = (a ^ u64::from(four[0])).wrapping_mul(PRIME.into());
        b = (b ^ u64::from(four[1])).wrapping_mul(PRIME.into());
        c = (c ^ u64::from(four[2])).wrapping_mul(PRIME.into());
        d = (d ^ u64::from(four[3])).wrapping_mul(PRIME.into());
    }
    let chains = [a, b, c, d].map(|chain| (chain as u32).to_be_bytes());
    plain(plain(BASIS, chains.as_flattened()), rest)
}

fn plain(hash: u32, bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(hash, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(PRIME))
}
