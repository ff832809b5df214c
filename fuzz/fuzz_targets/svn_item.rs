//! The scanner: the end of an item must not depend on how its bytes are split. And a list that is read without it ends where it says.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::svn::{Item, Malformed, Scanner};

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
    let read = Item::read_list(data, |list| -> Result<(), Malformed> {
        while list.next_item()?.is_some() {}
        Ok(())
    });
    match (read, whole) {
        // It counts the depth from the elements on: one level more.
        (Some(_), Err(Malformed::Depth)) => {}
        (Some(((), len)), _) => assert_eq!(whole, Ok(Some(len))),
        // Another kind of item.
        (None, Ok(Some(len))) => assert!(Item::of_message(&data[..len]).and_then(Item::list).is_err()),
        (None, _) => {}
    }
});
