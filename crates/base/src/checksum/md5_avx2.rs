//! The MD5 block function with AVX2 instructions, for [`super::block_functions`].
//!
//! A vector has eight lanes. Each step of MD5 waits for the step before it, so two vectors that take turns keep the processor
//! busier than one: [`compress_lanes`] uses two where more than eight texts are given.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_andnot_si256, _mm256_extract_epi32, _mm256_or_si256,
    _mm256_permute2x128_si256, _mm256_set_epi32, _mm256_set_epi64x, _mm256_set1_epi32, _mm256_slli_epi32,
    _mm256_srli_epi32, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32,
    _mm256_unpacklo_epi64, _mm256_xor_si256,
};

use super::md5_lanes::{BLOCK, LANES, Md5State, SINES};

/// Lanes of a vector.
const WIDTH: usize = 8;

/// Adds the first `count` blocks of each text to the state of the same number. Only the first `active` lanes matter.
#[target_feature(enable = "avx2")]
pub(super) fn compress_lanes(
    states: &mut [Md5State; LANES],
    texts: &[&[u8]; LANES],
    count: usize,
    active: usize,
) {
    let (states, _) = states.as_chunks_mut::<WIDTH>();
    let (texts, _) = texts.as_chunks::<WIDTH>();
    let ([first, second], [texts, more]) = (states, texts) else {
        unreachable!("because sixteen lanes are two vectors")
    };
    if active > WIDTH {
        compress_vectors([first, second], [texts, more], count);
    } else {
        compress_vectors([first], [texts], count);
    }
}

/// Adds `count` blocks of the texts of `N` vectors.
#[target_feature(enable = "avx2")]
#[inline]
fn compress_vectors<const N: usize>(
    states: [&mut [Md5State; WIDTH]; N],
    texts: [&[&[u8]; WIDTH]; N],
    count: usize,
) {
    let mut chain: [[__m256i; N]; 4] = std::array::from_fn(|word| {
        std::array::from_fn(|vector| {
            let s = states[vector].map(|state| state[word].cast_signed());
            _mm256_set_epi32(s[7], s[6], s[5], s[4], s[3], s[2], s[1], s[0])
        })
    });
    for number in 0..count {
        let at = number * BLOCK;
        let words = texts.map(|texts| transpose(texts.map(|text| &text[at..at + BLOCK])));
        let [mut a, mut b, mut c, mut d] = chain;
        // Sixteen steps. `$logic` adds the round's function of b, c and d to a sum.
        macro_rules! round {
            ($first:literal, $which:expr, $logic:expr, $($turns:literal)*) => {
                let mut i = 0;
                while i < 16 {
                    $(
                        let sine = _mm256_set1_epi32(SINES[$first + i].cast_signed());
                        let mut next = b;
                        for v in 0..N {
                            let sum = _mm256_add_epi32(_mm256_add_epi32(a[v], sine), words[v][$which(i) % 16]);
                            let sum = $logic(sum, b[v], c[v], d[v]);
                            let (left, right) = (
                                _mm256_slli_epi32::<$turns>(sum),
                                _mm256_srli_epi32::<{ 32 - $turns }>(sum),
                            );
                            next[v] = _mm256_add_epi32(_mm256_or_si256(left, right), b[v]);
                        }
                        (a, d, c, b) = (d, c, b, next);
                        i += 1;
                    )*
                }
            };
        }
        round!(0, |i: usize| i, f, 7 12 17 22);
        round!(16, |i: usize| 5 * i + 1, g, 5 9 14 20);
        round!(32, |i: usize| 3 * i + 5, h, 4 11 16 23);
        round!(48, |i: usize| 7 * i, k, 6 10 15 21);
        for (old, new) in chain.iter_mut().zip([a, b, c, d]) {
            for (old, new) in old.iter_mut().zip(new) {
                *old = _mm256_add_epi32(*old, new);
            }
        }
    }
    for (vector, states) in states.into_iter().enumerate() {
        for (word, values) in chain.iter().enumerate() {
            for (state, value) in states.iter_mut().zip(lanes(values[vector])) {
                state[word] = value;
            }
        }
    }
}

