//! A longest common subsequence of two sequences of numbers, in O(NP).
//!
//! The algorithm is Wu, Manber, Myers and Miller's ("An O(NP) sequence comparison algorithm", 1990): N the length of the longer
//! sequence, P the number of its elements that are left out besides the difference in length. It walks diagonals from both
//! sides towards the one that ends in the corner. Where a diagonal can be reached equally far from both
//! neighbours, the one that adds to the old text before it takes away is chosen: that is what makes the result the incumbent's,
//! found by comparing with its output (see `tests/it`).
//!
//! Chains of matches are kept in an arena. Between two rounds of the walk, when half of it may be unused, unreachable
//! chains are dropped, so that memory stays proportional to the chains that the front of the walk can reach. A step
//! that matches nothing (nearly all steps between unlike texts) touches only its diagonal and the two next to it.

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

/// Finds the matches, in order; `None` as soon as `go_on` returns false.
///
/// Elements that only one side has cannot match, and they do not change the result: of several longest subsequences
/// the walk finds the same one with and without them (see the tests). So they are left out, and texts with little in
/// common cost little.
pub(crate) fn matches(old: &[u32], new: &[u32], go_on: &dyn Fn() -> bool) -> Option<Vec<Match>> {
    let ids = old.iter().chain(new).max().map_or(0, |&most| most as usize + 1);
    let (left, right) = (Common::of(old, new, ids), Common::of(new, old, ids));
    let mut found = Vec::new();
    if left.ids.is_empty() {
        return Some(found);
    }
    let mut add = |old: usize, new: usize| match found.last_mut() {
        Some(Match { old: o, new: n, len }) if (*o + *len, *n + *len) == (old, new) => *len += 1,
        _ => found.push(Match { old, new, len: 1 }),
    };
    let is_swapped = left.ids.len() > right.ids.len();
    let (short, long) = match is_swapped {
        true => (&right, &left),
        false => (&left, &right),
    };
    for m in walk(&short.ids, &long.ids, is_swapped, go_on)? {
        for step in 0..m.len {
            let (s, l) = (short.places[m.old + step], long.places[m.new + step]);
            match is_swapped {
                true => add(l as usize, s as usize),
                false => add(s as usize, l as usize),
            }
        }
    }
    Some(found)
}

/// The elements of a sequence that the other one has, too.
struct Common {
    ids: Vec<u32>,
    /// Where they are in the whole sequence.
    places: Vec<u32>,
}

impl Common {
    /// `bound` is above all numbers of both sequences.
    fn of(all: &[u32], other: &[u32], bound: usize) -> Self {
        let mut is_known = vec![false; bound];
        for &id in other {
            is_known[id as usize] = true;
        }
        let common = all.iter().zip(0u32..).filter(|(id, _)| is_known[**id as usize]);
        let (ids, places) = common.map(|(&id, place)| (id, place)).unzip();
        Common { ids, places }
    }
}

/// `short` is not longer than `long`. `swapped` is true if the new sequence is the shorter one. Calls `go_on` in each
/// round.
fn walk(short: &[u32], long: &[u32], swapped: bool, go_on: &dyn Fn() -> bool) -> Option<Vec<Match>> {
    let delta = long.len() - short.len();
    // Diagonal k is at index k + zero.
    let zero = short.len() + 1;
    let mut front = vec![Reach { far: 0, chain: NONE }; short.len() + long.len() + 3];
    let mut chains = Chains::default();
    let end = zero + delta;
    let mut p = 0;
    loop {
        if !go_on() {
            return None;
        }
        // Diagonals that were not visited reach nowhere: their neighbours are read all the same.
        let touched = zero - p - 1..end + p + 2;
        chains.make_room(&mut front[touched]);
        let mut step = |at: usize| {
            let (left, right) = (front[at - 1], front[at + 1]);
            // `far` counts elements of the long sequence, one more than the index reached: zero is "not visited".
            let is_left = left.far + 1 > right.far || (swapped && left.far + 1 == right.far);
            let (far, mut chain) = match is_left {
                true => (left.far + 1, left.chain),
                false => (right.far, right.chain),
            };
            let start = far as usize - 1;
            let mut y = start;
            let mut x = y + zero - at;
            while x < short.len() && y < long.len() && short[x] == long[y] {
                x += 1;
                y += 1;
            }
            let len = y - start;
            if len > 0 {
                chain = chains.push(x - len, start, len, chain);
            }
            let far = far + narrow(len);
            front[at] = Reach { far, chain };
        };
        for at in zero - p..end {
            step(at);
        }
        for at in (end + 1..=end + p).rev() {
            step(at);
        }
        step(end);
        if front[end].far as usize > long.len() {
            break;
        }
        p += 1;
    }
    Some(chains.list(front[end].chain))
}

