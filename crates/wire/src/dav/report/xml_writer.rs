//! Writes responses: elements, escaped text and base64, directly into the buffer that is sent.

use std::io::Write as _;

use base::Revnum;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::dav::{uri, xml};
use crate::text::fuzzy;

/// The beginning of every response.
pub const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";

/// Appends to a response.
pub struct XmlWriter<'a>(pub &'a mut Vec<u8>);

impl XmlWriter<'_> {
    /// Markup, as it is.
    pub fn raw(&mut self, markup: &str) -> &mut Self {
        self.0.extend_from_slice(markup.as_bytes());
        self
    }

    /// Character data.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.escape(text, false)
    }

    /// Appends character data of any bytes: bytes that XML cannot hold are shown as `?\NNN`.
    pub fn fuzzy_text(&mut self, bytes: &[u8]) -> &mut Self {
        match xml::safe(bytes) {
            Some(text) => self.text(text),
            None => self.text(&fuzzy(bytes)),
        }
    }

    /// ` name="value"`.
    pub fn attribute(&mut self, name: &str, value: &str) -> &mut Self {
        self.raw(" ").raw(name).raw("=\"");
        self.escape(value, true).raw("\"")
    }

    /// ` name="rev"`; -1 if there is none.
    pub fn rev_attribute(&mut self, name: &str, rev: Option<Revnum>) -> &mut Self {
        self.raw(" ").raw(name).raw("=\"").rev(rev).raw("\"")
    }

    /// A revision's number; -1 if there is none.
    pub fn rev(&mut self, rev: Option<Revnum>) -> &mut Self {
        match rev {
            Some(rev) => self.number(rev.0),
            None => self.raw("-1"),
        }
    }

    /// Appends the path of a URL: encoded and escaped.
    pub fn url_path(&mut self, path: &str) -> &mut Self {
        uri::encode_escaped(path, self.0);
        self
    }

    /// A number in decimal.
    pub fn number(&mut self, number: u64) -> &mut Self {
        // Writing to memory does not fail.
        _ = write!(self.0, "{number}");
        self
    }

    /// Digits of a checksum.
    pub fn hex(&mut self, digest: &[u8]) -> &mut Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        for byte in digest {
            let pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
            self.0.extend_from_slice(&pair);
        }
        self
    }

    /// The rest of an element that was begun with `<name`: the attribute for base64 if the value needs it, the value, and the
    /// end tag.
    pub fn value(&mut self, element: &str, value: &[u8]) -> &mut Self {
        match xml::safe(value) {
            Some(text) => self.raw(">").text(text),
            None => self.raw(" encoding=\"base64\">").base64_lines(value),
        };
        self.raw("</").raw(element).raw(">\n")
    }

    /// As [`XmlWriter::value`], with base64 on lines of its own.
    pub fn value_apart(&mut self, element: &str, value: &[u8]) -> &mut Self {
        match xml::safe(value) {
            Some(_) => self.value(element, value),
            None => self
                .raw(" encoding=\"base64\">\n")
                .base64_lines(value)
                .raw("</")
                .raw(element)
                .raw(">\n"),
        }
    }

    /// Base64 in lines of 76, each with its end.
    pub fn base64_lines(&mut self, bytes: &[u8]) -> &mut Self {
        for line in bytes.chunks(76 / 4 * 3) {
            append(line, self.0);
            self.0.push(b'\n');
        }
        self
    }

    fn escape(&mut self, text: &str, attribute: bool) -> &mut Self {
        xml::escape(text, attribute, |part| self.0.extend_from_slice(part.as_bytes()));
        self
    }
}

/// Base64 on one line, of bytes that come in pieces.
#[derive(Debug, Default)]
pub struct Base64 {
    /// Bytes that do not make three yet.
    held: [u8; 3],
    len: usize,
}

impl Base64 {
    /// Appends what `bytes` make complete.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        if self.len > 0 {
            let missing = (3 - self.len).min(bytes.len());
            let (first, rest) = bytes.split_at(missing);
            self.held[self.len..self.len + missing].copy_from_slice(first);
            self.len += missing;
            bytes = rest;
            if self.len < 3 {
                return;
            }
            append(&self.held, out);
            self.len = 0;
        }
        let (whole, rest) = bytes.split_at(bytes.len() / 3 * 3);
        append(whole, out);
        self.held[..rest.len()].copy_from_slice(rest);
        self.len = rest.len();
    }

    /// Appends what is left, padded.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        append(&self.held[..self.len], out);
        self.len = 0;
    }
}

fn append(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = STANDARD.encode_slice(bytes, &mut out[start..]);
    debug_assert_eq!(
        written.ok(),
        Some(out.len() - start),
        "the length is known before"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_that_xml_cannot_hold_travel_in_lines_of_base64() {
        let mut out = Vec::new();
        XmlWriter(&mut out).raw("<S:p").value("S:p", b"a<b\r\n");
        XmlWriter(&mut out).raw("<S:p").value_apart("S:p", &[1; 58]);
        let long = "AQEB".repeat(19);
        let expected = format!("<S:p>a&lt;b&#13;\n</S:p>\n<S:p encoding=\"base64\">\n{long}\nAQ==\n</S:p>\n");
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    proptest! {
        #[test]
        fn pieces_make_the_same_base64_as_the_whole(bytes: Vec<u8>, cuts: Vec<u8>) {
            let (mut out, mut pen) = (Vec::new(), Base64::default());
            let mut rest = &bytes[..];
            for cut in cuts {
                let (piece, tail) = rest.split_at(usize::from(cut % 7).min(rest.len()));
                pen.push(piece, &mut out);
                rest = tail;
            }
            pen.push(rest, &mut out);
            pen.finish(&mut out);
            prop_assert_eq!(out, STANDARD.encode(&bytes).into_bytes());
        }
    }
}
