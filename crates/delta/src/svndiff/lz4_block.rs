//! LZ4 blocks, sequence by sequence: the rules that other readers require, and the expansion of long runs.
//!
//! A block is a list of sequences: a token with two lengths of four bits, more length bytes where these are 15,
//! literals, and the offset of a match; the last sequence has only literals (see the public description of the LZ4
//! block format).
//!
//! The format has rules for the end of a block that this decoder does not need and others require: the last five
//! bytes are literals, and no match begins in the last twelve. A block from another program is checked before it is
//! stored.
//!
//! The library copies a match that overlaps itself byte by byte. Texts with long runs (empty parts of images,
//! padding) spend nearly all their time there, so blocks that expand to many times their size are expanded here.

/// No match reaches into the last bytes.
const LAST_LITERALS: usize = 5;

/// No match begins in the last bytes.
const NO_MATCH: usize = 12;

/// The shortest match.
const MIN_MATCH: usize = 4;

/// A block that expands to at least this many times its size consists of long matches.
const LONG_RUNS: usize = 32;

/// One sequence of a block.
struct Sequence<'a> {
    literals: &'a [u8],
    /// How far back a match begins and how long it is, both in bytes; `None` in the last sequence.
    repeated: Option<(usize, usize)>,
}

impl<'a> Sequence<'a> {
    /// Takes the next sequence from the front of a block; `None` if the block is truncated.
    fn take(block: &mut &'a [u8]) -> Option<Sequence<'a>> {
        let token = take(block)?;
        let literals = run(token >> 4, block)?;
        let (literals, rest) = block.split_at_checked(literals)?;
        *block = rest;
        if rest.is_empty() {
            let repeated = None;
            return Some(Sequence { literals, repeated });
        }
        let offset = usize::from(take(block)?) | usize::from(take(block)?) << 8;
        let repeated = Some((offset, MIN_MATCH + run(token & 15, block)?));
        Some(Sequence { literals, repeated })
    }
}

/// True if the block expands to `len` bytes and keeps all rules.
pub(super) fn is_strict(mut block: &[u8], len: usize) -> bool {
    let mut made = 0;
    while let Some(sequence) = Sequence::take(&mut block) {
        made += sequence.literals.len();
        let Some((offset, repeated)) = sequence.repeated else {
            return made == len;
        };
        if offset == 0 || offset > made || made + NO_MATCH > len {
            return false;
        }
        made += repeated;
        if made + LAST_LITERALS > len {
            return false;
        }
    }
    false
}

/// True if [`expand`] is faster than the library for a block of this size that expands to `len` bytes.
pub(super) fn has_long_runs(block: &[u8], len: usize) -> bool {
    len / LONG_RUNS >= block.len()
}

/// Expands a block into `out` and returns the number of bytes; `None` if it is damaged or expands to more.
pub(super) fn expand(mut block: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut made = 0;
    loop {
        let sequence = Sequence::take(&mut block)?;
        let end = made + sequence.literals.len();
        out.get_mut(made..end)?.copy_from_slice(sequence.literals);
        made = end;
        let Some((offset, repeated)) = sequence.repeated else {
            return Some(made);
        };
        let end = made + repeated;
        if offset == 0 || offset > made || end > out.len() {
            return None;
        }
        // Copies everything that was repeated so far at once: the steps double.
        let start = made - offset;
        while made < end {
            let step = (made - start).min(end - made);
            out.copy_within(start..start + step, made);
            made += step;
        }
    }
}

/// Reads a length whose first four bits are given.
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

    #[test]
    fn runs_are_expanded_as_the_library_expands_them() {
        let mut state = 7_u64;
        let mut below = |end: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % end
        };
        let (mut good, mut damaged) = (0, 0);
        for _ in 0..4000 {
            let mut text = Vec::new();
            for _ in 0..1 + below(4) {
                let period: Vec<u8> = (0..1 + below(20)).map(|_| below(256) as u8).collect();
                let len = below(3000);
                text.extend(period.iter().cycle().take(len));
            }
            let mut block = lz4_flex::block::compress(&text);
            for _ in 0..below(3) {
                let at = below(block.len());
                match below(3) {
                    0 => block.truncate(at + 1),
                    1 => block[at] = below(256) as u8,
                    _ => block.insert(at, below(256) as u8),
                }
            }
            let mut theirs = vec![0; text.len()];
            let mut ours = theirs.clone();
            let length = lz4_flex::block::decompress_into(&block, &mut theirs).ok();
            assert_eq!(expand(&block, &mut ours), length, "{block:?}");
            match length {
                Some(len) => {
                    assert_eq!(&ours[..len], &theirs[..len]);
                    good += 1;
                }
                None => damaged += 1,
            }
        }
        assert!(good > 1000 && damaged > 1000, "{good} {damaged}");
    }
}