/// Both sequences together have fewer elements than a `u32` counts: their places are kept in one, too.
fn narrow(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// How far a diagonal was walked.
#[derive(Clone, Copy)]
struct Reach {
    /// Elements of the long sequence passed, plus one.
    far: u32,
    chain: u32,
}

/// Matches that end at some front, each pointing to the previous one, which was always added earlier.
#[derive(Default)]
struct Chains {
    nodes: Vec<Node>,
    /// The number of nodes that the last cleaning left.
    kept: usize,
}

struct Node {
    short: u32,
    long: u32,
    len: u32,
    before: u32,
}

impl Chains {
    fn push(&mut self, short: usize, long: usize, len: usize, before: u32) -> u32 {
        self.nodes.push(Node {
            short: narrow(short),
            long: narrow(long),
            len: narrow(len),
            before,
        });
        narrow(self.nodes.len())
    }

    /// Drops the nodes that no diagonal of `front` leads to, once that pays: when there are twice as many nodes as
    /// were left the last time, and more than diagonals.
    fn make_room(&mut self, front: &mut [Reach]) {
        if self.nodes.len() < (self.kept * 2).max(front.len()).max(FEW) {
            return;
        }
        let mut places = vec![NONE; self.nodes.len()];
        for reach in front.iter() {
            let mut chain = reach.chain;
            while chain != NONE && places[chain as usize - 1] == NONE {
                places[chain as usize - 1] = chain;
                chain = self.nodes[chain as usize - 1].before;
            }
        }
        let place_of = |places: &[u32], chain: u32| match chain {
            NONE => NONE,
            chain => places[chain as usize - 1],
        };
        let mut kept = 0;
        for at in 0..self.nodes.len() {
            if places[at] == NONE {
                continue;
            }
            self.nodes[at].before = place_of(&places, self.nodes[at].before);
            self.nodes.swap(kept, at);
            kept += 1;
            places[at] = narrow(kept);
        }
        self.nodes.truncate(kept);
        self.kept = kept;
        for reach in front {
            reach.chain = place_of(&places, reach.chain);
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

/// No chain; links are one more than the index.
const NONE: u32 = 0;
/// Fewer nodes are never cleaned (a megabyte). Tests clean all the time.
const FEW: usize = if cfg!(test) { 4 } else { 1 << 16 };

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The walk over everything.
    fn with_all(old: &[u32], new: &[u32]) -> Vec<(usize, usize)> {
        let is_swapped = old.len() > new.len();
        let found = match is_swapped {
            true => walk(new, old, true, &|| true),
            false => walk(old, new, false, &|| true),
        };
        let found = found.expect("because nothing stops it");
        let pairs = pairs(&found);
        match is_swapped {
            true => pairs.into_iter().map(|(short, long)| (long, short)).collect(),
            false => pairs,
        }
    }

    fn pairs(matches: &[Match]) -> Vec<(usize, usize)> {
        let each = |m: &Match| {
            let m = *m;
            (0..m.len).map(move |step| (m.old + step, m.new + step))
        };
        matches.iter().flat_map(each).collect()
    }

    /// Some numbers that both sides may have, and many of which each has its own.
    fn sequence(own: std::ops::Range<u32>) -> impl Strategy<Value = Vec<u32>> {
        (1..6u32, 0..10u32, 1..60usize).prop_flat_map(move |(alphabet, rate, most)| {
            let own = own.clone();
            let element = (0..10u32, 0..alphabet, own).prop_map(move |(die, shared, own)| match die < rate {
                true => own,
                false => shared,
            });
            prop::collection::vec(element, 0..most)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn what_only_one_side_has_changes_nothing(old in sequence(100..150), new in sequence(150..200)) {
            let found = matches(&old, &new, &|| true).expect("because nothing stops it");
            prop_assert_eq!(pairs(&found), with_all(&old, &new));
        }
    }

    #[test]
    fn runs_are_whole() {
        let all = |old: &[u32], new: &[u32]| matches(old, new, &|| true).expect("because nothing stops it");
        let found = all(&[1, 2, 9, 3], &[8, 1, 2, 3]);
        let expect = [(0, 1, 2), (3, 3, 1)].map(|(old, new, len)| Match { old, new, len });
        assert_eq!(found, expect);
        assert_eq!(all(&[], &[1]), []);
        assert_eq!(all(&[2], &[1]), []);
    }

    #[test]
    fn a_walk_ends_when_it_may_not_go_on() {
        let old: Vec<u32> = (0..10_000).map(|n| n * 7 % 97).collect();
        let new: Vec<u32> = (0..10_000).map(|n| n * 5 % 97).collect();
        let rounds = std::cell::Cell::new(0);
        let go_on = || {
            rounds.set(rounds.get() + 1);
            rounds.get() < 100
        };
        assert_eq!(matches(&old, &new, &go_on), None);
        assert_eq!(rounds.get(), 100);
    }
}
