//! Names and passwords as HTTP sends them.
//!
//! A request says who sends it in its `Authorization` line, or not at all; [`authenticate`] looks the name up where the
//! location's rules say. What a user may do is another question, answered by `dav::access`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// User name and password of `Authorization: Basic`.
pub(crate) fn basic(header: &str) -> Option<(String, Vec<u8>)> {
    let (scheme, rest) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = STANDARD.decode(rest.trim()).ok()?;
    let colon = decoded.iter().position(|b| *b == b':')?;
    let user = String::from_utf8(decoded[..colon].to_vec()).ok()?;
    Some((user, decoded[colon + 1..].to_vec()))
}

/// Compares secrets in time that does not tell where they differ.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_credentials_are_cut_at_the_first_colon() {
        assert_eq!(basic("Basic YTpiOmM="), Some(("a".into(), b"b:c".to_vec())));
        assert_eq!(basic("basic  YTpiOmM= "), Some(("a".into(), b"b:c".to_vec())));
        for bad in ["", "Basic", "Basic !", "Basic YWJj", "Digest YTpi"] {
            assert_eq!(basic(bad), None, "{bad}");
        }
    }
}
