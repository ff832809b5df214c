//! Chooses the block functions of MD5 and SHA-1 for this processor.
//!
//! Each [`InstructionSet`] that the processor has gives candidates: for one text, for MD5 and SHA-1 of one text together, and
//! for up to sixteen texts side by side. Which one is fastest differs between processors with equal features, and depends on
//! the number of texts. So the first use measures all candidates, in about a tenth of a millisecond, and keeps the fastest ones
//! for the life of the process. The digests do not depend on the choice.
//!
//! Only the call of a function for a detected processor is `unsafe`, and all such calls are here.

use std::fmt;
use std::sync::OnceLock;
#[expect(
    clippy::disallowed_types,
    reason = "compares the speeds of functions; no result depends on it"
)]
use std::time::Instant;

use super::md5_lanes::{self, BLOCK, LANES, Md5State};
use super::text::Sha1State;

/// Instructions that the digests may use. Each set contains the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionSet {
    /// What every processor of the architecture has.
    Portable,
    /// AVX2 of x86.
    Avx2,
    /// AVX-512 (F and VL) of x86.
    Avx512,
}

impl InstructionSet {
    /// All sets.
    pub const ALL: [InstructionSet; 3] = [
        InstructionSet::Portable,
        InstructionSet::Avx2,
        InstructionSet::Avx512,
    ];

