//! Bytes as header lines that say who asks, as a client's certificate, and as requests on a connection: refused or understood.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/server/src/http/certificate.rs"]
mod certificate;
#[expect(dead_code, reason = "what makes numbers and hashes is not fuzzed")]
#[path = "../../crates/server/src/auth/digest.rs"]
mod digest;

#[path = "../../crates/server/src/http/heads.rs"]
mod heads;

/// As the server compares secrets; here nobody listens.
fn same(a: &[u8], b: &[u8]) -> bool {
    a == b
}

/// As the server finds bytes that nobody can guess; here a run must be like another.
fn random<const LEN: usize>() -> [u8; LEN] {
    [7; LEN]
}

fuzz_target!(|data: &[u8]| {
    if let Some(name) = certificate::common_name(data) {
        assert!(name.len() <= 4 * data.len());
    }
    let whole = refused(data, data.len());
    assert_eq!(refused(data, 1), whole);
    assert_eq!(refused(data, 13), whole);
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let whole = format!("Digest {text}");
    for header in [text, whole.as_str()] {
        let Some(answer) = digest::parse(header) else {
            continue;
        };
        let asked = digest::Asked {
            method: "GET",
            target: "/r/a",
            realm: "realm",
        };
        let fits = answer.fits(&asked);
        let ha1 = answer.ha1_of(b"secret");
        let nonces = digest::Nonces::default();
        let verdict = answer.judge(&nonces, &asked, &ha1);
        assert!(!matches!(verdict, digest::Verdict::Right(_)) || fits);
    }
});

/// Which of some requests count as refused if the bytes come in such pieces.
fn refused(data: &[u8], step: usize) -> Vec<bool> {
    let mut heads = heads::Heads::new(1 << 20);
    let refused = heads.refused();
    for mut part in data.chunks(step.max(1)) {
        while !part.is_empty() {
            let read = heads.read(part);
            assert!((1..=part.len()).contains(&read));
            part = &part[read..];
        }
    }
    // A request takes a byte at least.
    assert!(heads.begun() <= data.len() as u64);
    (0..50).map(|_| refused.next()).collect()
}
