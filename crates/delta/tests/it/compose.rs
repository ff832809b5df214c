//! A composed window has the same result as its two parts one after the other.

use delta::compose::compose;
use delta::svndiff::SvndiffError;
use delta::window::{Op, Window};
use delta::xdelta::Matcher;
use proptest::prelude::*;

use crate::arbitrary;

fn plan() -> impl Strategy<Value = Vec<(u8, u32, u32)>> {
    proptest::collection::vec((0u8..3, any::<u32>(), 1u32..90), 1..30)
}

fn check(base: &[u8], first: &Window, second: &Window) -> Window {
    let (mut x, mut y, mut direct) = (Vec::new(), Vec::new(), Vec::new());
    first.apply(base, &mut x).unwrap();
    second.apply(&x, &mut y).unwrap();
    let composed = compose(first, second).unwrap();
    assert_eq!(composed.validate(), Ok(()));
    composed.apply(base, &mut direct).unwrap();
    assert_eq!(direct, y);
    composed
}

proptest! {
    #[test]
    fn composing_is_applying_twice(base in arbitrary::text(0..500), first in plan(), second in plan(), third in plan()) {
        let first = arbitrary::window_from_plan(base.len() as u32, &first, 7);
        let second = arbitrary::window_from_plan(first.target_len, &second, 0);
        let composed = check(&base, &first, &second);
        prop_assert_eq!((composed.source_offset, composed.source_len), (7, base.len() as u32));
        // A composed window can be composed again.
        let third = arbitrary::window_from_plan(second.target_len, &third, 0);
        check(&base, &composed, &third);
    }

    #[test]
    fn composing_made_windows(a in arbitrary::text(0..900), b in arbitrary::text(0..900), cut in 0usize..900) {
        let x = [&a[..a.len().min(cut)], &b, &a[a.len().min(cut)..]].concat();
        let y = [&b[..], &x[x.len() / 3..], &a].concat();
        let mut matcher = Matcher::new();
        check(&a, &matcher.window(0, &a, &x), &matcher.window(0, &x, &y));
    }
}

#[test]
fn a_pattern_stays_one_instruction() {
    let first = Window {
        target_len: 100_000,
        ops: vec![
            Op::New { len: 1 },
            Op::Target {
                offset: 0,
                len: 99_999,
            },
        ],
        new_data: b"x".to_vec(),
        ..Window::default()
    };
    for offset in [0, 1, 5, 50_000] {
        let second = Window {
            source_len: 100_000,
            target_len: 40_000,
            ops: vec![Op::Source { offset, len: 40_000 }],
            ..Window::default()
        };
        let composed = check(&[], &first, &second);
        assert_eq!(
            composed.ops,
            [
                Op::New { len: 1 },
                Op::Target {
                    offset: 0,
                    len: 39_999
                }
            ]
        );
    }
}

#[test]
fn views_that_do_not_fit_are_refused() {
    let first = Window::insertion(b"abc");
    let second = Window {
        source_len: 4,
        target_len: 4,
        ops: vec![Op::Source { offset: 0, len: 4 }],
        ..Window::default()
    };
    assert_eq!(compose(&first, &second), Err(SvndiffError::SourceOverflow(0)));
    let broken = Window {
        target_len: 9,
        ..first.clone()
    };
    assert_eq!(compose(&broken, &first), Err(SvndiffError::TargetShort));
}
