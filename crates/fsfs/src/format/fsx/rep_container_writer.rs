//! [`RepContainerWriter`]: makes a [container of representations](super::rep_container).
//!
//! A text is cut where parts of it are in the corpus already: its bytes are compared with blocks of the corpus, which are
//! indexed by a checksum that rolls. Where the next bytes of the text are a block, the match is grown both ways. The rest of the
//! text is added to the corpus. So of similar texts, the first is in the corpus whole, and of the others what differs.
//!
//! Instructions that run other instructions are read by the incumbent, but it makes none, and neither does this writer.

use base::{common_prefix, common_suffix};

use super::packed_writer::{Coding, PackedWriter};

/// Length of the indexed pieces of the corpus, bytes.
const BLOCK: usize = 64;

/// The most slots that a look-up visits. It bounds the cost of texts that are made for it.
const MAX_PROBES: usize = 32;

/// The factor of the checksum, whose digits are bytes.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// What the first byte of a block counts in its checksum.
const LEAVING: u64 = FACTOR.wrapping_pow(BLOCK as u32 - 1);

/// A container that is being made.
pub(crate) struct RepContainerWriter {
    corpus: Vec<u8>,
    /// The first instruction of each text.
    starts: Vec<u64>,
    offsets: Vec<u64>,
    counts: Vec<u64>,
    /// The numbers + 1 of blocks of the corpus, 0 for a free slot. A power of two of slots, at most half full.
    slots: Vec<u32>,
    /// The number of blocks in them.
    blocks: usize,
}

impl RepContainerWriter {
    pub(crate) fn new() -> Self {
        RepContainerWriter {
            corpus: Vec::new(),
            starts: Vec::new(),
            offsets: Vec::new(),
            counts: Vec::new(),
            slots: vec![0; 256],
            blocks: 0,
        }
    }

    /// The number of texts.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The bytes that the container takes before it is compressed, roughly.
    pub(crate) fn size(&self) -> usize {
        self.corpus.len() + BYTES_PER_NUMBER * (self.starts.len() + 2 * self.counts.len())
    }

    /// Adds a text; its number is that of the texts before it.
    pub(crate) fn push(&mut self, text: &[u8]) {
        self.starts.push(self.counts.len() as u64);
        let (mut done, mut at) = (0, 0);
        let mut sum = text.first_chunk().map(checksum);
        while let Some(current) = sum {
            match self.find(current, &text[at..at + BLOCK]) {
                Some(from) => {
                    let after = common_prefix(&self.corpus[from + BLOCK..], &text[at + BLOCK..]);
                    let before = common_suffix(&self.corpus[..from], &text[done..at]);
                    self.insert(&text[done..at - before]);
                    self.copy(from - before, before + BLOCK + after);
                    at += BLOCK + after;
                    done = at;
                    sum = text[at..].first_chunk().map(checksum);
                }
                None => {
                    let entering = text.get(at + BLOCK);
                    sum = entering.map(|entering| rolled(current, text[at], *entering));
                    at += 1;
                }
            }
        }
        self.insert(&text[done..]);
        self.index();
    }

    /// Appends the container.
    pub(crate) fn finish(mut self, out: &mut Vec<u8>) {
        self.starts.push(self.counts.len() as u64);
        let mut writer = PackedWriter::default();
        writer.table(&[
            (&[], Coding::SignedDifferences),
            (&[], Coding::Differences),
            (&[], Coding::Differences),
            (&[], Coding::Differences),
        ]);
        writer.column(&self.starts, true);
        writer.table(&[
            (&self.offsets, Coding::SignedDifferences),
            (&self.counts, Coding::Plain),
        ]);
        writer.column(&[0], false);
        writer.strings(&[&self.corpus]);
        writer.finish(out);
    }

    fn insert(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.copy(self.corpus.len(), bytes.len());
            self.corpus.extend_from_slice(bytes);
        }
    }

    fn copy(&mut self, offset: usize, length: usize) {
        self.offsets.push(offset as u64);
        self.counts.push(length as u64);
    }

    /// Adds the new whole blocks of the corpus to the slots.
    fn index(&mut self) {
        let (blocks, _) = self.corpus.as_chunks::<BLOCK>();
        if 2 * blocks.len() > self.slots.len() {
            self.slots = vec![0; (4 * blocks.len()).next_power_of_two()];
            self.blocks = 0;
        }
        let mask = self.slots.len() - 1;
        for (number, block) in blocks.iter().enumerate().skip(self.blocks) {
            let mut slot = slot_of(checksum(block), mask);
            for _ in 0..MAX_PROBES {
                match self.slots[slot] {
                    0 => {
                        self.slots[slot] = number as u32 + 1;
                        break;
                    }
                    // Of equal blocks the first one counts.
                    other if blocks[other as usize - 1] == *block => break,
                    _ => slot = (slot + 1) & mask,
                }
            }
        }
        self.blocks = blocks.len();
    }

    /// The offset in the corpus of a block with these bytes.
    fn find(&self, sum: u64, bytes: &[u8]) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut slot = slot_of(sum, mask);
        for _ in 0..MAX_PROBES {
            let from = (self.slots[slot] as usize).checked_sub(1)? * BLOCK;
            if self.corpus[from..from + BLOCK] == *bytes {
                return Some(from);
            }
            slot = (slot + 1) & mask;
        }
        None
    }
}

