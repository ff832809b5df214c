//! The order of the keys in the hash tables of Subversion and APR, as it was observed.
//!
//! A table has 16 buckets, and doubles them when it gets as many keys. It is walked bucket by bucket. The keys of one
//! bucket are in the order of insertion. That changes when the table grows and when it is copied afterwards, which is
//! not imitated: the order is exact for up to 15 keys.

/// Sorts items, which are in the order of their insertion, by the buckets of their keys.
pub(super) fn sort<T>(items: &mut [T], key: impl Fn(&T) -> &[u8]) {
    let last_bucket = last_bucket(items.len());
    items.sort_by_key(|item| hash(key(item)) & last_bucket);
}

/// Returns the number of the last bucket of a table with so many keys.
fn last_bucket(keys: usize) -> u32 {
    let buckets = (keys.max(15) + 1).next_power_of_two();
    u32::try_from(buckets - 1).unwrap_or(u32::MAX)
}

/// Returns the hash of a key. Its low 15 bits are exact; higher ones would show only in larger tables.
///
/// It is Bernstein's (times 33), but takes four bytes at a time as a little-endian number, and adds the upper bits of
/// that number to its lower bits.
fn hash(key: &[u8]) -> u32 {
    const FOUR_TIMES: u32 = 33 * 33 * 33 * 33;
    let (chunks, rest) = key.as_chunks();
    let hash = chunks.iter().fold(0u32, |hash, chunk| {
        let value = u32::from_le_bytes(*chunk);
        let value = value.wrapping_add(value >> 17);
        hash.wrapping_mul(FOUR_TIMES).wrapping_add(value)
    });
    rest.iter().fold(hash, |hash, byte| {
        hash.wrapping_mul(33).wrapping_add(u32::from(*byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(keys: &str) -> String {
        let mut keys: Vec<&str> = keys.split(' ').collect();
        sort(&mut keys, |key| key.as_bytes());
        keys.join(" ")
    }

    /// Orders of merged revisions that svnserve was seen to send (reversed).
    #[test]
    fn observed_orders() {
        assert_eq!(sorted("/g /B /D /C /A /E /f /h"), "/A /B /C /D /E /f /g /h");
        assert_eq!(sorted("/A /B /B-b /C /g"), "/A /B /C /B-b /g");
        assert_eq!(
            sorted("/a0 /a1 /a10 /a11 /a12 /a2 /a3 /a4 /a5 /a6 /a7 /a8 /a9"),
            "/a0 /a1 /a2 /a3 /a4 /a5 /a6 /a10 /a11 /a12 /a7 /a8 /a9"
        );
    }

    /// Keys of eight bytes, in a table of 1024 buckets.
    #[test]
    fn chunks_are_chained() {
        assert_eq!(hash(b"/aaa") & 15, 15);
        assert_eq!(hash(b"/aaaaaaa") & 15, 0);
    }

    #[test]
    fn tables_grow_by_doubling() {
        let sizes = [0, 15, 16, 31, 32].map(last_bucket);
        assert_eq!(sizes, [15, 15, 31, 31, 63]);
    }
}
