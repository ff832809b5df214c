//! The MD5 block function in plain Rust: for one text, and for several side by side.
//!
//! Several texts are arrays of lanes, four at a time, which the compiler turns into vector code of any processor. On x86
//! processors with wider vectors, [`super::block_functions`] chooses [`super::md5_avx2`] or [`super::md5_avx512`].

/// Bytes that the block function takes at a time.
pub(super) const BLOCK: usize = 64;

/// Texts side by side.
pub(super) const LANES: usize = 16;

/// A digest that is being computed.
pub(super) type Md5State = [u32; 4];

/// Adds the whole blocks of one text.
pub(super) fn compress_one(state: &mut Md5State, blocks: &[u8]) {
    let mut one = state.map(|word| [word]);
    for at in (0..blocks.len()).step_by(BLOCK) {
        block(&mut one, &words(&[&blocks[at..]]));
    }
    *state = one.map(|[word]| word);
}

/// Adds the first `count` blocks of each text to the state of the same number. Only the first `active` lanes
/// matter; the others must nevertheless hold texts as long.
pub(super) fn compress_lanes(
    states: &mut [Md5State; LANES],
    texts: &[&[u8]; LANES],
    count: usize,
    active: usize,
) {
    in_groups::<4>(states, texts, count, active);
}

/// Processes the lanes in groups of `N`.
fn in_groups<const N: usize>(
    states: &mut [Md5State; LANES],
    texts: &[&[u8]; LANES],
    count: usize,
    active: usize,
) {
    let groups = states
        .as_chunks_mut::<N>()
        .0
        .iter_mut()
        .zip(texts.as_chunks::<N>().0);
    for (states, texts) in groups.take(active.div_ceil(N)) {
        let mut lanes = [[0; N]; 4];
        for (word, lane) in lanes.iter_mut().enumerate() {
            for (value, state) in lane.iter_mut().zip(states.iter()) {
                *value = state[word];
            }
        }
        for number in 0..count {
            let at = number * BLOCK;
            block(&mut lanes, &words(&texts.map(|text| &text[at..])));
        }
        for (word, lane) in lanes.iter().enumerate() {
            for (value, state) in lane.iter().zip(states.iter_mut()) {
                state[word] = *value;
            }
        }
    }
}

/// The sixteen words of a block, each for all lanes.
#[inline(always)]
fn words<const N: usize>(texts: &[&[u8]; N]) -> [[u32; N]; 16] {
    let mut out = [[0; N]; 16];
    for (lane, text) in texts.iter().enumerate() {
        let (words, _) = text[..BLOCK].as_chunks::<4>();
        for (row, word) in out.iter_mut().zip(words) {
            row[lane] = u32::from_le_bytes(*word);
        }
    }
    out
}

/// One block for each lane.
#[inline(always)]
fn block<const N: usize>(state: &mut [[u32; N]; 4], words: &[[u32; N]; 16]) {
    let [mut a, mut b, mut c, mut d] = *state;
    macro_rules! round {
        ($number:literal, $early:expr, $late:expr, $word:expr, $turns:expr) => {
            let mut i = 0;
            while i < 16 {
                let word = words[$word(i) % 16];
                // Terms without `b`, the newest value, are added first.
                let sum = each4(a, word, c, d, |a, word, c, d| {
                    a.wrapping_add(word)
                        .wrapping_add(SINES[16 * $number + i])
                        .wrapping_add($early(c, d))
                });
                let next = each4(sum, b, c, d, |sum, b, c, d| {
                    sum.wrapping_add($late(b, c, d))
                        .rotate_left($turns[i % 4])
                        .wrapping_add(b)
                });
                (a, d, c, b) = (d, c, b, next);
                i += 1;
            }
        };
    }
    round!(
        0,
        |_, _| 0,
        |b: u32, c, d| d ^ (b & (c ^ d)),
        |i| i,
        [7, 12, 17, 22]
    );
    round!(
        1,
        |c: u32, d: u32| c & !d,
        |b: u32, _, d| b & d,
        |i| 5 * i + 1,
        [5, 9, 14, 20]
    );
    round!(
        2,
        |_, _| 0,
        |b: u32, c, d| b ^ (c ^ d),
        |i| 3 * i + 5,
        [4, 11, 16, 23]
    );
    round!(
        3,
        |_, _| 0,
        |b: u32, c, d: u32| c ^ (b | !d),
        |i| 7 * i,
        [6, 10, 15, 21]
    );
    for (value, made) in state.iter_mut().zip([a, b, c, d]) {
        for (value, made) in value.iter_mut().zip(made) {
            *value = value.wrapping_add(made);
        }
    }
}

#[inline(always)]
fn each4<const N: usize>(
    a: [u32; N],
    b: [u32; N],
    c: [u32; N],
    d: [u32; N],
    f: impl Fn(u32, u32, u32, u32) -> u32,
) -> [u32; N] {
    let mut out = [0; N];
    for (lane, value) in out.iter_mut().enumerate() {
        *value = f(a[lane], b[lane], c[lane], d[lane]);
    }
    out
}

/// The whole part of 2^32 times |sin(n)|, n from 1 to 64.
pub(super) const SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];
