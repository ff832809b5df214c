//! The scanner: the end of an item must not depend on how its bytes are split.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::svn::{Item, Scanner};

fuzz_target!(|data: &[u8]| {
    let whole = Scanner::default().scan(data);
    let mut scanner = Scanner::default();
    let mut slow = Ok(None);
    for end in 0..=data.len() {
        slow = scanner.scan(&data[..end]);
        if slow != Ok(None) {
            break;
        }
    }
    assert_eq!(whole, slow);
    if let Ok(Some(len)) = whole {
        Item::parse(&data[..len]).expect("because the scanner has passed it");
    }
});
