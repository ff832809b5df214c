//! Bytes as the body of an update report: the incremental parser gives the same options and paths as the one for
//! whole bodies.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::dav::report::UpdateRequest;
use wire::dav::stream::ElementStream;
use wire::dav::xml::{Element, XmlLimits};

fuzz_target!(|data: &[u8]| {
    let whole = Element::parse(data, XmlLimits::default());
    let Ok(Some(mut stream)) = ElementStream::open(data, XmlLimits::default()) else {
        assert!(whole.is_err(), "only the stream refuses the beginning");
        return;
    };
    let Some(root) = stream.root() else {
        return;
    };
    let mut request = UpdateRequest::new(root);
    let mut children = 0;
    loop {
        match stream.next_child() {
            Ok(Some(child)) => {
                children += 1;
                _ = request.take(child);
            }
            Ok(None) => break,
            Err(_) => {
                assert!(whole.is_err(), "only the stream refuses it");
                return;
            }
        }
    }
    let whole = whole.expect("the stream took it");
    assert_eq!(whole.children.len(), children);
});
