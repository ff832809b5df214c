//! What two byte strings have in common at their ends, compared a word at a time.

const WORD: usize = size_of::<u64>();

#[inline]
fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// Returns the number of equal bytes at the front of both.
#[inline]
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let mut at = 0;
    for (x, y) in a.chunks_exact(WORD).zip(b.chunks_exact(WORD)) {
        let differ = word(x) ^ word(y);
        if differ != 0 {
            return at + (differ.trailing_zeros() / 8) as usize;
        }
        at += WORD;
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(x, y)| x == y).count()
}

/// Returns the number of equal bytes at the end of both.
#[inline]
pub fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[a.len() - len..], &b[b.len() - len..]);
    let mut left = len;
    for (x, y) in a.rchunks_exact(WORD).zip(b.rchunks_exact(WORD)) {
        let differ = word(x) ^ word(y);
        if differ != 0 {
            return len - left + (differ.leading_zeros() / 8) as usize;
        }
        left -= WORD;
    }
    let pairs = a[..left].iter().rev().zip(b[..left].iter().rev());
    len - left + pairs.take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_edges() {
        let a: Vec<u8> = (0..100).collect();
        for len in 0..100 {
            let mut b = a.clone();
            b[len] ^= 1;
            assert_eq!(common_prefix(&a, &b), len);
            assert_eq!(common_prefix(&a[..len], &a), len);
            assert_eq!(common_suffix(&a, &b), 99 - len);
            assert_eq!(common_suffix(&a[len..], &a), 100 - len);
        }
    }
}
