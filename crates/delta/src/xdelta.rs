//! The block matcher: makes one window out of a source view and a target view.
//!
//! The source is cut into blocks of 64 bytes and indexed by a checksum that rolls: the target is scanned byte by
//! byte, and where the checksum of its next 64 bytes is that of a block (and the bytes are too), the match is
//! grown both ways. The instructions are those that Subversion 1.14 makes, window for window, so that stored
//! deltas and dump streams come out alike.
//!
//! A common prefix and suffix are taken before and after, without blocks. What the matcher does not do: look
//! beyond the view, or copy from the target.

use crate::window::{Op, WINDOW_SIZE, Window};

/// Length of the indexed pieces of the source, bytes.
const BLOCK: usize = 64;

/// Shorter common prefixes and suffixes are not worth an instruction.
const MIN_EDGE: usize = 5;

/// How far a look-up goes. Texts do not get there; it bounds what a text made for the purpose costs.
const MAX_PROBES: usize = 64;

/// Slot without a block.
const FREE: u32 = u32::MAX;

/// Makes windows; keeps its tables for the next one.
#[derive(Default)]
pub struct Matcher {
    /// Open addressing, a power of two of slots, at most half full.
    slots: Vec<Slot>,
    /// One bit for each value of some checksum bits that any block has: most positions of the target need no
    /// look at the slots.
    filter: Vec<u64>,
}

#[derive(Clone, Copy)]
struct Slot {
    key: u32,
    /// Where the block starts in the source view, or [`FREE`].
    at: u32,
}

impl Matcher {
    /// Starts with nothing allocated.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the window that turns `source` into `target`; both have at most [`WINDOW_SIZE`] bytes.
    pub fn window(&mut self, source_offset: u64, source: &[u8], target: &[u8]) -> Window {
        let mut window = Window::default();
        self.window_into(source_offset, source, target, &mut window);
        window
    }

    /// Like [`Matcher::window`], into a window whose buffers are used again.
    pub fn window_into(&mut self, source_offset: u64, source: &[u8], target: &[u8], window: &mut Window) {
        assert!(source.len() <= WINDOW_SIZE && target.len() <= WINDOW_SIZE);
        window.source_offset = source_offset;
        window.source_len = source.len() as u32;
        window.target_len = target.len() as u32;
        window.ops.clear();
        window.new_data.clear();
        let mut pending = 0;
        if !source.is_empty() {
            let prefix = common_prefix(source, target);
            if prefix >= MIN_EDGE || prefix == target.len() {
                copy(window, 0, prefix);
                pending = prefix;
            }
            if target.len() - pending >= BLOCK && source.len() >= BLOCK {
                self.index(source);
                pending = self.matches(source, target, pending, window);
            }
        }
        finish(source, target, pending, window);
    }

    /// Fills slots and filter with the whole blocks of the source; of equal blocks the first one counts.
    fn index(&mut self, source: &[u8]) {
        let blocks = source.len() / BLOCK;
        let slots = (2 * blocks).next_power_of_two();
        self.slots.clear();
        self.slots.resize(slots, Slot { key: 0, at: FREE });
        // 32 or more bits a block: one position in forty, or fewer, passes for nothing.
        self.filter.clear();
        self.filter.resize((slots / 4).max(1), 0);
        let (slot_mask, filter_mask) = (slots - 1, self.filter.len() - 1);
        for (number, block) in source.chunks_exact(BLOCK).enumerate() {
            let hash = Sums::of(block).hash();
            let mut place = slot_of(hash, slot_mask);
            for _ in 0..MAX_PROBES {
                let slot = &mut self.slots[place];
                if slot.at == FREE {
                    *slot = Slot {
                        key: hash,
                        at: (number * BLOCK) as u32,
                    };
                    let (word, bit) = filter_bit(hash, filter_mask);
                    self.filter[word] |= bit;
                    break;
                }
                let at = slot.at as usize;
                if slot.key == hash && source[at..at + BLOCK] == *block {
                    break;
                }
                place = (place + 1) & slot_mask;
            }
        }
    }

    /// Emits instructions up to the end of the last match; returns that end.
    fn matches(&self, source: &[u8], target: &[u8], start: usize, window: &mut Window) -> usize {
        let index = Index {
            slots: &self.slots,
            filter: &self.filter,
        };
        let last = target.len() - BLOCK;
        let mut pending = start;
        let mut from = start;
        while from < last {
            let Some((mut at, mut apos)) = index.find(source, target, from, last) else {
                break;
            };
            let mut end = at + BLOCK;
            end += common_prefix(&source[apos + BLOCK..], &target[end..]);
            let grown = common_suffix(&source[..apos], &target[pending..at]);
            at -= grown;
            apos -= grown;
            if at > pending {
                insert(window, &target[pending..at]);
            } else {
                let shared = common_suffix(&source[..apos], &target[..at]);
                let removed = remove_tail(window, shared);
                at -= removed;
                apos -= removed;
            }
            copy(window, apos, end - at);
            pending = end;
            from = end;
        }
        pending
    }
}

