//! Binary texts in Git's form: compressed, in base 85.
//!
//! Each line has up to 52 bytes: a letter for their number (`A` is 1, `z` is 52), then five digits for every four bytes.

use std::io::Write as _;

use base::{Error, Result};
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::text::Text;

const BYTES_A_LINE: usize = 52;
const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// Writes the line with the length of a text, and the text.
///
/// # Errors
/// `errno` of a text in a file; those of `write`.
pub(super) fn literal(text: &Text, write: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    write(format!("literal {}\n", text.len()).as_bytes())?;
    let compressed = ZlibEncoder::new(Lines::new(write), Compression::default());
    let mut encoder = compressed;
    text.each_part(&mut |part| {
        let outcome = encoder.write_all(part);
        outcome.map_err(|e| failed(encoder.get_mut(), &e))
    })?;
    let outcome = encoder.try_finish();
    outcome.map_err(|e| failed(encoder.get_mut(), &e))?;
    encoder.get_mut().finish()
}

/// Returns the error of the receiver, which `std::io` cannot carry.
fn failed(lines: &mut Lines<'_>, error: &std::io::Error) -> Error {
    let own = lines.error.take();
    own.unwrap_or_else(|| Error::os(error, "Compression of svndiff data failed"))
}

/// Collects bytes and writes them as lines.
struct Lines<'a> {
    pending: Vec<u8>,
    line: Vec<u8>,
    write: &'a mut dyn FnMut(&[u8]) -> Result<()>,
    error: Option<Error>,
}

impl<'a> Lines<'a> {
    fn new(write: &'a mut dyn FnMut(&[u8]) -> Result<()>) -> Lines<'a> {
        Lines {
            pending: Vec::new(),
            line: Vec::new(),
            write,
            error: None,
        }
    }

    fn lines(&mut self, is_end: bool) -> Result<()> {
        let mut done = 0;
        while self.pending.len() - done >= BYTES_A_LINE || (is_end && done < self.pending.len()) {
            let end = self.pending.len().min(done + BYTES_A_LINE);
            self.line.clear();
            encode(&self.pending[done..end], &mut self.line);
            (self.write)(&self.line)?;
            done = end;
        }
        self.pending.drain(..done);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.lines(true)
    }
}

impl std::io::Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        match self.lines(false) {
            Ok(()) => Ok(bytes.len()),
            Err(error) => {
                self.error = Some(error);
                Err(std::io::ErrorKind::Other.into())
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Appends the line of 1 to 52 bytes.
fn encode(bytes: &[u8], line: &mut Vec<u8>) {
    let count = u8::try_from(bytes.len()).unwrap_or(0);
    line.push(match count {
        1..=26 => b'A' + count - 1,
        _ => b'a' + count.saturating_sub(27),
    });
    for four in bytes.chunks(4) {
        let at = |n: usize| u32::from(four.get(n).copied().unwrap_or(0));
        let mut value = at(0) << 24 | at(1) << 16 | at(2) << 8 | at(3);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[(value % 85) as usize];
            value /= 85;
        }
        line.extend_from_slice(&digits);
    }
    line.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(bytes: &[u8]) -> String {
        let mut line = Vec::new();
        encode(bytes, &mut line);
        String::from_utf8(line).expect("digits")
    }

    #[test]
    fn lines_are_those_of_git() {
        // The empty text and a text of seven bytes, as zlib compresses them.
        assert_eq!(encoded(b"\x78\x9c\x03\0\0\0\0\x01"), "Hc$@<O00001\n");
        assert_eq!(encoded(&[0; 26])[..1], *"Z");
        assert_eq!(encoded(&[0; 27])[..1], *"a");
        assert_eq!(encoded(&[0; 52]).len(), 1 + 13 * 5 + 1);
        assert_eq!(encoded(&[0xff; 52])[..6], *"z|NsC0");
    }

    #[test]
    fn a_literal_has_all_its_bytes() {
        let mut text = Text::default();
        text.push(&[7; 10_000]).expect("room");
        let mut out = Vec::new();
        literal(&text, &mut |bytes| {
            out.extend_from_slice(bytes);
            Ok(())
        })
        .expect("written");
        assert!(out.starts_with(b"literal 10000\n"));
    }
}
