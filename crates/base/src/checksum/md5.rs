//! MD5 of one text, of a text in parts, and of many texts at once.
//!
//! MD5 cannot be computed in parallel within a text, so one stream leaves most of the processor idle. Sixteen
//! independent texts are hashed side by side, one in each lane of the vector registers: ten times the speed of one
//! stream with AVX-512, eight times with AVX2. A caller with many texts, or with many streams and a part for each,
//! passes them together. Lanes are filled from the longest text down, so unequal lengths cost little.

use super::Md5;
use super::block_functions::BlockFunctions;
use super::md5_lanes::{BLOCK, LANES, Md5State};

/// The state of an empty text.
const START: Md5State = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// An MD5 digest that is being computed.
#[derive(Clone)]
pub struct Md5Stream {
    state: Md5State,
    /// Bytes added so far; those of the last incomplete block are in `held`.
    len: u64,
    held: [u8; BLOCK],
}

impl Default for Md5Stream {
    fn default() -> Self {
        Md5Stream {
            state: START,
            len: 0,
            held: [0; BLOCK],
        }
    }
}

impl Md5Stream {
    /// Starts with no bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let functions = BlockFunctions::get();
        self.update_with(bytes, |state, blocks| functions.compress_one(state, blocks));
    }

    /// Adds bytes, and passes whole blocks and the state to `compress`, each block once.
    #[inline]
    pub(super) fn update_with(&mut self, bytes: &[u8], mut compress: impl FnMut(&mut Md5State, &[u8])) {
        let (completes, body, rest) = self.split(bytes);
        if completes {
            compress(&mut self.state, &self.held);
        }
        if !body.is_empty() {
            compress(&mut self.state, body);
        }
        self.hold(rest);
    }

    /// Adds to each stream its own bytes: many times faster than one stream after the other.
    pub fn update_many(streams: &mut [(&mut Md5Stream, &[u8])]) {
        let mut rests = Vec::with_capacity(streams.len());
        let mut jobs = Vec::with_capacity(streams.len());
        for (stream, bytes) in streams.iter_mut() {
            let (completes, body, rest) = stream.split(bytes);
            rests.push(rest);
            let held: &[u8] = if completes { &stream.held } else { &[] };
            jobs.push(Job {
                state: stream.state,
                now: held,
                then: body,
            });
        }
        run(BlockFunctions::get(), &mut jobs);
        let states: Vec<Md5State> = jobs.into_iter().map(|job| job.state).collect();
        for (((stream, _), rest), state) in streams.iter_mut().zip(rests).zip(states) {
            stream.state = state;
            stream.hold(rest);
        }
    }

    /// Returns the digest of all bytes added.
    pub fn finish(mut self) -> Md5 {
        let (tail, tail_len) = self.tail(u64::to_le_bytes);
        BlockFunctions::get().compress_one(&mut self.state, &tail[..tail_len]);
        digest(self.state)
    }

    /// Returns the last blocks, which complete the bytes that were added but not compressed.
    pub(super) fn tail(&self, order: fn(u64) -> [u8; 8]) -> ([u8; 2 * BLOCK], usize) {
        let held = (self.len % BLOCK as u64) as usize;
        tail(&self.held[..held], self.len, order)
    }

    /// Counts `bytes` and divides them into three parts: the bytes that complete the held block (the first value is
    /// true if they did), whole blocks, and the bytes to hold next.
    fn split<'a>(&mut self, bytes: &'a [u8]) -> (bool, &'a [u8], &'a [u8]) {
        let held = (self.len % BLOCK as u64) as usize;
        self.len = self.len.wrapping_add(bytes.len() as u64);
        let mut bytes = bytes;
        let mut completes = false;
        if held > 0 {
            let (piece, rest) = bytes.split_at(bytes.len().min(BLOCK - held));
            self.held[held..held + piece.len()].copy_from_slice(piece);
            completes = held + piece.len() == BLOCK;
            if !completes {
                return (false, &[], &[]);
            }
            bytes = rest;
        }
        let (body, rest) = bytes.split_at(bytes.len() - bytes.len() % BLOCK);
        (completes, body, rest)
    }

    /// Holds the bytes of an incomplete block; an empty slice changes nothing.
    fn hold(&mut self, rest: &[u8]) {
        self.held[..rest.len()].copy_from_slice(rest);
    }
}

impl Md5 {
    /// Digest of one text.
    pub fn of(bytes: &[u8]) -> Self {
        let (body, rest) = bytes.split_at(bytes.len() - bytes.len() % BLOCK);
        let functions = BlockFunctions::get();
        let mut state = START;
        functions.compress_one(&mut state, body);
        let (tail, tail_len) = tail(rest, bytes.len() as u64, u64::to_le_bytes);
        functions.compress_one(&mut state, &tail[..tail_len]);
        digest(state)
    }
}

/// Digests many independent texts; the result has the order of the input.
pub fn md5_many(texts: &[&[u8]]) -> Vec<Md5> {
    md5_many_with(BlockFunctions::get(), texts)
}

fn md5_many_with(functions: &BlockFunctions, texts: &[&[u8]]) -> Vec<Md5> {
    let parts: Vec<_> = texts
        .iter()
        .map(|text| {
            let (body, rest) = text.split_at(text.len() - text.len() % BLOCK);
            (body, tail(rest, text.len() as u64, u64::to_le_bytes))
        })
        .collect();
    let mut jobs: Vec<_> = parts
        .iter()
        .map(|(body, (tail, tail_len))| Job {
            state: START,
            now: body,
            then: &tail[..*tail_len],
        })
        .collect();
    run(functions, &mut jobs);
    jobs.iter().map(|job| digest(job.state)).collect()
}