/// What the scan of a target needs to see.
struct Index<'a> {
    slots: &'a [Slot],
    filter: &'a [u64],
}

impl Index<'_> {
    /// Finds the first position in `from..=last` of the target whose next 64 bytes are a block; returns it and
    /// the block's place in the source.
    fn find(&self, source: &[u8], target: &[u8], from: usize, last: usize) -> Option<(usize, usize)> {
        let filter_mask = self.filter.len() - 1;
        let mut sums = Sums::of(&target[from..from + BLOCK]);
        let leaving = &target[from..last];
        let entering = &target[from + BLOCK..];
        for (step, (out, new)) in leaving.iter().zip(entering).enumerate() {
            let hash = sums.hash();
            let (word, bit) = filter_bit(hash, filter_mask);
            if self.filter[word & filter_mask] & bit != 0
                && let Some(apos) = self.look_up(hash, source, &target[from + step..])
            {
                return Some((from + step, apos));
            }
            sums.roll(*out, *new);
        }
        self.look_up(sums.hash(), source, &target[last..])
            .map(|apos| (last, apos))
    }

    fn look_up(&self, hash: u32, source: &[u8], target: &[u8]) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut place = slot_of(hash, mask);
        for _ in 0..MAX_PROBES {
            let slot = self.slots[place];
            if slot.at == FREE {
                return None;
            }
            let at = slot.at as usize;
            if slot.key == hash && source[at..at + BLOCK] == target[..BLOCK] {
                return Some(at);
            }
            place = (place + 1) & mask;
        }
        None
    }
}

fn slot_of(hash: u32, mask: usize) -> usize {
    (hash >> 16) as usize & mask
}

fn filter_bit(hash: u32, mask: usize) -> (usize, u64) {
    ((hash >> 6) as usize & mask, 1 << (hash & 63))
}

/// The rolling checksum: the sum of the bytes, and the sum of the sums that each byte left behind.
#[derive(Clone, Copy)]
struct Sums {
    plain: u32,
    weighted: u32,
}

impl Sums {
    fn of(block: &[u8]) -> Self {
        let mut sums = Sums {
            plain: 0,
            weighted: 0,
        };
        for byte in block {
            sums.plain += u32::from(*byte);
            sums.weighted += sums.plain;
        }
        sums
    }

    #[inline]
    fn roll(&mut self, out: u8, new: u8) {
        self.plain = self
            .plain
            .wrapping_sub(u32::from(out))
            .wrapping_add(u32::from(new));
        self.weighted = self
            .weighted
            .wrapping_sub(u32::from(out) * BLOCK as u32)
            .wrapping_add(self.plain);
    }

    /// Spreads the 34 bits of both sums over 32.
    #[inline]
    fn hash(self) -> u32 {
        let mixed = (self.weighted ^ self.plain << 18).wrapping_mul(0x9e37_79b1);
        mixed ^ mixed >> 15
    }
}

/// Emits the rest of the target, whose end may be the end of the source.
fn finish(source: &[u8], target: &[u8], pending: usize, window: &mut Window) {
    let rest = &target[pending..];
    let mut suffix = common_suffix(source, rest);
    if suffix < MIN_EDGE {
        suffix = 0;
    }
    insert(window, &rest[..rest.len() - suffix]);
    copy(window, source.len() - suffix, suffix);
}

fn insert(window: &mut Window, bytes: &[u8]) {
    if !bytes.is_empty() {
        window.push_op(Op::New {
            len: bytes.len() as u32,
        });
        window.new_data.extend_from_slice(bytes);
    }
}

fn copy(window: &mut Window, offset: usize, len: usize) {
    if len > 0 {
        window.push_op(Op::Source {
            offset: offset as u32,
            len: len as u32,
        });
    }
}

/// Takes instructions that make up to `limit` bytes off the end; returns how many bytes they made. A copy is taken
/// whole or not at all, an insertion may be shortened.
fn remove_tail(window: &mut Window, limit: usize) -> usize {
    let mut left = limit as u32;
    while left > 0 {
        match window.ops.last_mut() {
            Some(op) if op.len() <= left => {
                left -= op.len();
                if let Op::New { len } = *op {
                    window.new_data.truncate(window.new_data.len() - len as usize);
                }
                window.ops.pop();
            }
            Some(Op::New { len }) => {
                *len -= left;
                window.new_data.truncate(window.new_data.len() - left as usize);
                left = 0;
            }
            _ => break,
        }
    }
    limit - left as usize
}

const WORD: usize = size_of::<u64>();

fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// Number of equal bytes at the front of both.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
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

/// Number of equal bytes at the end of both.
fn common_suffix(a: &[u8], b: &[u8]) -> usize {
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

    #[test]
    fn sums_roll() {
        let text: Vec<u8> = (0..1_000u32).map(|i| (i * i % 251) as u8).collect();
        let mut sums = Sums::of(&text[..BLOCK]);
        for at in 0..text.len() - BLOCK {
            assert_eq!(sums.hash(), Sums::of(&text[at..at + BLOCK]).hash());
            sums.roll(text[at], text[at + BLOCK]);
        }
    }
}
