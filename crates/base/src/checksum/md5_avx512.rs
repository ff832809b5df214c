//! The MD5 block function with AVX-512 instructions, for [`super::block_functions`].
//!
//! Each round's logic is one three-way instruction and rotation is one more, which shortens the chain from word to
//! word: even a single text, in a single lane, runs half as quick again as in the integer registers.

use std::arch::x86_64::{
    __m128i, __m512i, _mm_add_epi32, _mm_cvtsi32_si128, _mm_cvtsi128_si32, _mm_rol_epi32,
    _mm_ternarylogic_epi32, _mm512_add_epi32, _mm512_rol_epi32, _mm512_set_epi32, _mm512_set_epi64,
    _mm512_set1_epi32, _mm512_shuffle_i32x4, _mm512_ternarylogic_epi32, _mm512_unpackhi_epi32,
    _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

use super::md5_lanes::{BLOCK, LANES, Md5State, SINES};

/// Unrolls the 64 steps. `$step` is a macro: truth table, turns, sum of state, word and sine, then b, c, d; it
/// gives the new b.
macro_rules! steps {
    ($a:ident $b:ident $c:ident $d:ident, $word:ident, $step:ident) => {
        steps!(@round $a $b $c $d, $word, $step, 0, 0xca, |i: usize| i, 7 12 17 22);
        steps!(@round $a $b $c $d, $word, $step, 16, 0xe4, |i: usize| 5 * i + 1, 5 9 14 20);
        steps!(@round $a $b $c $d, $word, $step, 32, 0x96, |i: usize| 3 * i + 5, 4 11 16 23);
        steps!(@round $a $b $c $d, $word, $step, 48, 0x39, |i: usize| 7 * i, 6 10 15 21);
    };
    (@round $a:ident $b:ident $c:ident $d:ident, $word:ident, $step:ident, $first:literal, $table:literal,
     $which:expr, $($turns:literal)*) => {
        let mut i = 0;
        while i < 16 {
            $(
                let next = $step!($table, $turns, $a, $word($which(i) % 16, SINES[$first + i]), $b, $c, $d);
                ($a, $d, $c, $b) = ($d, $c, $b, next);
                i += 1;
            )*
        }
    };
}

/// Adds the whole blocks of one text.
#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn compress_one(state: &mut Md5State, blocks: &[u8]) {
    macro_rules! step {
        ($table:literal, $turns:literal, $a:expr, $word:expr, $b:expr, $c:expr, $d:expr) => {{
            let logic = _mm_ternarylogic_epi32::<$table>($b, $c, $d);
            let sum = _mm_add_epi32(_mm_add_epi32($a, $word), logic);
            _mm_add_epi32(_mm_rol_epi32::<$turns>(sum), $b)
        }};
    }
    let mut chain: [__m128i; 4] = state.map(|word| _mm_cvtsi32_si128(word.cast_signed()));
    for block in blocks.as_chunks::<BLOCK>().0 {
        let (words, _) = block.as_chunks::<4>();
        let word = |number: usize, sine: u32| {
            _mm_cvtsi32_si128(u32::from_le_bytes(words[number]).wrapping_add(sine).cast_signed())
        };
        let [mut a, mut b, mut c, mut d] = chain;
        steps!(a b c d, word, step);
        chain = [
            _mm_add_epi32(chain[0], a),
            _mm_add_epi32(chain[1], b),
            _mm_add_epi32(chain[2], c),
            _mm_add_epi32(chain[3], d),
        ];
    }
    *state = chain.map(|word| _mm_cvtsi128_si32(word).cast_unsigned());
}

