//! XML in the tools' output: one attribute a line, text escaped as the incumbent does.

use std::fmt::Write as _;

use wire::dav::xml::{escape_attribute, escape_text};

/// The first line of every document.
pub const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// True for bytes that an XML document can hold as text: UTF-8 without control characters except white space.
pub fn is_safe(bytes: &[u8]) -> bool {
    let fits = |letter: char| !letter.is_ascii_control() || "\t\n\r".contains(letter) || letter == '\x7f';
    std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(fits))
}

/// Escapes text between tags.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape_text(text, &mut out);
    out
}

/// Escapes a value that should be text, up to its first NUL. Control characters are written as decimal numbers, `?\001`; other bytes
/// that are not UTF-8 stay.
pub fn value(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for &byte in value.iter().take_while(|byte| **byte != 0) {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'\r' => out.extend_from_slice(b"&#13;"),
            b'\t' | b'\n' => out.push(byte),
            byte if byte.is_ascii_control() => out.extend_from_slice(format!("?\\{byte:03}").as_bytes()),
            byte => out.push(byte),
        }
    }
    out
}

/// Returns a start tag with its attributes; `end` is `>` or `/>`, and a line feed where the layout has one.
pub fn tag(name: &str, attributes: &[(&str, &str)], end: &str) -> String {
    let mut out = format!("<{name}");
    for (name, value) in attributes {
        let _ = write!(out, "\n   {name}=\"{}\"", attribute(value));
    }
    out.push_str(end);
    out
}

/// Escapes the value of an attribute. The incumbent's tools escape apostrophes too.
fn attribute(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    escape_attribute(value, &mut out);
    out.replace('\'', "&apos;")
}

/// Returns Base64 in lines of 76 letters, each with a line feed.
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const BYTES_A_LINE: usize = 57;
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + bytes.len() / BYTES_A_LINE + 8);
    for line in bytes.chunks(BYTES_A_LINE) {
        for three in line.chunks(3) {
            let at = |n: usize| u32::from(three.get(n).copied().unwrap_or(0));
            let bits = at(0) << 16 | at(1) << 8 | at(2);
            for n in 0..4 {
                let letter = LETTERS[(bits >> (18 - 6 * n) & 63) as usize];
                out.push(if n <= three.len() { char::from(letter) } else { '=' });
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads_and_breaks() {
        assert_eq!(base64(b"a\0b"), "YQBi\n");
        assert_eq!(base64(b"a"), "YQ==\n");
        assert_eq!(base64(b"ab"), "YWI=\n");
        assert_eq!(
            base64(&[b'x'; 58]).lines().map(str::len).collect::<Vec<_>>(),
            [76, 4]
        );
    }

    #[test]
    fn text_and_attributes_escape_differently() {
        assert_eq!(text("a<b>&\"\r\n"), "a&lt;b&gt;&amp;\"&#13;\n");
        assert_eq!(
            tag("p", &[("n", "a\"'\n")], "/>"),
            "<p\n   n=\"a&quot;&apos;&#10;\"/>"
        );
        assert_eq!(
            value(b"<\xff\x01\x7f\r\n&>\0x"),
            b"&lt;\xff?\\001?\\127&#13;\n&amp;&gt;"
        );
        assert!(is_safe(b"a\tb") && !is_safe(b"a\0") && !is_safe(b"\xff"));
    }
}
