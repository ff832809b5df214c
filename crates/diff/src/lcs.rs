//! A longest common subsequence of two sequences of numbers, in O(NP).
//!
//! The algorithm is Wu, Manber, Myers and Miller's ("An O(NP) sequence comparison algorithm", 1990): N the length of the longer
//! sequence, P the number of its elements that are left out besides the difference in length. It walks diagonals from both
//! sides towards the one that ends in the corner. Where a diagonal can be reached equally far from both
//! neighbours, the one that adds to the old text before it takes away is chosen: that is what makes the result the incumbent's,
//! found by comparing with its output (see `tests/it`).
//!
//! Chains of matches are kept in an arena with reference counts, so that memory stays in proportion to what is
//! still reachable from the walk's front.

use std::collections::HashSet;

/// A run of equal elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    /// Start in the old sequence.
    pub old: usize,
    /// Start in the new sequence.
    pub new: usize,
    /// Number of elements.
    pub len: usize,
}

/// Finds the matches, in order.
pub(crate) fn matches(old: &[u32], new: &[u32]) -> Vec<Match> {
    // Wholly different texts are common (generated files) and the walk's worst case.
    let known: HashSet<u32> = old.iter().copied().collect();
    if !new.iter().any(|id| known.contains(id)) {
        return Vec::new();
    }
    if old.len() > new.len() {
        let mut found = walk(new, old, true);
        for m in &mut found {
            std::mem::swap(&mut m.old, &mut m.new);
        }
        return found;
    }
    walk(old, new, false)
}

/// `short` is not longer than `long`. `swapped` says that the new sequence is the shorter one.
fn walk(short: &[u32], long: &[u32], swapped: bool) -> Vec<Match> {
    let delta = long.len() - short.len();
    // Diagonal k is at index k + zero.
    let zero = short.len() + 1;
    let mut front = vec![Reach { far: 0, chain: NONE }; short.len() + long.len() + 3];
    let mut chains = Chains::default();
    let mut step = |front: &mut [Reach], at: usize| {
        let (left, right) = (front[at - 1], front[at + 1]);
        // `far` counts elements of the long sequence, one more than the index reached: zero is "nowhere yet".
        let (far, chain) = match (left.far + 1, right.far) {
            (l, r) if l > r || (swapped && l == r) => (l, left.chain),
            (_, r) => (r, right.chain),
        };
        let start = far - 1;
        let mut y = start;
        let mut x = y + zero - at;
        while x < short.len() && y < long.len() && short[x] == long[y] {
            x += 1;
            y += 1;
        }
        let chain = if y > start {
            let len = y - start;
            chains.push(x - len, start, len, chain)
        } else {
            chains.hold(chain);
            chain
        };
        chains.release(front[at].chain);
        front[at] = Reach { far: y + 1, chain };
    };
    let end = zero + delta;
    let mut p = 0;
    loop {
        for at in zero - p..end {
            step(&mut front, at);
        }
        for at in (end + 1..=end + p).rev() {
            step(&mut front, at);
        }
        step(&mut front, end);
        if front[end].far > long.len() {
            break;
        }
        p += 1;
    }
    chains.list(front[end].chain)
}

/// How far a diagonal was walked.
#[derive(Clone, Copy)]
struct Reach {
    /// Elements of the long sequence passed, plus one.
    far: usize,
    chain: u32,
}

/// Matches that end at some front, each pointing to the one before it.
#[derive(Default)]
struct Chains {
    nodes: Vec<Node>,
    free: u32,
}

struct Node {
    short: u32,
    long: u32,
    len: u32,
    before: u32,
    references: u32,
}

impl Chains {
    fn push(&mut self, short: usize, long: usize, len: usize, before: u32) -> u32 {
        self.hold(before);
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let node = Node {
            short: small(short),
            long: small(long),
            len: small(len),
            before,
            references: 1,
        };
        if self.free != 0 {
            let at = self.free;
            let slot = &mut self.nodes[at as usize - 1];
            self.free = slot.before;
            *slot = node;
            return at;
        }
        self.nodes.push(node);
        small(self.nodes.len())
    }

    fn hold(&mut self, chain: u32) {
        if chain != NONE {
            self.nodes[chain as usize - 1].references += 1;
        }
    }

    fn release(&mut self, mut chain: u32) {
        while chain != NONE {
            let node = &mut self.nodes[chain as usize - 1];
            node.references -= 1;
            if node.references > 0 {
                return;
            }
            let before = node.before;
            node.before = self.free;
            self.free = chain;
            chain = before;
        }
    }

    fn list(&self, mut chain: u32) -> Vec<Match> {
        let mut found = Vec::new();
        while chain != NONE {
            let node = &self.nodes[chain as usize - 1];
            found.push(Match {
                old: node.short as usize,
                new: node.long as usize,
                len: node.len as usize,
            });
            chain = node.before;
        }
        found.reverse();
        found
    }
}

/// No chain; links are one more than the index, so that an empty free list is zero, too.
const NONE: u32 = 0;
