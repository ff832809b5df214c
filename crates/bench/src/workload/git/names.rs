//! Git's paths, which are bytes, as Subversion's, which are UTF-8.

/// Returns the path as UTF-8 without control characters. Other bytes become `%XX`, and so does a `%` that would
/// look like one of these; therefore different names stay different.
pub fn svn_path(raw: &[u8]) -> String {
    let mut out = String::with_capacity(raw.len());
    for chunk in raw.utf8_chunks() {
        let valid = chunk.valid();
        for (at, char) in valid.char_indices() {
            match char {
                '%' if looks_escaped(&valid.as_bytes()[at + 1..]) => escape(b'%', &mut out),
                char if char.is_ascii_control() => escape(char as u8, &mut out),
                char => out.push(char),
            }
        }
        for byte in chunk.invalid() {
            escape(*byte, &mut out);
        }
    }
    out
}

fn escape(byte: u8, out: &mut String) {
    out.push_str(&format!("%{byte:02X}"));
}

/// True if `rest`, which follows a `%`, begins with the digits of a byte that can be escaped.
fn looks_escaped(rest: &[u8]) -> bool {
    let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
    let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
    byte.is_some_and(|byte| byte == b'%' || byte >= 0x80 || byte.is_ascii_control())
}

#[cfg(test)]
mod tests {
    use super::svn_path;

    #[test]
    fn names_stay_different_and_ordinary_ones_stay_as_they_are() {
        for name in ["a b", "100%", "%20", "Grüße/\\x", "%zz"] {
            assert_eq!(svn_path(name.as_bytes()), name);
        }
        assert_eq!(svn_path(b"a\nb"), "a%0Ab");
        assert_eq!(svn_path(b"a%0Ab"), "a%250Ab");
        assert_eq!(svn_path(b"a%250Ab"), "a%25250Ab");
        assert_eq!(svn_path(b"\xff\xfe.c"), "%FF%FE.c");
        // The digits belong to the next piece of valid text.
        assert_eq!(svn_path(b"%\xff"), "%%FF");
    }
}
