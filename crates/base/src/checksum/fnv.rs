//! The checksum of stored items: FNV-1a, 32 bits, in four interleaved chains.

/// Checksum of a stored item (format 7 and later): four interleaved 32-bit FNV-1a hashes over the bytes whose
/// position is 0, 1, 2, 3 modulo 4, then plain FNV-1a over the four results (big-endian) and the 0 to 3 bytes left.
pub fn fnv1a_32x4(bytes: &[u8]) -> u32 {
    let mut lanes = [FNV_BASIS; 4];
    let mut chunks = bytes.chunks_exact(4);
    for chunk in &mut chunks {
        for (lane, byte) in lanes.iter_mut().zip(chunk) {
            *lane = fnv_step(*lane, *byte);
        }
    }
    let mut hash = FNV_BASIS;
    for byte in lanes.iter().flat_map(|lane| lane.to_be_bytes()) {
        hash = fnv_step(hash, byte);
    }
    chunks
        .remainder()
        .iter()
        .fold(hash, |hash, byte| fnv_step(hash, *byte))
}

const FNV_BASIS: u32 = 0x811c_9dc5;

fn fnv_step(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}
