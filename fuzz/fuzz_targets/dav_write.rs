//! Bytes as the bodies and headers of HTTP requests that write: each is refused or parsed, and its response is built.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::dav::checkout::CheckoutRequest;
use wire::dav::if_header::IfHeader;
use wire::dav::lock::{ActiveLock, LockInfo, parse_timeout, parse_token, write_lock_answer};
use wire::dav::lock_tokens::find_lock_tokens;
use wire::dav::merge::MergeRequest;
use wire::dav::post::{PostRequest, is_skel};
use wire::dav::proppatch::{PropertyUpdate, namespaces, property_name, write_proppatch};
use wire::dav::uri;
use wire::dav::xml::{Element, XmlLimits};

fuzz_target!(|data: &[u8]| {
    if PostRequest::parse(data).is_some() {
        assert!(is_skel(data));
    }
    if let Ok(text) = std::str::from_utf8(data) {
        if let Some(header) = IfHeader::parse(text) {
            _ = header.tokens().count();
        }
        header_lines(text);
    }
    let Ok(root) = Element::parse(data, XmlLimits::default()) else {
        return;
    };
    _ = CheckoutRequest::parse(&root);
    _ = MergeRequest::parse(&root);
    _ = find_lock_tokens(&root);
    if let Ok(lock) = LockInfo::parse(&root, data) {
        check_lock_response(&lock);
    }
    if let Some(changes) = PropertyUpdate::parse_all(&root) {
        let outcome = vec![None; changes.len()];
        let mut out = String::new();
        write_proppatch("/x", &namespaces(&root), &changes, &outcome, &mut out);
        _ = changes
            .iter()
            .filter_map(|change| property_name(&change.name))
            .count();
    }
});

/// `Timeout`, `Lock-Token` and `Destination`.
fn header_lines(text: &str) {
    if let Some(Some(seconds)) = parse_timeout(text) {
        assert!(text.contains(|c: char| c.is_ascii_digit()), "{seconds} in {text}");
    }
    if let Some(token) = parse_token(text) {
        assert!(token.len() + 2 <= text.len());
    }
    let Some(path) = uri::path_of(text) else { return };
    assert!(path.starts_with('/') && text.contains(path));
    if let Some((components, _)) = uri::split(path) {
        // A decoded name is still a single component.
        assert!(
            components
                .iter()
                .all(|name| !name.is_empty() && !name.contains('/'))
        );
    }
    _ = uri::report_path(text);
}

/// The response to a lock request repeats the client's text: whatever that is, the response is well-formed.
fn check_lock_response(lock: &LockInfo) {
    for (comment, comment_is_xml) in [(&lock.owner_text, false), (&lock.owner_xml, true)] {
        if comment.as_ref().is_some_and(|text| has_control_characters(text)) {
            continue;
        }
        let active = ActiveLock {
            token: "opaquelocktoken:x",
            depth: "0",
            comment: comment.as_deref(),
            comment_is_xml,
            timeout: Some(1),
        };
        let mut out = String::new();
        write_lock_answer(&active, &mut out);
        let limits = XmlLimits {
            depth: 256,
            memory: 256 << 20,
            ..XmlLimits::default()
        };
        if let Err(error) = Element::parse(out.as_bytes(), limits) {
            panic!("{error:?} in {out}");
        }
    }
}

/// True for text with control characters, which the storage engine refuses in comments.
fn has_control_characters(text: &str) -> bool {
    text.chars()
        .any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
}
