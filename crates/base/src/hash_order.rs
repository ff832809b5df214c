//! The order in which Subversion walks a directory that it holds in a hash table.
//!
//! Where it writes whole subtrees (the first revision of a partial dump, a copy as plain additions) the order of
//! siblings is that of its hash table, not that of their names; so does its client with a directory that a difference
//! deletes. To produce the same bytes, this module computes the order of that table: each name is inserted at the tail of
//! its bucket; a full table is doubled, which moves every entry to the head of its new bucket.

/// Returns the positions of `names`, which are in the order of their insertion, in the order of the walk.
pub fn hash_order<'n>(names: impl ExactSizeIterator<Item = &'n [u8]>) -> Vec<u32> {
    let mut table = Table::new(names.len());
    for name in names {
        table.insert(hash(name));
    }
    table.order()
}

/// Buckets as linked lists through one array, so that a directory of any size costs two allocations.
struct Table {
    mask: u32,
    /// First and last entry of each bucket.
    buckets: Vec<(u32, u32)>,
    /// Hash of each entry and the entry that follows it in its bucket.
    entries: Vec<(u32, u32)>,
}

impl Table {
    fn new(capacity: usize) -> Self {
        Table {
            mask: FIRST_MASK,
            buckets: vec![(NONE, NONE); FIRST_MASK as usize + 1],
            entries: Vec::with_capacity(capacity),
        }
    }

    fn insert(&mut self, hash: u32) {
        let entry = index(self.entries.len());
        self.entries.push((hash, NONE));
        let bucket = &mut self.buckets[(hash & self.mask) as usize];
        match bucket.1 {
            NONE => *bucket = (entry, entry),
            last => {
                self.entries[last as usize].1 = entry;
                bucket.1 = entry;
            }
        }
        if self.entries.len() > self.mask as usize {
            self.double();
        }
    }

    fn double(&mut self) {
        let order = self.order();
        self.mask = 2 * self.mask + 1;
        self.buckets.clear();
        self.buckets.resize(self.mask as usize + 1, (NONE, NONE));
        for entry in order {
            let (hash, next) = &mut self.entries[entry as usize];
            let bucket = &mut self.buckets[(*hash & self.mask) as usize];
            *next = bucket.0;
            bucket.0 = entry;
            if bucket.1 == NONE {
                bucket.1 = entry;
            }
        }
    }

    fn order(&self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.entries.len());
        for (first, _) in &self.buckets {
            let mut at = *first;
            while at != NONE {
                order.push(at);
                at = self.entries[at as usize].1;
            }
        }
        order
    }
}

/// The hash of a name on 64-bit x86 builds of Subversion.
fn hash(name: &[u8]) -> u32 {
    const POWER: u32 = 33 * 33 * 33 * 33;
    let mut chunks = name.chunks_exact(4);
    let mut hash = 0u32;
    for chunk in &mut chunks {
        let word = u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        hash = hash
            .wrapping_mul(POWER)
            .wrapping_add(word)
            .wrapping_add(word >> 17);
    }
    chunks.remainder().iter().fold(hash, |hash, byte| {
        hash.wrapping_mul(33).wrapping_add(u32::from(*byte))
    })
}

fn index(position: usize) -> u32 {
    u32::try_from(position).expect("because a directory has fewer than 2^32 entries")
}

const FIRST_MASK: u32 = 15;
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(mut names: Vec<&str>) -> Vec<&str> {
        names.sort_unstable();
        let order = hash_order(names.iter().map(|name| name.as_bytes()));
        order.into_iter().map(|at| names[at as usize]).collect()
    }

    #[test]
    fn the_order_of_svnserve() {
        let names = vec![
            "a", "bar", "bb", "d1", "dd", "foo", "kk2", "l1", "l2", "mm", "quux", "zz",
        ];
        let seen = [
            "a", "bb", "foo", "zz", "bar", "d1", "dd", "kk2", "mm", "quux", "l1", "l2",
        ];
        assert_eq!(ordered(names), seen);
    }

    #[test]
    fn growing_loses_nothing() {
        let names: Vec<String> = (0..1000).map(|n| format!("file-{n}")).collect();
        let mut order = ordered(names.iter().map(String::as_str).collect());
        order.sort_unstable();
        let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        assert_eq!(order, sorted);
    }
}
