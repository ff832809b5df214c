//! Percent-encoding of paths, as svn:// URLs and the operational log have it.
//!
//! `wire::dav::uri` is the encoding of URLs over HTTP: it restores bytes that are not UTF-8, this one does not.

/// Decodes `%XX`. A `%` without two digits stays.
pub(crate) fn percent_decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        let digits = bytes.get(at..at + 2).filter(|_| byte == b'%');
        let decoded = digits.and_then(|d| {
            let high = char::from(d[0]).to_digit(16)?;
            let low = char::from(d[1]).to_digit(16)?;
            u8::try_from(high * 16 + low).ok()
        });
        match decoded {
            Some(decoded) => {
                out.push(decoded);
                at += 2;
            }
            None => out.push(byte),
        }
    }
    out
}

/// Appends `bytes`, with all bytes encoded that the path of a URL may not contain.
pub(crate) fn percent_encode(bytes: &[u8], out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"!$&'()*+,-./:=@_~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

/// Returns encoded text.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    percent_encode(text.as_bytes(), &mut out);
    out
}
