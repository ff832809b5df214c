#![no_main]
//! Two mergeinfo values, separated by a NUL byte: a parsed value prints text that parses to the same value, and the
//! difference of two values, applied to the first, gives the second.

use base::mergeinfo::{Inheritance, Mergeinfo};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(2, |b| *b == 0).map(Mergeinfo::parse);
    let (Some(Ok(from)), to) = (parts.next(), parts.next()) else {
        return;
    };
    assert_eq!(
        Mergeinfo::parse(from.to_string().as_bytes()).expect("it was printed"),
        from
    );
    if let Some(Ok(to)) = to {
        let (deleted, added) = from.diff(&to, Inheritance::Consider);
        assert_eq!(from.remove(&deleted, Inheritance::Ignore).merge(&added), to);
    }
});
