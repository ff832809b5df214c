//! Bytes as a PROPFIND body and as the header lines of a GET: refused or parsed, and every response to a parsed
//! request is well-formed.

#![no_main]

use base::Date;
use libfuzzer_sys::fuzz_target;
use wire::dav::conditions::Conditions;
use wire::dav::multistatus::{Multistatus, stored_name};
use wire::dav::propfind::PropfindRequest;
use wire::dav::query::RevisionQuery;
use wire::dav::xml::{Element, XmlLimits};
use wire::dav::{accept, http_date, range, uri};

fuzz_target!(|data: &[u8]| {
    if let Ok(root) = Element::parse(data, XmlLimits::default())
        && let Ok(wanted) = PropfindRequest::parse(&root)
    {
        build_response(&wanted, data);
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let range::RequestedRange::Bytes(part) = range::parse(text, 1000) {
        assert!(part.start < part.end && part.end <= 1000);
    }
    _ = RevisionQuery::parse(text);
    if let Some(date) = http_date::parse(text) {
        assert_eq!(http_date::parse(&http_date::format(date)), Some(date));
    }
    assert!(accept::quality(text, "gzip") <= 1000);
    assert!(accept::svndiff_version(text, 5) <= 2);
    let conditions = Conditions {
        if_match: Some(text),
        if_none_match: Some(text),
        if_modified_since: Some(text),
        if_unmodified_since: Some(text),
    };
    _ = conditions.judge("\"1//a\"", Some(Date(0)), Date(1));
    let mut encoded = String::new();
    uri::encode_lower(text, &mut encoded);
    assert_eq!(uri::decode(&encoded).as_deref(), Some(text));
});

fn build_response(wanted: &PropfindRequest, value: &[u8]) {
    let form = Multistatus::new(wanted);
    let mut out = String::new();
    Multistatus::open(&mut out);
    let mut response = form.response("/r/a", &mut out);
    if let PropfindRequest::Props(names) = wanted {
        for (at, name) in names.iter().enumerate() {
            match stored_name(name) {
                Some(stored) if at % 2 == 0 => response.stored(&stored, value),
                _ => response.missing(name),
            }
        }
    }
    response.finish();
    Multistatus::close(&mut out);
    let limits = XmlLimits {
        depth: 64,
        memory: 256 << 20,
        ..XmlLimits::default()
    };
    if let Err(error) = Element::parse(out.as_bytes(), limits) {
        panic!("{error:?} in {out}");
    }
}
