//! Random texts with the redundancy of source code, for compression and deltas.

use rand::Rng;

/// The words of lines; the first are more frequent, as in real code.
const WORDS: &[&str] = &[
    "return", "if", "else", "for", "const", "static", "struct", "value", "index", "result", "buffer",
    "length", "path", "name", "error", "node", "parent", "child", "revision", "offset", "count", "state",
    "config", "session", "request", "response", "handler", "context", "option", "default", "stream",
    "window", "cache", "entry", "table",
];

/// Appends one line of code.
pub fn line(out: &mut Vec<u8>, rng: &mut impl Rng) {
    let indent = rng.random_range(0..4usize) * 4;
    out.resize(out.len() + indent, b' ');
    for at in 0..rng.random_range(1..9usize) {
        if at > 0 {
            out.extend_from_slice([&b" "[..], b"(", b", ", b" = ", b"."][rng.random_range(0..5)]);
        }
        // The product of two draws prefers the front of the table.
        let word = rng.random_range(0..WORDS.len()) * rng.random_range(0..WORDS.len()) / WORDS.len();
        out.extend_from_slice(WORDS[word].as_bytes());
        if rng.random_ratio(1, 6) {
            out.extend_from_slice(rng.random_range(0..1000u32).to_string().as_bytes());
        }
    }
    out.extend_from_slice(b";\n");
}

/// Returns a text of about `size` bytes.
pub fn text(size: usize, rng: &mut impl Rng) -> Vec<u8> {
    let mut out = Vec::with_capacity(size + 80);
    while out.len() < size {
        line(&mut out, rng);
    }
    out
}

/// Returns a binary file of `size` bytes: runs of repeated and of random bytes.
pub fn binary(size: usize, rng: &mut impl Rng) -> Vec<u8> {
    let mut out = vec![0x7f, b'B', b'I', b'N', 0];
    while out.len() < size {
        let run = rng.random_range(8..200usize);
        if rng.random_bool(0.4) {
            let byte = rng.random();
            out.resize(out.len() + run, byte);
        } else {
            out.extend((0..run).map(|_| rng.random::<u8>()));
        }
    }
    out.truncate(size.max(5));
    out
}

/// Adds `added` lines in one to three places and removes about half as many elsewhere.
pub fn edit(text: &[u8], added: usize, rng: &mut impl Rng) -> Vec<u8> {
    let starts: Vec<usize> = std::iter::once(0)
        .chain(
            text.iter()
                .enumerate()
                .filter(|(_, b)| **b == b'\n')
                .map(|(at, _)| at + 1),
        )
        .collect();
    let places = rng.random_range(1..=3usize).min(added);
    let mut cuts: Vec<usize> = (0..places).map(|_| rng.random_range(0..starts.len())).collect();
    cuts.sort_unstable();
    let mut out = Vec::with_capacity(text.len() + added * 30);
    let mut at = 0;
    for cut in cuts {
        let start = starts[cut].max(at);
        out.extend_from_slice(&text[at..start]);
        for _ in 0..added.div_ceil(places) {
            line(&mut out, rng);
        }
        let removed = rng.random_range(0..=added.div_ceil(places));
        let end = (cut + removed).min(starts.len() - 1);
        at = starts[end].max(start);
    }
    out.extend_from_slice(&text[at..]);
    out
}