/// Adds the function of the first round.
#[target_feature(enable = "avx2")]
#[inline]
fn f(sum: __m256i, b: __m256i, c: __m256i, d: __m256i) -> __m256i {
    _mm256_add_epi32(
        sum,
        _mm256_xor_si256(d, _mm256_and_si256(b, _mm256_xor_si256(c, d))),
    )
}

/// Adds the function of the second round. Its two halves have no common bits, and the one without `b`, the newest value, is
/// added first.
#[target_feature(enable = "avx2")]
#[inline]
fn g(sum: __m256i, b: __m256i, c: __m256i, d: __m256i) -> __m256i {
    let sum = _mm256_add_epi32(sum, _mm256_andnot_si256(d, c));
    _mm256_add_epi32(sum, _mm256_and_si256(b, d))
}

/// Adds the function of the third round.
#[target_feature(enable = "avx2")]
#[inline]
fn h(sum: __m256i, b: __m256i, c: __m256i, d: __m256i) -> __m256i {
    _mm256_add_epi32(sum, _mm256_xor_si256(b, _mm256_xor_si256(c, d)))
}

/// Adds the function of the fourth round.
#[target_feature(enable = "avx2")]
#[inline]
fn k(sum: __m256i, b: __m256i, c: __m256i, d: __m256i) -> __m256i {
    let not_d = _mm256_xor_si256(d, _mm256_set1_epi32(-1));
    _mm256_add_epi32(sum, _mm256_xor_si256(c, _mm256_or_si256(b, not_d)))
}

/// Makes sixteen words of each lane out of eight lanes of words.
#[target_feature(enable = "avx2")]
#[inline]
fn transpose(blocks: [&[u8]; WIDTH]) -> [__m256i; 16] {
    let [low, high] = [0, 32].map(|at| transpose_half(blocks.map(|block| row(&block[at..at + 32]))));
    let mut words = [low[0]; 16];
    words[..WIDTH].copy_from_slice(&low);
    words[WIDTH..].copy_from_slice(&high);
    words
}

/// Loads half a block.
#[target_feature(enable = "avx2")]
#[inline]
fn row(bytes: &[u8]) -> __m256i {
    let (words, _) = bytes.as_chunks::<8>();
    let w: [i64; 4] = std::array::from_fn(|number| i64::from_le_bytes(words[number]));
    _mm256_set_epi64x(w[3], w[2], w[1], w[0])
}

/// Makes eight words of each lane out of eight lanes of eight words.
#[target_feature(enable = "avx2")]
#[inline]
fn transpose_half(rows: [__m256i; WIDTH]) -> [__m256i; WIDTH] {
    // Pairs of rows, then groups of four: now each half of a vector holds one word of four lanes.
    let pairs: [__m256i; WIDTH] = std::array::from_fn(|i| {
        let (first, second) = (rows[i & !1], rows[i | 1]);
        if i % 2 == 0 {
            _mm256_unpacklo_epi32(first, second)
        } else {
            _mm256_unpackhi_epi32(first, second)
        }
    });
    let fours: [__m256i; WIDTH] = std::array::from_fn(|i| {
        let first = (i & !3) + (i % 4) / 2;
        if i % 2 == 0 {
            _mm256_unpacklo_epi64(pairs[first], pairs[first + 2])
        } else {
            _mm256_unpackhi_epi64(pairs[first], pairs[first + 2])
        }
    });
    std::array::from_fn(|i| {
        let (first, second) = (fours[i % 4], fours[4 + i % 4]);
        if i < 4 {
            _mm256_permute2x128_si256::<0x20>(first, second)
        } else {
            _mm256_permute2x128_si256::<0x31>(first, second)
        }
    })
}

/// The eight values of a vector.
#[target_feature(enable = "avx2")]
fn lanes(values: __m256i) -> [u32; WIDTH] {
    let mut out = [0; WIDTH];
    macro_rules! lane {
        ($($lane:literal)*) => {$(
            out[$lane] = _mm256_extract_epi32::<$lane>(values).cast_unsigned();
        )*};
    }
    lane!(0 1 2 3 4 5 6 7);
    out
}