/// Adds the first `count` blocks of each text to the state of the same number: always of all sixteen.
#[target_feature(enable = "avx512f,avx512vl")]
pub(super) fn compress_lanes(
    states: &mut [Md5State; LANES],
    texts: &[&[u8]; LANES],
    count: usize,
    _active: usize,
) {
    macro_rules! step {
        ($table:literal, $turns:literal, $a:expr, $word:expr, $b:expr, $c:expr, $d:expr) => {{
            let logic = _mm512_ternarylogic_epi32::<$table>($b, $c, $d);
            let sum = _mm512_add_epi32(_mm512_add_epi32($a, $word), logic);
            _mm512_add_epi32(_mm512_rol_epi32::<$turns>(sum), $b)
        }};
    }
    let mut chain: [__m512i; 4] = std::array::from_fn(|word| {
        let s = states.map(|state| state[word].cast_signed());
        _mm512_set_epi32(
            s[15], s[14], s[13], s[12], s[11], s[10], s[9], s[8], s[7], s[6], s[5], s[4], s[3], s[2], s[1],
            s[0],
        )
    });
    for number in 0..count {
        let at = number * BLOCK;
        let words = transpose(texts.map(|text| row(&text[at..at + BLOCK])));
        let word =
            |number: usize, sine: u32| _mm512_add_epi32(words[number], _mm512_set1_epi32(sine.cast_signed()));
        let [mut a, mut b, mut c, mut d] = chain;
        steps!(a b c d, word, step);
        chain = [
            _mm512_add_epi32(chain[0], a),
            _mm512_add_epi32(chain[1], b),
            _mm512_add_epi32(chain[2], c),
            _mm512_add_epi32(chain[3], d),
        ];
    }
    for (word, values) in chain.iter().enumerate() {
        for (state, value) in states.iter_mut().zip(lanes(*values)) {
            state[word] = value;
        }
    }
}

/// Loads one block.
#[target_feature(enable = "avx512f")]
fn row(block: &[u8]) -> __m512i {
    let (words, _) = block.as_chunks::<8>();
    let w: [i64; 8] = std::array::from_fn(|number| i64::from_le_bytes(words[number]));
    _mm512_set_epi64(w[7], w[6], w[5], w[4], w[3], w[2], w[1], w[0])
}

/// Makes sixteen words of each lane out of sixteen lanes of words.
#[target_feature(enable = "avx512f")]
fn transpose(rows: [__m512i; 16]) -> [__m512i; 16] {
    // Pairs of rows, then groups of four: now each quarter of a vector holds one word of four lanes.
    let pairs: [__m512i; 16] = std::array::from_fn(|i| {
        let (first, second) = (rows[i & !1], rows[i | 1]);
        if i % 2 == 0 {
            _mm512_unpacklo_epi32(first, second)
        } else {
            _mm512_unpackhi_epi32(first, second)
        }
    });
    let fours: [__m512i; 16] = std::array::from_fn(|i| {
        let first = (i & !3) + (i % 4) / 2;
        if i % 2 == 0 {
            _mm512_unpacklo_epi64(pairs[first], pairs[first + 2])
        } else {
            _mm512_unpackhi_epi64(pairs[first], pairs[first + 2])
        }
    });
    // Quarters: 0 and 2 of two vectors, or 1 and 3; twice.
    std::array::from_fn(|i| {
        let (column, quarter) = (i % 4, i / 4);
        let [v0, v1, v2, v3] = [
            fours[column],
            fours[4 + column],
            fours[8 + column],
            fours[12 + column],
        ];
        let (low, high) = if quarter % 2 == 0 {
            (
                _mm512_shuffle_i32x4::<0x88>(v0, v1),
                _mm512_shuffle_i32x4::<0x88>(v2, v3),
            )
        } else {
            (
                _mm512_shuffle_i32x4::<0xdd>(v0, v1),
                _mm512_shuffle_i32x4::<0xdd>(v2, v3),
            )
        };
        if quarter < 2 {
            _mm512_shuffle_i32x4::<0x88>(low, high)
        } else {
            _mm512_shuffle_i32x4::<0xdd>(low, high)
        }
    })
}

/// The sixteen values of a vector.
#[target_feature(enable = "avx512f,avx512vl")]
fn lanes(values: __m512i) -> [u32; 16] {
    use std::arch::x86_64::{_mm_extract_epi32, _mm512_extracti32x4_epi32};
    let mut out = [0; 16];
    macro_rules! quarter {
        ($($quarter:literal)*) => {$(
            let four = _mm512_extracti32x4_epi32::<$quarter>(values);
            out[4 * $quarter] = _mm_extract_epi32::<0>(four).cast_unsigned();
            out[4 * $quarter + 1] = _mm_extract_epi32::<1>(four).cast_unsigned();
            out[4 * $quarter + 2] = _mm_extract_epi32::<2>(four).cast_unsigned();
            out[4 * $quarter + 3] = _mm_extract_epi32::<3>(four).cast_unsigned();
        )*};
    }
    quarter!(0 1 2 3);
    out
}
