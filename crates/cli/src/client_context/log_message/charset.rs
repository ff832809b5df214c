//! Texts in the character set of the locale, or of the option `--encoding`.
//!
//! The inside of the program knows UTF-8 with line feeds only. Conversions are needed for letters outside of ASCII; a text without them
//! passes in every character set, known or not.

use std::borrow::Cow;

use base::{Code, Error, Result};

use base::charset::Charset;

/// The character set of texts that the user gives.
#[derive(Clone, Debug)]
pub struct TextEncoding {
    /// The name in the option.
    name: Option<String>,
    locale: Charset,
}

impl TextEncoding {
    /// The named character set, or else the one of the locale.
    pub fn new(name: Option<&str>, locale: Charset) -> TextEncoding {
        TextEncoding {
            name: name.map(str::to_owned),
            locale,
        }
    }

    /// Sets the character set that counts without an option.
    pub fn set_default(&mut self, name: Option<&str>) {
        if self.name.is_none() {
            self.name = name.filter(|name| !name.is_empty()).map(str::to_owned);
        }
    }

    /// Converts a text to UTF-8 with line feeds. A text in the named character set `UTF-8` is not checked: the repository does that.
    ///
    /// # Errors
    /// `errno` 22 for a text that is not in the character set, `IO_INCONSISTENT_EOL` for mixed line ends.
    pub fn read_text(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let text = self.decode(bytes)?;
        Ok(base::with_line_feeds(&text)?.into_owned())
    }

    /// Converts a text to UTF-8.
    ///
    /// # Errors
    /// `errno` 22 for a text that is not in the character set.
    pub fn decode(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let Some(name) = &self.name else {
            return self.locale.read(bytes).map(|text| text.into_owned().into_bytes());
        };
        if name == "UTF-8" || (bytes.is_ascii() && !is_wide(name)) {
            return Ok(bytes.to_vec());
        }
        match Charset::named(name) {
            Some(charset) => charset
                .decode(bytes)
                .map(|text| text.into_owned().into_bytes())
                .ok_or_else(|| not_in(name, bytes)),
            None if name.is_empty() => Err(not_in(name, bytes)),
            None => Err(unknown(bytes)),
        }
    }

    /// Converts text to the character set, so that [`TextEncoding::decode`] returns it again.
    ///
    /// # Errors
    /// `errno` 22 for text with a character that the character set lacks.
    pub fn write_exactly(&self, text: &str) -> Result<Vec<u8>> {
        let Some(name) = &self.name else {
            return self.locale.write(text).map(Cow::into_owned);
        };
        let bytes = self.write_text(text);
        match self.decode(&bytes) {
            Ok(back) if back == text.as_bytes() => Ok(bytes),
            _ => {
                let message = format!("Can't convert string from 'UTF-8' to '{name}':");
                Err(Error::new(Code(22), escaped(text.as_bytes())).wrap(Code(22), message))
            }
        }
    }

    /// Converts text to the character set; what it lacks becomes `?`-like replacements, for a text that the user edits.
    pub fn write_text(&self, text: &str) -> Vec<u8> {
        if text.is_ascii() {
            return text.as_bytes().to_vec();
        }
        let Some(name) = &self.name else {
            return self.locale.show(text).into_owned();
        };
        match Charset::named(name) {
            Some(Charset::Latin1) => text
                .chars()
                .map(|letter| u8::try_from(u32::from(letter)).unwrap_or(b'?'))
                .collect(),
            Some(Charset::Other(encoding)) if encoding.output_encoding() == encoding => {
                encoding.encode(text).0.into_owned()
            }
            _ => text.as_bytes().to_vec(),
        }
    }
}

/// True for character sets in which the bytes of ASCII letters mean something else.
fn is_wide(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.starts_with("utf-16") || lower.starts_with("utf16")
}

fn not_in(name: &str, bytes: &[u8]) -> Error {
    let message = format!("Can't convert string from '{name}' to 'UTF-8':");
    Error::new(Code(22), escaped(bytes)).wrap(Code(22), message)
}

fn unknown(bytes: &[u8]) -> Error {
    let at = bytes
        .iter()
        .position(|byte| !byte.is_ascii())
        .unwrap_or(bytes.len());
    let safe = String::from_utf8_lossy(&bytes[..at]);
    let byte = bytes.get(at).copied().unwrap_or_default();
    let message =
        format!("Safe data '{safe}' was followed by non-ASCII byte {byte}: unable to convert to/from UTF-8");
    Error::new(Code(22), message)
}

/// Shows bytes that cannot be converted.
fn escaped(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|&byte| match byte.is_ascii() {
            true => char::from(byte).to_string(),
            false => format!("?\\{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoding(name: &str) -> TextEncoding {
        TextEncoding::new(Some(name), Charset::Utf8)
    }

    #[test]
    fn texts_are_converted() {
        for (name, bytes, text) in [
            ("latin1", &b"a\xe9\x80"[..], "aé\u{80}"),
            ("cp1252", b"\x80", "€"),
            ("ISO-8859-15", b"\xa4", "€"),
            ("KOI8-R", b"\xc1", "а"),
            ("sjis", b"\x82\xa0", "あ"),
            ("nonsense", b"a", "a"),
        ] {
            assert_eq!(encoding(name).decode(bytes).expect(name), text.as_bytes());
            assert_eq!(encoding(name).write_text(text), bytes, "{name}");
        }
        assert!(encoding("nonsense").decode(b"a\xe9").is_err());
        assert!(encoding("utf8").decode(b"a\xe9").is_err());
        assert_eq!(encoding("UTF-8").decode(b"\xe9").expect("unchecked"), b"\xe9");
    }
}
