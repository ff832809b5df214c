//! Bytes as the bodies and headers of requests that write over HTTP: each is refused or understood, and what is answered to it
//! is written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::dav::checkout::Checkout;
use wire::dav::if_header::If;
use wire::dav::lock_tokens::find_lock_tokens;
use wire::dav::merge::Merge;
use wire::dav::post::{Post, is_skel};
use wire::dav::proppatch::{PropChange, namespaces, property_name, write_proppatch};
use wire::dav::xml::{Element, Limits};

fuzz_target!(|data: &[u8]| {
    if Post::parse(data).is_some() {
        assert!(is_skel(data));
    }
    if let Some(header) = std::str::from_utf8(data).ok().and_then(If::parse) {
        _ = header.tokens().count();
    }
    let Ok(root) = Element::parse(data, Limits::default()) else {
        return;
    };
    _ = Checkout::parse(&root);
    _ = Merge::parse(&root);
    _ = find_lock_tokens(&root);
    if let Some(changes) = PropChange::parse_all(&root) {
        let outcome = vec![None; changes.len()];
        let mut out = String::new();
        write_proppatch("/x", &namespaces(&root), &changes, &outcome, &mut out);
        _ = changes.iter().filter_map(|change| property_name(&change.name)).count();
    }
});
