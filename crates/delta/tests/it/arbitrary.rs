//! Strategies for windows and texts, for property tests.

use delta::window::{Op, Window};
use proptest::prelude::*;

/// A text that compresses somewhat: bytes of a small alphabet.
pub fn text(len: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(0u8..6, len)
}

/// A source view and a valid window over it, with all kinds of instructions.
pub fn window() -> impl Strategy<Value = (Vec<u8>, Window)> {
    let ops = proptest::collection::vec((0u8..3, any::<u32>(), 1u32..150), 0..40);
    (text(0..700), ops, any::<u16>()).prop_map(|(source, plan, source_offset)| {
        let window = window_from_plan(source.len() as u32, &plan, u64::from(source_offset));
        (source, window)
    })
}

/// Makes a valid window out of (kind, offset, length) triples.
pub fn window_from_plan(source_len: u32, plan: &[(u8, u32, u32)], source_offset: u64) -> Window {
    let mut window = Window {
        source_offset,
        source_len,
        ..Window::default()
    };
    for (kind, at, len) in plan.iter().copied() {
        let op = match kind {
            0 if source_len > 0 => {
                let offset = at % source_len;
                Op::Source {
                    offset,
                    len: len.min(source_len - offset),
                }
            }
            1 if window.target_len > 0 => Op::Target {
                offset: at % window.target_len,
                len,
            },
            _ => {
                window
                    .new_data
                    .extend((0..len).map(|i| (at >> (i % 16)) as u8 & 7));
                Op::New { len }
            }
        };
        window.target_len += op.len();
        window.ops.push(op);
    }
    window
}

/// Applies a window byte by byte: the specification that other code is compared with.
pub fn naive_result(source: &[u8], window: &Window) -> Vec<u8> {
    let mut target = Vec::new();
    let mut new = window.new_data.iter();
    for op in &window.ops {
        for i in 0..op.len() as usize {
            let byte = match *op {
                Op::Source { offset, .. } => source[offset as usize + i],
                Op::Target { offset, .. } => target[offset as usize + i],
                Op::New { .. } => *new.next().expect("because the window is valid"),
            };
            target.push(byte);
        }
    }
    target
}
