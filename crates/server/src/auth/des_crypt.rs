//! The oldest password hash: DES `crypt` of Unix, as `htpasswd -d` writes it.
//!
//! The first eight characters of a password are the key that a block of zeros is encrypted with 25 times, by a variant of DES in
//! which two characters of salt exchange some bits. It does not resist attacks, and all characters after the eighth are ignored; but
//! existing files have such hashes, and Apache accepts them.
//!
//! Bits are numbered from 1 and from the left, as in the tables of the standard (FIPS 46-3), and stored one in a byte: simple, and
//! fast enough for a password.

use super::same;

/// The characters of salts and hashes, six bits each.
const LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Returns whether `hash` is a hash of `password`; `None` if it is of another kind.
pub(super) fn verify(password: &[u8], hash: &str) -> Option<bool> {
    let hash = hash.as_bytes();
    if hash.len() != 13 || !hash.iter().all(|b| LETTERS.contains(b)) {
        return None;
    }
    let made = crypt(password, hash.first_chunk()?)?;
    Some(same(&made, hash))
}

fn crypt(password: &[u8], salt: &[u8; 2]) -> Option<[u8; 13]> {
    let value = |letter: u8| LETTERS.iter().position(|known| *known == letter);
    let swapped = value(salt[0])? | value(salt[1])? << 6;
    let keys = schedule(password);
    let mut block = [0; 64];
    for _ in 0..25 {
        block = encrypt(&block, &keys, swapped);
    }
    let block: [u8; 64] = permuted(&block, &FINAL);
    let mut made = [salt[0], salt[1], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for (at, letter) in made[2..].iter_mut().enumerate() {
        // The last letter has two bits too many.
        let bits = (0..6).map(|bit| block.get(at * 6 + bit).copied().unwrap_or(0));
        *letter = LETTERS[number(bits)];
    }
    Some(made)
}

/// Returns the keys of the 16 rounds. The lower seven bits of each character count.
fn schedule(password: &[u8]) -> [[u8; 48]; 16] {
    let mut key = [0; 64];
    for (at, bit) in key.iter_mut().enumerate().filter(|(at, _)| at % 8 < 7) {
        // As in C, a NUL ends the password.
        let text = password.split(|b| *b == 0).next().unwrap_or_default();
        let letter = text.get(at / 8).copied().unwrap_or(0);
        *bit = letter >> (6 - at % 8) & 1;
    }
    let mut halves: [u8; 56] = permuted(&key, &CHOICE_1);
    std::array::from_fn(|round| {
        let by = if [0, 1, 8, 15].contains(&round) { 1 } else { 2 };
        halves[..28].rotate_left(by);
        halves[28..].rotate_left(by);
        permuted(&halves, &CHOICE_2)
    })
}

/// One DES without its first and last permutations, which cancel each other out between two of them.
fn encrypt(block: &[u8; 64], keys: &[[u8; 48]; 16], swapped: usize) -> [u8; 64] {
    let (mut left, mut right) = ([0; 32], [0; 32]);
    left.copy_from_slice(&block[..32]);
    right.copy_from_slice(&block[32..]);
    for key in keys {
        let mut wide: [u8; 48] = permuted(&right, &EXPANSION);
        for bit in (0..12).filter(|bit| swapped >> bit & 1 == 1) {
            wide.swap(bit, bit + 24);
        }
        let mut chosen = [0; 32];
        for (at, (six, key)) in wide.chunks_exact(6).zip(key.chunks_exact(6)).enumerate() {
            let bit = |at: usize| six[at] ^ key[at];
            let row = number([bit(0), bit(5)]);
            let column = number([bit(1), bit(2), bit(3), bit(4)]);
            let out = BOXES[at][row * 16 + column];
            for (bit, to) in chosen[at * 4..at * 4 + 4].iter_mut().enumerate() {
                *to = out >> (3 - bit) & 1;
            }
        }
        let mixed: [u8; 32] = permuted(&chosen, &PERMUTATION);
        let next = std::array::from_fn(|at| left[at] ^ mixed[at]);
        (left, right) = (right, next);
    }
    // The halves change places after the last round.
    let mut out = [0; 64];
    out[..32].copy_from_slice(&right);
    out[32..].copy_from_slice(&left);
    out
}

fn permuted<const LEN: usize>(bits: &[u8], table: &[u8; LEN]) -> [u8; LEN] {
    table.map(|from| bits[usize::from(from) - 1])
}

fn number(bits: impl IntoIterator<Item = u8>) -> usize {
    bits.into_iter().fold(0, |sum, bit| sum << 1 | usize::from(bit))
}

#[rustfmt::skip]
const CHOICE_1: [u8; 56] = [
    57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44, 36,
    63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20, 12, 4,
];

#[rustfmt::skip]
const CHOICE_2: [u8; 48] = [
    14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2,
    41, 52, 31, 37, 47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];

#[rustfmt::skip]
const EXPANSION: [u8; 48] = [
    32, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9, 8, 9, 10, 11, 12, 13, 12, 13, 14, 15, 16, 17,
    16, 17, 18, 19, 20, 21, 20, 21, 22, 23, 24, 25, 24, 25, 26, 27, 28, 29, 28, 29, 30, 31, 32, 1,
];

#[rustfmt::skip]
const PERMUTATION: [u8; 32] = [
    16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22, 11, 4, 25,
];

#[rustfmt::skip]
const FINAL: [u8; 64] = [
    40, 8, 48, 16, 56, 24, 64, 32, 39, 7, 47, 15, 55, 23, 63, 31, 38, 6, 46, 14, 54, 22, 62, 30, 37, 5, 45, 13, 53, 21, 61, 29,
    36, 4, 44, 12, 52, 20, 60, 28, 35, 3, 43, 11, 51, 19, 59, 27, 34, 2, 42, 10, 50, 18, 58, 26, 33, 1, 41, 9, 49, 17, 57, 25,
];

#[rustfmt::skip]
const BOXES: [[u8; 64]; 8] = [
    [14, 4, 13, 1, 2, 15, 11, 8, 3, 10, 6, 12, 5, 9, 0, 7, 0, 15, 7, 4, 14, 2, 13, 1, 10, 6, 12, 11, 9, 5, 3, 8,
     4, 1, 14, 8, 13, 6, 2, 11, 15, 12, 9, 7, 3, 10, 5, 0, 15, 12, 8, 2, 4, 9, 1, 7, 5, 11, 3, 14, 10, 0, 6, 13],
    [15, 1, 8, 14, 6, 11, 3, 4, 9, 7, 2, 13, 12, 0, 5, 10, 3, 13, 4, 7, 15, 2, 8, 14, 12, 0, 1, 10, 6, 9, 11, 5,
     0, 14, 7, 11, 10, 4, 13, 1, 5, 8, 12, 6, 9, 3, 2, 15, 13, 8, 10, 1, 3, 15, 4, 2, 11, 6, 7, 12, 0, 5, 14, 9],
    [10, 0, 9, 14, 6, 3, 15, 5, 1, 13, 12, 7, 11, 4, 2, 8, 13, 7, 0, 9, 3, 4, 6, 10, 2, 8, 5, 14, 12, 11, 15, 1,
     13, 6, 4, 9, 8, 15, 3, 0, 11, 1, 2, 12, 5, 10, 14, 7, 1, 10, 13, 0, 6, 9, 8, 7, 4, 15, 14, 3, 11, 5, 2, 12],
    [7, 13, 14, 3, 0, 6, 9, 10, 1, 2, 8, 5, 11, 12, 4, 15, 13, 8, 11, 5, 6, 15, 0, 3, 4, 7, 2, 12, 1, 10, 14, 9,
     10, 6, 9, 0, 12, 11, 7, 13, 15, 1, 3, 14, 5, 2, 8, 4, 3, 15, 0, 6, 10, 1, 13, 8, 9, 4, 5, 11, 12, 7, 2, 14],
    [2, 12, 4, 1, 7, 10, 11, 6, 8, 5, 3, 15, 13, 0, 14, 9, 14, 11, 2, 12, 4, 7, 13, 1, 5, 0, 15, 10, 3, 9, 8, 6,
     4, 2, 1, 11, 10, 13, 7, 8, 15, 9, 12, 5, 6, 3, 0, 14, 11, 8, 12, 7, 1, 14, 2, 13, 6, 15, 0, 9, 10, 4, 5, 3],
    [12, 1, 10, 15, 9, 2, 6, 8, 0, 13, 3, 4, 14, 7, 5, 11, 10, 15, 4, 2, 7, 12, 9, 5, 6, 1, 13, 14, 0, 11, 3, 8,
     9, 14, 15, 5, 2, 8, 12, 3, 7, 0, 4, 10, 1, 13, 11, 6, 4, 3, 2, 12, 9, 5, 15, 10, 11, 14, 1, 7, 6, 0, 8, 13],
    [4, 11, 2, 14, 15, 0, 8, 13, 3, 12, 9, 7, 5, 10, 6, 1, 13, 0, 11, 7, 4, 9, 1, 10, 14, 3, 5, 12, 2, 15, 8, 6,
     1, 4, 11, 13, 12, 3, 7, 14, 10, 15, 6, 8, 0, 5, 9, 2, 6, 11, 13, 8, 1, 4, 10, 7, 9, 5, 0, 15, 14, 2, 3, 12],
    [13, 2, 8, 4, 6, 15, 11, 1, 10, 9, 3, 14, 5, 0, 12, 7, 1, 15, 13, 8, 10, 3, 7, 4, 12, 5, 6, 11, 0, 14, 9, 2,
     7, 11, 4, 1, 9, 12, 14, 2, 0, 6, 10, 13, 15, 3, 5, 8, 2, 1, 14, 7, 4, 10, 8, 13, 15, 12, 9, 0, 3, 5, 6, 11],
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by the C library of Debian.
    #[test]
    fn hashes_are_those_of_the_system() {
        for (password, hash) in [
            ("secret", "abNANd1rDfiNc"),
            ("", "./Una9Fi.seRo"),
            ("longer than eight", "zZb64kacvY9KA"),
            ("\u{e4}b", "9Arqzvl/vgMqI"),
        ] {
            assert_eq!(verify(password.as_bytes(), hash), Some(true), "{password}");
            assert_eq!(verify(b"another", hash), Some(false));
        }
        assert_eq!(verify(b"longer than nine", "zZb64kacvY9KA"), Some(true));
        for none in ["", "abNANd1rDfiN", "abNANd1rDfiN!", "$1$abcdefghij"] {
            assert_eq!(verify(b"x", none), None, "{none}");
        }
    }
}