/// Returns the end of a text: its incomplete block, the mark, the length in bits (`order` is its byte order); one
/// block or two.
fn tail(rest: &[u8], len: u64, order: fn(u64) -> [u8; 8]) -> ([u8; 2 * BLOCK], usize) {
    let mut tail = [0; 2 * BLOCK];
    tail[..rest.len()].copy_from_slice(rest);
    tail[rest.len()] = 0x80;
    let end = if rest.len() < BLOCK - 8 { BLOCK } else { 2 * BLOCK };
    tail[end - 8..end].copy_from_slice(&order(len.wrapping_mul(8)));
    (tail, end)
}

fn digest(state: Md5State) -> Md5 {
    let mut out = [0; 16];
    for (bytes, word) in out.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    Md5(out)
}

/// Whole blocks to add to a state, in two parts.
struct Job<'a> {
    state: Md5State,
    now: &'a [u8],
    then: &'a [u8],
}

impl Job<'_> {
    fn skip_empty_part(&mut self) {
        if self.now.is_empty() {
            self.now = std::mem::take(&mut self.then);
        }
    }
}

/// Compresses all blocks of all jobs, side by side while enough jobs are left.
fn run(functions: &BlockFunctions, jobs: &mut [Job<'_>]) {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    for job in jobs.iter_mut() {
        job.skip_empty_part();
    }
    // The longest first: the rest at the end, with idle lanes, is short.
    order.sort_by_key(|number| jobs[*number].now.len() + jobs[*number].then.len());
    let mut active: Vec<usize> = Vec::with_capacity(LANES);
    loop {
        while active.len() < LANES
            && let Some(next) = order.pop()
        {
            if !jobs[next].now.is_empty() {
                active.push(next);
            }
        }
        let Some(compress_lanes) = functions.for_texts(active.len()) else {
            break;
        };
        let shortest = active.iter().map(|number| jobs[*number].now.len()).min();
        let piece = shortest.unwrap_or(0);
        let mut states = [START; LANES];
        let mut texts = [jobs[active[0]].now; LANES];
        for (lane, number) in active.iter().enumerate() {
            states[lane] = jobs[*number].state;
            texts[lane] = jobs[*number].now;
        }
        compress_lanes(&mut states, &texts, piece / BLOCK, active.len());
        for (lane, number) in active.iter().enumerate() {
            let job = &mut jobs[*number];
            job.state = states[lane];
            job.now = &job.now[piece..];
            job.skip_empty_part();
        }
        active.retain(|number| !jobs[*number].now.is_empty());
    }
    for number in active.into_iter().chain(order) {
        let job = &mut jobs[number];
        functions.compress_one(&mut job.state, job.now);
        functions.compress_one(&mut job.state, job.then);
    }
}

#[cfg(test)]
mod tests {
    use super::super::block_functions::InstructionSet;
    use super::*;
    use ::md5::Digest as _;
    use proptest::prelude::*;

    fn oracle(text: &[u8]) -> Md5 {
        Md5(::md5::Md5::digest(text).into())
    }

    fn texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let short = proptest::collection::vec(any::<u8>(), 0..300);
        let long = (any::<u8>(), 0usize..9_000).prop_map(|(byte, len)| vec![byte; len]);
        proptest::collection::vec(prop_oneof![4 => short, 1 => long], 0..45)
    }

    #[test]
    fn every_length_around_the_blocks() {
        let text: Vec<u8> = (0..300u32).map(|i| (i * 7) as u8).collect();
        let texts: Vec<&[u8]> = (0..300).map(|len| &text[..len]).collect();
        for (text, many) in texts.iter().zip(md5_many(&texts)) {
            let expected = oracle(text);
            assert_eq!((Md5::of(text), many), (expected, expected));
            for cut in [0, 1, 63, 64, 65, 100].map(|cut| text.len().min(cut)) {
                let mut stream = Md5Stream::new();
                stream.update(&text[..cut]);
                stream.update(&text[cut..]);
                assert_eq!(stream.finish(), expected);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn many_texts(texts in texts()) {
            let slices: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
            let expected: Vec<Md5> = slices.iter().map(|text| oracle(text)).collect();
            for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
                let functions = BlockFunctions::choose(set);
                prop_assert_eq!(&md5_many_with(&functions, &slices), &expected, "{}", set);
            }
        }

        #[test]
        fn many_streams_fed_in_pieces(texts in texts(), piece in 1usize..500) {
            let mut streams = vec![Md5Stream::new(); texts.len()];
            let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
            for (round, start) in (0..longest).step_by(piece).enumerate() {
                let pieces = texts.iter().map(|text| &text[start.min(text.len())..(start + piece).min(text.len())]);
                let mut fed: Vec<_> = streams.iter_mut().zip(pieces).collect();
                if round % 3 == 2 {
                    for (stream, piece) in &mut fed {
                        stream.update(piece);
                    }
                } else {
                    Md5Stream::update_many(&mut fed);
                }
            }
            for (stream, text) in streams.into_iter().zip(&texts) {
                prop_assert_eq!(stream.finish(), oracle(text));
            }
        }
    }
}
