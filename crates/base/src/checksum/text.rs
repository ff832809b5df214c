//! The digests of a text that is stored: MD5, and SHA-1 where the format records it, in one pass.
//!
//! One after the other they cost the sum. With their instructions interleaved they cost as much as MD5 (`pair_x86`). A
//! processor without the instructions computes them one after the other.

use super::block_functions::BlockFunctions;
use super::md5_lanes::Md5State;
use super::{Md5, Md5Stream, Sha1};

/// A SHA-1 digest that is being computed.
pub(super) type Sha1State = [u32; 5];

/// The state of an empty text.
const START: Sha1State = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

/// The digests of one text that are being computed.
#[derive(Clone, Default)]
pub struct TextDigests {
    /// Counts the bytes and holds those of an incomplete block, also for SHA-1, whose blocks are as long.
    md5: Md5Stream,
    sha1: Option<Sha1State>,
}

impl TextDigests {
    /// Starts with no bytes.
    pub fn new(with_sha1: bool) -> Self {
        TextDigests {
            md5: Md5Stream::new(),
            sha1: with_sha1.then_some(START),
        }
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let sha1 = &mut self.sha1;
        self.md5
            .update_with(bytes, |md5, blocks| compress(md5, sha1, blocks));
    }

    /// Returns the digests of all bytes added; SHA-1 if it was asked for.
    pub fn finish(mut self) -> (Md5, Option<Sha1>) {
        if let Some(state) = &mut self.sha1 {
            let (tail, tail_len) = self.md5.tail(u64::to_be_bytes);
            sha1::block_api::compress(state, tail[..tail_len].as_chunks().0);
        }
        let sha1 = self.sha1.map(|state| {
            let mut out = [0; 20];
            for (bytes, word) in out.chunks_exact_mut(4).zip(state) {
                bytes.copy_from_slice(&word.to_be_bytes());
            }
            Sha1(out)
        });
        (self.md5.finish(), sha1)
    }
}

fn compress(md5: &mut Md5State, sha1: &mut Option<Sha1State>, blocks: &[u8]) {
    let functions = BlockFunctions::get();
    match sha1 {
        None => functions.compress_one(md5, blocks),
        Some(sha1) => functions.compress_pair(md5, sha1, blocks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &[u8], piece: usize) -> (Md5, Option<Sha1>) {
        let mut digests = TextDigests::new(true);
        text.chunks(piece).for_each(|piece| digests.update(piece));
        digests.finish()
    }

    #[test]
    fn every_length_around_the_blocks() {
        let text: Vec<u8> = (0..400u32).map(|i| (i * i / 7) as u8).collect();
        for length in 0..text.len() {
            let text = &text[..length];
            let expected = (Md5::of(text), Some(Sha1::of(text)));
            for piece in [1000, 64, 63, 1] {
                assert_eq!(of(text, piece), expected, "{length} bytes, {piece} at a time");
            }
        }
    }

    #[test]
    fn without_sha1_there_is_none() {
        let mut digests = TextDigests::new(false);
        digests.update(b"END\n");
        assert_eq!(digests.finish(), (Md5::of(b"END\n"), None));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn as_one_after_the_other(text in proptest::collection::vec(any::<u8>(), 0..3000), piece in 1usize..700) {
            prop_assert_eq!(of(&text, piece), (Md5::of(&text), Some(Sha1::of(&text))));
        }
    }
}