/// A guess.
const BYTES_PER_NUMBER: usize = 3;

fn checksum(block: &[u8; BLOCK]) -> u64 {
    block.iter().fold(0, |sum: u64, byte| {
        sum.wrapping_mul(FACTOR).wrapping_add(u64::from(*byte))
    })
}

/// The checksum of the block that begins one byte later.
fn rolled(sum: u64, leaving: u8, entering: u8) -> u64 {
    let rest = sum.wrapping_sub(LEAVING.wrapping_mul(u64::from(leaving)));
    rest.wrapping_mul(FACTOR).wrapping_add(u64::from(entering))
}

fn slot_of(sum: u64, mask: usize) -> usize {
    // The high bits depend on all bytes.
    (sum.wrapping_mul(FACTOR) >> 32) as usize & mask
}

#[cfg(test)]
mod tests {
    use super::super::rep_container::RepContainer;
    use super::*;
    use proptest::prelude::*;

    fn check(texts: &[Vec<u8>]) -> usize {
        let mut writer = RepContainerWriter::new();
        texts.iter().for_each(|text| writer.push(text));
        assert_eq!(writer.len(), texts.len());
        let corpus = writer.corpus.len();
        let mut bytes = Vec::new();
        writer.finish(&mut bytes);
        let container = RepContainer::decode(&bytes).expect("what was written");
        assert_eq!(container.len(), texts.len());
        for (at, text) in (0..).zip(texts) {
            assert!(
                container.read(at, 0, usize::MAX).expect("a text") == *text,
                "{at}"
            );
        }
        corpus
    }

    #[test]
    fn the_bytes_of_a_small_container() {
        let mut writer = RepContainerWriter::new();
        [&b"ab"[..], b"", b"c"].iter().for_each(|text| writer.push(text));
        let mut bytes = Vec::new();
        writer.finish(&mut bytes);
        let structure = b"\x26\x05\x10\x00\x00\x03\x00\x00\x01\x00\x00\x01\x00\x00\x01\x00\x00\
            \x01\x04\x04\x08\x04\x00\x03\x02\x02\x00\x02\x02\x00\x01\x01\x00\x01\x01\x01\x00\x04\x03";
        let payloads =
            b"\x01\x00\x05\x04\x00\x02\x00\x02\x05\x04\x00\x04\x02\x01\x02\x01\x00\x02\x01\x03\x04\x03abc";
        assert_eq!(bytes, [&structure[..], payloads].concat());
    }

    #[test]
    fn a_container_of_the_incumbent_is_not_written_longer() {
        const SEED: &[u8] = include_bytes!("../../../../../fuzz/seeds/fsx_containers/reps");
        let container = RepContainer::decode(SEED).expect("a container");
        let mut writer = RepContainerWriter::new();
        for at in 0..container.len() as u64 {
            writer.push(&container.read(at, 0, usize::MAX).expect("a text"));
        }
        let mut bytes = Vec::new();
        writer.finish(&mut bytes);
        assert!(bytes.len() <= SEED.len(), "{} {}", bytes.len(), SEED.len());
    }

    #[test]
    fn checksums_roll() {
        let text: Vec<u8> = (0..1_000u32).map(|at| (at * at % 251) as u8).collect();
        let mut sum = checksum(text.first_chunk().expect("longer"));
        for (at, block) in text.array_windows().enumerate().take(text.len() - BLOCK) {
            assert_eq!(sum, checksum(block));
            sum = rolled(sum, text[at], text[at + BLOCK]);
        }
    }

    #[test]
    fn similar_texts_share_the_corpus() {
        let mut random = 1u32;
        let mut noise = |length: usize| -> Vec<u8> {
            let mut next = || {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (random >> 24) as u8
            };
            (0..length).map(|_| next()).collect()
        };
        let first = noise(100_000);
        let mut edited = first.clone();
        edited.splice(50_000..50_003, *b"inserted");
        edited[70_000] ^= 1;
        let joined = [&first[..1000], &noise(500), &first[99_000..]].concat();
        let corpus = check(&[first.clone(), edited, Vec::new(), joined, first]);
        assert!((100_500..100_520).contains(&corpus), "{corpus}");
        // One block without end.
        assert!(check(&[vec![0; 100_000], vec![0; 70_000]]) <= 100_000);
    }

    proptest! {
        #[test]
        fn every_container_is_read_as_it_was_written(
            texts in prop::collection::vec(prop::collection::vec(0u8..2, 0..700), 0..12),
            order in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let mut texts = texts;
            for at in order {
                if texts.is_empty() {
                    break;
                }
                let (one, other) = (at.get(&texts).clone(), texts[0].clone());
                texts.push([&one[one.len() / 3..], &other].concat());
            }
            check(&texts);
        }
    }
}
