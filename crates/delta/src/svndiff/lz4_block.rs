//! What readers of LZ4 blocks ask of a block beyond being decodable.
//!
//! The format has rules for the end of a block that our decoder does not need and others insist on: the last five bytes are
//! literals, and no match begins in the last twelve. A block that somebody else made is checked before it is stored for
//! others to read.

/// No match reaches into the last bytes.
const LAST_LITERALS: usize = 5;

/// No match begins in the last bytes.
const NO_MATCH: usize = 12;

/// Bytes behind the literals of every sequence but the last: an offset, and a last sequence of no less than this.
const REST: usize = 2 + 1 + LAST_LITERALS;

/// The shortest match.
const MIN_MATCH: usize = 4;

/// True if the block expands to `len` bytes and keeps all rules.
pub(super) fn is_strict(mut block: &[u8], len: usize) -> bool {
    let mut made = 0;
    loop {
        let Some(token) = take(&mut block) else {
            return false;
        };
        let Some(literals) = run(token >> 4, &mut block) else {
            return false;
        };
        let Some(rest) = block.get(literals..) else {
            return false;
        };
        block = rest;
        made += literals;
        if block.is_empty() {
            return made == len;
        }
        if block.len() < REST || made + NO_MATCH > len {
            return false;
        }
        let offset = usize::from(block[0]) | usize::from(block[1]) << 8;
        block = &block[2..];
        let Some(repeated) = run(token & 15, &mut block) else {
            return false;
        };
        if offset == 0 || offset > made {
            return false;
        }
        made += MIN_MATCH + repeated;
        if made + LAST_LITERALS > len {
            return false;
        }
    }
}

/// A length whose first four bits are given.
fn run(first: u8, block: &mut &[u8]) -> Option<usize> {
    let mut length = usize::from(first);
    if first == 15 {
        loop {
            let more = take(block)?;
            // At most 255 for each byte of the block: no overflow.
            length += usize::from(more);
            if more < 255 {
                break;
            }
        }
    }
    Some(length)
}

fn take(block: &mut &[u8]) -> Option<u8> {
    let (first, rest) = block.split_first()?;
    *block = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_compressors_make_is_strict() {
        for (len, step) in [
            (13usize, 1usize),
            (64, 7),
            (1000, 3),
            (102_400, 9),
            (102_400, 4000),
        ] {
            let text: Vec<u8> = (0..len).map(|at| (at / step % 7 + at / 300) as u8).collect();
            let block = lz4_flex::block::compress(&text);
            assert!(is_strict(&block, len), "{len} {step}");
            assert!(!is_strict(&block, len + 1) && !is_strict(&block, len - 1));
            assert!(!is_strict(&block[..block.len() - 1], len));
        }
    }

    #[test]
    fn the_rules_for_the_end_are_kept() {
        let letters = b"abcdefghijkl";
        // Four literals and a match of eight of them, then five literals: 17 bytes, the match begins 13 before the end.
        let good = [&[0x44][..], &letters[..4], &[4, 0], &[0x50], &letters[..5]].concat();
        assert!(is_strict(&good, 17));
        // The same match, one literal less behind it.
        let short_end = [&[0x44][..], &letters[..4], &[4, 0], &[0x40], &letters[..4]].concat();
        assert!(!is_strict(&short_end, 16));
        // A match that begins eleven bytes before the end.
        let late = [&[0x42][..], &letters[..4], &[4, 0], &[0x50], &letters[..5]].concat();
        assert!(!is_strict(&late, 15));
        // It ends with a match, or points before the beginning, or nowhere.
        assert!(!is_strict(
            &[&[0x4f][..], &letters[..4], &[4, 0, 20]].concat(),
            43
        ));
        for offset in [[5, 0], [0, 0]] {
            assert!(!is_strict(
                &[&[0x44][..], &letters[..4], &offset, &[0x50], &letters[..5]].concat(),
                17
            ));
        }
        assert!(!is_strict(&[], 0));
        assert!(is_strict(&[0x30, 1, 2, 3], 3));
    }
}
