//! The block functions of MD5 and SHA-1 interleaved in one, for [`super::block_functions`].
//!
//! Each step of MD5 waits for the step before it, so most of the processor is idle. SHA-1 has instructions of its own, which
//! fill that time when they stand between the steps of MD5: both digests then cost little more than MD5 alone. There are two
//! functions: MD5 with the three-way logic of AVX-512, and MD5 in the integer registers for all processors with SHA-1
//! instructions.

use std::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_cvtsi32_si128, _mm_cvtsi128_si32, _mm_extract_epi32, _mm_rol_epi32,
    _mm_set_epi8, _mm_set_epi32, _mm_set_epi64x, _mm_sha1msg1_epu32, _mm_sha1msg2_epu32, _mm_sha1nexte_epu32,
    _mm_sha1rnds4_epu32, _mm_shuffle_epi8, _mm_ternarylogic_epi32, _mm_xor_si128,
};

use super::md5_lanes::{BLOCK, Md5State, SINES};
use super::text::Sha1State;

/// Which word of the block a round's steps start with, and how far they go on.
const WORDS: [(usize, usize); 4] = [(0, 1), (1, 5), (5, 3), (0, 7)];

/// Defines a function that adds the whole blocks of one text to both digests. `$load` and `$store` convert a word of MD5's
/// state, `$add` adds two, and `$step` computes the new first value of a step from its table, its turns, the sum of sine and
/// word, and the four values.
macro_rules! pair_function {
    ($(#[$attribute:meta])* $name:ident, $value:ty, $load:expr, $store:expr, $add:expr, $step:ident) => {
        $(#[$attribute])*
        pub(super) fn $name(md5: &mut Md5State, sha1: &mut Sha1State, blocks: &[u8]) {
            let mut chain: [$value; 4] = md5.map($load);
            let [h0, h1, h2, h3, h4] = sha1.map(u32::cast_signed);
            let mut front = _mm_set_epi32(h0, h1, h2, h3);
            let mut back = _mm_set_epi32(h4, 0, 0, 0);
            for block in blocks.as_chunks::<BLOCK>().0 {
                let (words, _) = block.as_chunks::<4>();
                let [mut a, mut b, mut c, mut d] = chain;
                // SHA-1 takes four words at a time: those of the block first, then those made of the sixteen before.
                let mut schedule: [__m128i; 4] = [
                    quarter(block, 0),
                    quarter(block, 1),
                    quarter(block, 2),
                    quarter(block, 3),
                ];
                let mut state = front;
                let mut before = state;

                // One step of MD5, which computes a new `$a`.
                macro_rules! step {
                    ($round:tt, $number:expr, $turns:literal, $a:ident, $b:ident, $c:ident, $d:ident) => {
                        let (first, stride) = WORDS[$round];
                        let word = u32::from_le_bytes(words[(first + stride * $number) % 16]);
                        let word = word.wrapping_add(SINES[16 * $round + $number]);
                        $a = $step!($round, $turns, word, $a, $b, $c, $d);
                    };
                }
                // Four steps of SHA-1, `$group` of twenty.
                macro_rules! group {
                    ($group:literal) => {
                        let at = $group % 4;
                        if $group >= 4 {
                            let mixed = _mm_sha1msg1_epu32(schedule[at], schedule[(at + 1) % 4]);
                            let mixed = _mm_xor_si128(mixed, schedule[(at + 2) % 4]);
                            schedule[at] = _mm_sha1msg2_epu32(mixed, schedule[(at + 3) % 4]);
                        }
                        let added = match $group {
                            0 => _mm_add_epi32(back, schedule[at]),
                            _ => _mm_sha1nexte_epu32(before, schedule[at]),
                        };
                        before = state;
                        state = _mm_sha1rnds4_epu32::<{ $group / 5 }>(state, added);
                    };
                }
                // A round of MD5 and five groups of SHA-1.
                macro_rules! round {
                    ($round:tt, $t0:literal $t1:literal $t2:literal $t3:literal,
                     $g0:literal $g1:literal $g2:literal $g3:literal $g4:literal) => {
                        round!(@four $round, 0, $t0 $t1 $t2 $t3);
                        group!($g0);
                        round!(@four $round, 4, $t0 $t1 $t2 $t3);
                        group!($g1);
                        round!(@four $round, 8, $t0 $t1 $t2 $t3);
                        group!($g2);
                        round!(@four $round, 12, $t0 $t1 $t2 $t3);
                        group!($g3);
                        group!($g4);
                    };
                    (@four $round:tt, $at:literal, $t0:literal $t1:literal $t2:literal $t3:literal) => {
                        step!($round, $at, $t0, a, b, c, d);
                        step!($round, $at + 1, $t1, d, a, b, c);
                        step!($round, $at + 2, $t2, c, d, a, b);
                        step!($round, $at + 3, $t3, b, c, d, a);
                    };
                }
                round!(0, 7 12 17 22, 0 1 2 3 4);
                round!(1, 5 9 14 20, 5 6 7 8 9);
                round!(2, 4 11 16 23, 10 11 12 13 14);
                round!(3, 6 10 15 21, 15 16 17 18 19);

                for (old, new) in chain.iter_mut().zip([a, b, c, d]) {
                    *old = $add(*old, new);
                }
                back = _mm_sha1nexte_epu32(before, back);
                front = _mm_add_epi32(front, state);
            }
            *md5 = chain.map($store);
            *sha1 = [
                _mm_extract_epi32::<3>(front),
                _mm_extract_epi32::<2>(front),
                _mm_extract_epi32::<1>(front),
                _mm_extract_epi32::<0>(front),
                _mm_extract_epi32::<3>(back),
            ]
            .map(i32::cast_unsigned);
        }
    };
}

/// A step of MD5 in a vector register. The first parameter is the round, the three-way logic has its table.
macro_rules! vector_step {
    (0, $($rest:tt)*) => { vector_step!(@ 0xca, $($rest)*) };
    (1, $($rest:tt)*) => { vector_step!(@ 0xe4, $($rest)*) };
    (2, $($rest:tt)*) => { vector_step!(@ 0x96, $($rest)*) };
    (3, $($rest:tt)*) => { vector_step!(@ 0x39, $($rest)*) };
    (@ $table:literal, $turns:literal, $word:ident, $a:ident, $b:ident, $c:ident, $d:ident) => {{
        let logic = _mm_ternarylogic_epi32::<$table>($b, $c, $d);
        let sum = _mm_add_epi32($a, _mm_cvtsi32_si128($word.cast_signed()));
        _mm_add_epi32(_mm_rol_epi32::<$turns>(_mm_add_epi32(sum, logic)), $b)
    }};
}

/// A step of MD5 in integer registers. What does not depend on the newest value is added first.
macro_rules! integer_step {
    (0, $($rest:tt)*) => { integer_step!(@ (|_: u32, _: u32| 0), (|b, c, d| d ^ (b & (c ^ d))), $($rest)*) };
    (1, $($rest:tt)*) => { integer_step!(@ (|c: u32, d: u32| c & !d), (|b, _, d| b & d), $($rest)*) };
    (2, $($rest:tt)*) => { integer_step!(@ (|_: u32, _: u32| 0), (|b, c, d| b ^ (c ^ d)), $($rest)*) };
    (3, $($rest:tt)*) => { integer_step!(@ (|_: u32, _: u32| 0), (|b, c, d: u32| c ^ (b | !d)), $($rest)*) };
    (@ $early:expr, $late:expr, $turns:literal, $word:ident, $a:ident, $b:ident, $c:ident, $d:ident) => {{
        let late: fn(u32, u32, u32) -> u32 = $late;
        let sum = $a.wrapping_add($word).wrapping_add($early($c, $d));
        sum.wrapping_add(late($b, $c, $d)).rotate_left($turns).wrapping_add($b)
    }};
}

pair_function!(
    /// Adds the whole blocks of one text to both digests.
    #[target_feature(enable = "avx512f,avx512vl,sha,sse4.1")]
    compress_pair_avx512,
    __m128i,
    |word| _mm_cvtsi32_si128(word.cast_signed()),
    |value| _mm_cvtsi128_si32(value).cast_unsigned(),
    |old, new| _mm_add_epi32(old, new),
    vector_step
);

pair_function!(
    /// Adds the whole blocks of one text to both digests.
    #[target_feature(enable = "sha,sse4.1")]
    compress_pair_integer,
    u32,
    |word| word,
    |value| value,
    u32::wrapping_add,
    integer_step
);

/// Four words of a block in the order of SHA-1's instructions: the first one highest.
#[inline]
#[target_feature(enable = "sse4.1")]
fn quarter(block: &[u8; BLOCK], number: usize) -> __m128i {
    let (halves, _) = block.as_chunks::<8>();
    let [low, high] = [2 * number, 2 * number + 1].map(|at| i64::from_le_bytes(halves[at]));
    let turned = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    _mm_shuffle_epi8(_mm_set_epi64x(high, low), turned)
}
