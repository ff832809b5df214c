//! The block matcher: makes one window out of a source view and a target view.
//!
//! The source is cut into blocks of 64 bytes, which are indexed by a checksum that rolls. The target is scanned byte
//! by byte: where its next 64 bytes are a block, the match is grown both ways. The instructions are those that
//! Subversion 1.14 makes, window for window, so that stored deltas and dump streams come out alike.
//!
//! Nearly all positions match nothing, so the scan is a tight loop that asks a small bitmap about the checksum;
//! only what passes is looked up. A common prefix and suffix are taken before and after, without blocks. What the
//! matcher does not do: look beyond the view, or copy from the target.

use base::{common_prefix, common_suffix};

use crate::window::{Op, WINDOW_SIZE, Window};

/// Length of the indexed pieces of the source, bytes.
const BLOCK: usize = 64;

/// Shorter common prefixes and suffixes are not worth an instruction.
const MIN_EDGE: usize = 5;

/// Maximum number of slots that a look-up visits. Normal texts do not reach it; it bounds the cost of malicious ones.
const MAX_PROBES: usize = 64;

/// Value of a slot without a block.
const FREE: u32 = u32::MAX;

/// Words of the bitmap: 160 bits for each block of a full view.
const FILTER_WORDS: usize = 1 << 12;

/// Makes windows; reuses its tables.
pub struct Matcher {
    /// Open addressing, a power of two of slots, at most half full.
    slots: Vec<HashSlot>,
    /// The bit of [`filter_bit`] is set for every block.
    filter: Box<[u64; FILTER_WORDS]>,
    /// Words of the filter that are not zero (small texts do not pay for clearing all).
    set_words: Vec<u16>,
}

impl Default for Matcher {
    fn default() -> Self {
        Matcher {
            slots: Vec::new(),
            filter: Box::new([0; FILTER_WORDS]),
            set_words: Vec::new(),
        }
    }
}

#[derive(Clone, Copy)]
struct HashSlot {
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
        let (blocks, _) = source.as_chunks::<BLOCK>();
        let mask = (2 * blocks.len()).next_power_of_two() - 1;
        self.slots.clear();
        self.slots.resize(mask + 1, HashSlot { key: 0, at: FREE });
        for word in self.set_words.drain(..) {
            self.filter[usize::from(word)] = 0;
        }
        for (number, block) in blocks.iter().enumerate() {
            let key = Sums::of(block).hash();
            let mut place = (key >> 16) as usize & mask;
            for _ in 0..MAX_PROBES {
                let slot = &mut self.slots[place];
                if slot.at == FREE {
                    *slot = HashSlot {
                        key,
                        at: (number * BLOCK) as u32,
                    };
                    let (word, bit) = filter_bit(key);
                    self.filter[usize::from(word)] |= 1 << bit;
                    self.set_words.push(word);
                    break;
                }
                let at = slot.at as usize;
                if slot.key == key && source[at..at + BLOCK] == *block {
                    break;
                }
                place = (place + 1) & mask;
            }
        }
    }

    /// Emits instructions up to the end of the last match; returns that end.
    fn matches(&self, source: &[u8], target: &[u8], start: usize, window: &mut Window) -> usize {
        let last = target.len() - BLOCK;
        let mut pending = start;
        let mut from = start;
        while from < last {
            let Some((mut at, mut apos)) = self.find(source, target, from) else {
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

    /// Finds the first position from `from` on whose next 64 bytes are a block; returns it and the block's place
    /// in the source.
    fn find(&self, source: &[u8], target: &[u8], from: usize) -> Option<(usize, usize)> {
        let last = target.len() - BLOCK;
        let mut at = from;
        let (block, _) = target[at..].split_first_chunk()?;
        let mut sums = Sums::of(block);
        loop {
            let skipped;
            (skipped, sums) = skip(&self.filter, sums, &target[at..last], &target[at + BLOCK..]);
            at += skipped;
            if let Some(apos) = self.look_up(sums.hash(), source, &target[at..at + BLOCK]) {
                return Some((at, apos));
            }
            if at == last {
                return None;
            }
            sums = sums.rolled(target[at], target[at + BLOCK]);
            at += 1;
        }
    }

    #[inline(never)]
    fn look_up(&self, key: u32, source: &[u8], block: &[u8]) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut place = (key >> 16) as usize & mask;
        for _ in 0..MAX_PROBES {
            let slot = self.slots[place];
            if slot.at == FREE {
                return None;
            }
            let at = slot.at as usize;
            if slot.key == key && source[at..at + BLOCK] == *block {
                return Some(at);
            }
            place = (place + 1) & mask;
        }
        None
    }
}

/// Rolls over positions that the filter rules out; returns how many, and the sums of the position reached.
///
/// Apart from everything else, so that all it works with stays in registers.
#[inline(never)]
fn skip(filter: &[u64; FILTER_WORDS], mut sums: Sums, leaving: &[u8], entering: &[u8]) -> (usize, Sums) {
    for (step, (out, new)) in leaving.iter().zip(entering).enumerate() {
        let (word, bit) = filter_bit(sums.hash());
        if filter[usize::from(word)] >> bit & 1 != 0 {
            return (step, sums);
        }
        sums = sums.rolled(*out, *new);
    }
    (leaving.len(), sums)
}

/// Word and bit of the filter that stand for a checksum.
#[inline]
fn filter_bit(hash: u32) -> (u16, u32) {
    ((hash >> (32 - FILTER_WORDS.ilog2())) as u16, hash >> 14 & 63)
}

/// The rolling checksum: the sum of the bytes, and the sum of the sums that each byte left behind.
#[derive(Clone, Copy)]
struct Sums {
    plain: u32,
    weighted: u32,
}

impl Sums {
    fn of(block: &[u8; BLOCK]) -> Self {
        // In plain counting loops, of which the compiler makes vector code.
        let mut sums = Sums {
            plain: 0,
            weighted: 0,
        };
        for at in 0..BLOCK {
            sums.plain += u32::from(block[at]);
            sums.weighted += u32::from(block[at]) * u32::from(TIMES_COUNTED[at]);
        }
        sums
    }

    #[inline]
    fn rolled(self, out: u8, new: u8) -> Self {
        let plain = self.plain.wrapping_sub(out.into()).wrapping_add(new.into());
        let left = u32::from(out) * BLOCK as u32;
        Sums {
            plain,
            weighted: self.weighted.wrapping_sub(left).wrapping_add(plain),
        }
    }

    /// Spreads the 34 bits of both sums over 32; the upper bits are the better ones.
    #[inline]
    fn hash(self) -> u32 {
        (self.weighted ^ self.plain << 18).wrapping_mul(0x9e37_79b1)
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

/// How many of the running sums of a block each of its bytes is in.
const TIMES_COUNTED: [u16; BLOCK] = {
    let mut out = [0; BLOCK];
    let mut at = 0;
    while at < BLOCK {
        out[at] = (BLOCK - at) as u16;
        at += 1;
    }
    out
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_roll() {
        let text: Vec<u8> = (0..1_000u32).map(|i| (i * i % 251) as u8).collect();
        let mut sums = Sums::of(text.first_chunk().expect("because it is longer"));
        for (at, block) in text.array_windows().enumerate().take(text.len() - BLOCK) {
            assert_eq!(sums.hash(), Sums::of(block).hash());
            sums = sums.rolled(text[at], text[at + BLOCK]);
        }
    }
}
