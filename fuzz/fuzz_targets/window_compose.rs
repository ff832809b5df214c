//! Two windows from the input: the composed window must have the same result as both one after the other.

#![no_main]

use delta::compose::compose;
use delta::window::{Op, Window};
use libfuzzer_sys::fuzz_target;

/// Makes a window, with five bytes for each instruction: kind, offset, length.
fn window(source_len: u32, plan: &[u8]) -> Window {
    let mut window = Window {
        source_len,
        ..Window::default()
    };
    for step in plan.chunks_exact(5) {
        let place = u32::from(u16::from_le_bytes([step[1], step[2]]));
        let len = u32::from(u16::from_le_bytes([step[3], step[4]])) % 3_000 + 1;
        if window.target_len + len > 100_000 {
            break;
        }
        let op = match step[0] % 3 {
            0 if source_len > 0 => {
                let offset = place % source_len;
                Op::Source {
                    offset,
                    len: len.min(source_len - offset),
                }
            }
            1 if window.target_len > 0 => Op::Target {
                offset: place % window.target_len,
                len,
            },
            _ => {
                window.new_data.extend((0..len).map(|at| (at ^ place) as u8));
                Op::New { len }
            }
        };
        window.target_len += op.len();
        window.ops.push(op);
    }
    window
}

fuzz_target!(|data: &[u8]| {
    let Some((split, plan)) = data.split_first() else {
        return;
    };
    let base: Vec<u8> = (0..5_000u32).map(|at| ((at * at) >> 5) as u8).collect();
    let (first, second) = plan.split_at(plan.len() * usize::from(*split) / 256);
    let first = window(base.len() as u32, first);
    let second = window(first.target_len, second);
    let (mut x, mut y, mut direct) = (Vec::new(), Vec::new(), Vec::new());
    first.apply(&base, &mut x).expect("because it is valid");
    second.apply(&x, &mut y).expect("because it is valid");
    let composed = compose(&first, &second).expect("because both are valid");
    assert_eq!(composed.validate(), Ok(()));
    composed.apply(&base, &mut direct).expect("because it is valid");
    assert!(direct == y);
});