    /// Returns whether this processor has the instructions.
    pub fn is_available(self) -> bool {
        match self {
            InstructionSet::Portable => true,
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => {
                std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// Returns whether functions with the instructions of `other` may be used under this limit, on this processor.
    #[cfg(target_arch = "x86_64")]
    fn includes(self, other: InstructionSet) -> bool {
        self >= other && other.is_available()
    }

    /// Returns the set of this name: `portable`, `avx2` or `avx512`.
    pub fn parse(name: &str) -> Option<InstructionSet> {
        InstructionSet::ALL.into_iter().find(|set| set.name() == name)
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            InstructionSet::Portable => "portable",
            InstructionSet::Avx2 => "avx2",
            InstructionSet::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Adds the whole blocks of one text.
type OneFunction = fn(&mut Md5State, &[u8]);
/// Adds the whole blocks of one text to both digests.
type PairFunction = fn(&mut Md5State, &mut Sha1State, &[u8]);
/// Adds the first `count` blocks (third parameter) of the first `active` texts (fourth) to the states of the same numbers.
/// All texts must be as long.
type LanesFunction = fn(&mut [Md5State; LANES], &[&[u8]; LANES], usize, usize);

/// The chosen block functions.
#[derive(Clone, Copy)]
pub(super) struct BlockFunctions {
    one: OneFunction,
    pair: PairFunction,
    /// For each number of texts the function that is fastest for them side by side; `None` if one after the other is.
    lanes: [Option<LanesFunction>; LANES + 1],
}

static CHOSEN: OnceLock<BlockFunctions> = OnceLock::new();

/// Limits the digests of the process to an instruction set, for measurements and tests. Call it before the first digest.
///
/// # Errors
/// A message if the processor does not have the instructions, or if digests were computed already.
pub fn limit_instruction_set(set: InstructionSet) -> Result<(), String> {
    if !set.is_available() {
        return Err(format!("This processor has no {set} instructions"));
    }
    CHOSEN
        .set(BlockFunctions::choose(set))
        .map_err(|_| "Digests were computed already".to_owned())
}

impl BlockFunctions {
    /// Returns the functions for this processor.
    pub(super) fn get() -> &'static BlockFunctions {
        CHOSEN.get_or_init(|| {
            let available = InstructionSet::ALL.into_iter().filter(|set| set.is_available());
            BlockFunctions::choose(available.max().unwrap_or(InstructionSet::Portable))
        })
    }

    /// Adds the whole blocks of one text.
    pub(super) fn compress_one(&self, state: &mut Md5State, blocks: &[u8]) {
        debug_assert!(blocks.len().is_multiple_of(BLOCK));
        (self.one)(state, blocks);
    }

    /// Adds the whole blocks of one text to both digests.
    pub(super) fn compress_pair(&self, md5: &mut Md5State, sha1: &mut Sha1State, blocks: &[u8]) {
        debug_assert!(blocks.len().is_multiple_of(BLOCK));
        (self.pair)(md5, sha1, blocks);
    }

    /// Returns the fastest function for `active` texts side by side; `None` if one after the other is faster.
    pub(super) fn for_texts(&self, active: usize) -> Option<LanesFunction> {
        self.lanes[active]
    }

    /// Measures the functions of `set` and of the sets that it contains, and keeps the fastest.
    pub(super) fn choose(set: InstructionSet) -> BlockFunctions {
        let bytes = [0x5a; SAMPLE];
        let texts = [&bytes[..]; LANES];
        let mut states = [Md5State::default(); LANES];
        let (one, one_cost) = fastest(one_functions(set), |one| one(&mut states[0], &bytes));
        let (mut md5, mut sha1) = (Md5State::default(), Sha1State::default());
        let (pair, _) = fastest(pair_functions(set), |pair| match pair {
            Some(pair) => pair(&mut md5, &mut sha1, &bytes),
            None => {
                one(&mut md5, &bytes);
                sha1::block_api::compress(&mut sha1, bytes.as_chunks().0);
            }
        });
        let mut lanes = [None; LANES + 1];
        let mut costs: [u128; LANES + 1] = std::array::from_fn(|active| one_cost * active as u128);
        for (function, width) in lanes_functions(set) {
            for group in 1..=LANES / width {
                let cost = measure(|| function(&mut states, &texts, SAMPLE / BLOCK, group * width));
                for active in (group - 1) * width + 1..=group * width {
                    if cost < costs[active] {
                        (lanes[active], costs[active]) = (Some(function), cost);
                    }
                }
            }
        }
        BlockFunctions {
            one,
            pair: pair.unwrap_or(pair_after_another),
            lanes,
        }
    }
}

/// The function for MD5 and SHA-1 that uses the fastest MD5 of the process, and SHA-1 after it.
fn pair_after_another(md5: &mut Md5State, sha1: &mut Sha1State, blocks: &[u8]) {
    (BlockFunctions::get().one)(md5, blocks);
    sha1::block_api::compress(sha1, blocks.as_chunks().0);
}

/// Returns the fastest candidate and its cost. There is at least one.
fn fastest<F: Copy>(candidates: Vec<F>, mut run: impl FnMut(F)) -> (F, u128) {
    let costs = candidates
        .into_iter()
        .map(|candidate| (candidate, measure(|| run(candidate))));
    costs
        .min_by_key(|(_, cost)| *cost)
        .expect("because every processor has portable functions")
}

/// Returns the least time of some runs, in nanoseconds.
fn measure(mut run: impl FnMut()) -> u128 {
    #[expect(
        clippy::disallowed_types,
        reason = "compares the speeds of functions; no result depends on it"
    )]
    let timed = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed().as_nanos()
    };
    (0..RUNS).map(|_| timed(&mut run)).min().unwrap_or(0).max(1)
}

/// Makes an ordinary function of one with a `target_feature`.
#[cfg(target_arch = "x86_64")]
macro_rules! detected {
    (one $function:path) => {
        detected!($function, state: &mut Md5State, blocks: &[u8])
    };
    (pair $function:path) => {
        detected!($function, md5: &mut Md5State, sha1: &mut Sha1State, blocks: &[u8])
    };
    (lanes $function:path) => {
        detected!($function, states: &mut [Md5State; LANES], texts: &[&[u8]; LANES], count: usize, active: usize)
    };
    ($function:path, $($argument:ident: $type:ty),*) => {{
        fn call($($argument: $type),*) {
            #[expect(unsafe_code, reason = "the caller of a target_feature function vouches for the processor")]
            // SAFETY: the lists of candidates have the function only where the processor has its instructions.
            unsafe {
                $function($($argument),*);
            }
        }
        call
    }};
}

/// Returns the candidates for one text.
fn one_functions(set: InstructionSet) -> Vec<OneFunction> {
    let portable: OneFunction = md5_lanes::compress_one;
    #[cfg(target_arch = "x86_64")]
    if set.includes(InstructionSet::Avx512) {
        return vec![portable, detected!(one super::md5_avx512::compress_one)];
    }
    _ = set;
    vec![portable]
}

/// Returns the candidates for both digests of one text. `None` stands for one after the other.
fn pair_functions(set: InstructionSet) -> Vec<Option<PairFunction>> {
    #[cfg(target_arch = "x86_64")]
    if set.includes(InstructionSet::Avx2)
        && std::arch::is_x86_feature_detected!("sha")
        && std::arch::is_x86_feature_detected!("sse4.1")
    {
        let integer: PairFunction = detected!(pair super::pair_x86::compress_pair_integer);
        if set.includes(InstructionSet::Avx512) {
            let vector: PairFunction = detected!(pair super::pair_x86::compress_pair_avx512);
            return vec![None, Some(integer), Some(vector)];
        }
        return vec![None, Some(integer)];
    }
    _ = set;
    vec![None]
}

/// Returns the candidates for texts side by side, each with the number of texts that it processes together.
fn lanes_functions(set: InstructionSet) -> Vec<(LanesFunction, usize)> {
    let portable: (LanesFunction, usize) = (md5_lanes::compress_lanes, 4);
    #[cfg(target_arch = "x86_64")]
    if set.includes(InstructionSet::Avx2) {
        let avx2: (LanesFunction, usize) = (detected!(lanes super::md5_avx2::compress_lanes), 8);
        if set.includes(InstructionSet::Avx512) {
            let avx512: LanesFunction = detected!(lanes super::md5_avx512::compress_lanes);
            return vec![portable, avx2, (avx512, LANES)];
        }
        return vec![portable, avx2];
    }
    _ = set;
    vec![portable]
}

/// Bytes of each text of a measurement.
const SAMPLE: usize = 16 * BLOCK;

/// Runs of each candidate; the fastest one counts.
const RUNS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_functions_agree() {
        let text: Vec<u8> = (0..BLOCK * 40u32 as usize).map(|i| (i * i % 253) as u8).collect();
        let texts: [&[u8]; LANES] = std::array::from_fn(|lane| &text[lane * BLOCK..]);
        let start: [Md5State; LANES] = std::array::from_fn(|lane| [lane as u32, 2, 3, 4]);
        let mut expected = start;
        for (state, text) in expected.iter_mut().zip(texts) {
            md5_lanes::compress_one(state, &text[..20 * BLOCK]);
        }
        for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
            for active in 1..=LANES {
                for (function, _) in lanes_functions(set) {
                    let mut states = start;
                    function(&mut states, &texts, 20, active);
                    assert_eq!(states[..active], expected[..active], "{set}, {active} texts");
                }
            }
            for one in one_functions(set) {
                let mut state = start[5];
                one(&mut state, &texts[5][..20 * BLOCK]);
                assert_eq!(state, expected[5], "{set}");
            }
            for pair in pair_functions(set).into_iter().flatten() {
                let (mut md5, mut sha1, mut expected_sha1) = (start[5], [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]);
                let blocks = &texts[5][..20 * BLOCK];
                pair(&mut md5, &mut sha1, blocks);
                sha1::block_api::compress(&mut expected_sha1, blocks.as_chunks().0);
                assert_eq!((md5, sha1), (expected[5], expected_sha1), "{set}");
            }
        }
    }

    #[test]
    fn a_set_is_chosen_by_its_name() {
        for set in InstructionSet::ALL {
            assert_eq!(InstructionSet::parse(&set.to_string()), Some(set));
        }
        assert_eq!(InstructionSet::parse("AVX2"), None);
    }
}
