//! Bytes as `Authorization` headers and as requests on a connection: no panic, and the same result however they are
//! split.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[expect(dead_code, reason = "what makes numbers and hashes is not fuzzed")]
#[path = "../../crates/server/src/auth/digest.rs"]
mod digest;

#[expect(dead_code, reason = "what encodes is not fuzzed")]
#[path = "../../crates/server/src/percent_encoding.rs"]
mod percent_encoding;

#[path = "../../crates/server/src/http/request_framing.rs"]
mod request_framing;

/// Stands for the server's comparison of secrets in constant time, which is not needed here.
fn same(a: &[u8], b: &[u8]) -> bool {
    a == b
}

/// Stands for the server's random bytes: here every run must be the same.
fn random<const LEN: usize>() -> [u8; LEN] {
    [7; LEN]
}

fuzz_target!(|data: &[u8]| {
    let whole = refused(data, data.len());
    assert_eq!(refused(data, 1), whole);
    assert_eq!(refused(data, 13), whole);
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let whole = format!("Digest {text}");
    for header in [text, whole.as_str()] {
        let Some(response) = digest::parse(header) else {
            continue;
        };
        let target = digest::DigestTarget {
            method: "GET",
            path_and_query: "/r/a",
            realm: "realm",
        };
        let fits = response.fits_realm(&target) && response.fits_resource(&target);
        let ha1 = response.ha1_of(b"secret");
        let nonces = digest::NonceTable::default();
        let verdict = response.judge(&nonces, &target, &ha1);
        assert!(!matches!(verdict, digest::DigestVerdict::Right(_)) || fits);
    }
});

/// Returns which of the first requests are refused if the bytes arrive in pieces of `step`.
fn refused(data: &[u8], step: usize) -> Vec<bool> {
    let mut framing = request_framing::RequestFraming::new(1 << 20);
    let refused = framing.refused();
    for mut part in data.chunks(step.max(1)) {
        while !part.is_empty() {
            let read = framing.read(part);
            assert!((1..=part.len()).contains(&read));
            part = &part[read..];
        }
    }
    // A request has at least one byte.
    assert!(framing.begun() <= data.len() as u64);
    (0..50).map(|_| refused.next()).collect()
}
