//! The variable-length integers of svndiff: unsigned, most significant seven bits first, bit 7 set on every byte
//! but the last. FSFS's packed revision properties use the same form.
//!
//! Decoders take non-minimal forms as long as they fit ten bytes and 64 bits; the encoder writes the shortest.

/// Longest form, bytes.
pub const MAX_LEN: usize = 10;

/// Why no integer could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VarintFault {
    /// The bytes end inside the integer.
    Incomplete,
    /// More than ten bytes or more than 64 bits.
    Overflow,
}

/// Reads an integer from the front of `bytes` and moves `bytes` behind it; leaves `bytes` alone on failure.
///
/// # Errors
/// [`VarintFault`].
#[inline]
pub fn read(bytes: &mut &[u8]) -> Result<u64, VarintFault> {
    match **bytes {
        [low, ref rest @ ..] if low < 0x80 => {
            *bytes = rest;
            Ok(u64::from(low))
        }
        [high, low, ref rest @ ..] if low < 0x80 => {
            *bytes = rest;
            Ok(u64::from(high & 0x7f) << 7 | u64::from(low))
        }
        _ => read_long(bytes),
    }
}

fn read_long(bytes: &mut &[u8]) -> Result<u64, VarintFault> {
    let mut value = 0u64;
    for (at, byte) in bytes.iter().take(MAX_LEN).enumerate() {
        if value >> (64 - 7) != 0 {
            return Err(VarintFault::Overflow);
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            *bytes = &bytes[at + 1..];
            return Ok(value);
        }
    }
    Err(if bytes.len() < MAX_LEN {
        VarintFault::Incomplete
    } else {
        VarintFault::Overflow
    })
}

/// Appends the shortest form of `value`.
#[inline]
pub fn write(value: u64, out: &mut Vec<u8>) {
    if value < 0x80 {
        out.push(value as u8);
        return;
    }
    for group in (0..len(value)).rev() {
        let more = if group > 0 { 0x80 } else { 0 };
        out.push((value >> (7 * group)) as u8 & 0x7f | more);
    }
}

/// Length of the shortest form of `value`, bytes.
pub fn len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_forms() {
        let mut out = Vec::new();
        for value in [0, 127, 128, 130, 6245, u64::MAX] {
            out.clear();
            write(value, &mut out);
            assert_eq!(out.len(), len(value));
            assert_eq!(read(&mut &out[..]), Ok(value));
        }
        out.clear();
        write(130, &mut out);
        assert_eq!(out, [0x81, 0x02]);
    }

    #[test]
    fn unusual_forms() {
        let padded = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x81, 0x02, 9];
        let mut rest = &padded[..];
        assert_eq!(read(&mut rest), Ok(130));
        assert_eq!(rest, [9]);
        assert_eq!(read(&mut &[][..]), Err(VarintFault::Incomplete));
        assert_eq!(read(&mut &[0x80; 9][..]), Err(VarintFault::Incomplete));
        assert_eq!(read(&mut &[0x80; 10][..]), Err(VarintFault::Overflow));
        assert_eq!(read(&mut &[0x80; 11][..]), Err(VarintFault::Overflow));
        let mut over = [0xff; 10];
        over[9] = 0x7f;
        assert_eq!(read(&mut &over[..]), Err(VarintFault::Overflow));
    }

    proptest! {
        #[test]
        fn round_trip(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let mut out = Vec::new();
            write(value, &mut out);
            prop_assert_eq!(out.len(), len(value));
            let mut rest = &out[..];
            prop_assert_eq!(read(&mut rest), Ok(value));
            prop_assert!(rest.is_empty());
            prop_assert_eq!(read(&mut &out[..out.len() - 1]), Err(VarintFault::Incomplete));
        }
    }
}
