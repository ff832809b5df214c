//! The character set of the terminal, and the conversion of text to and from it.
//!
//! The program's text is UTF-8. In a UTF-8 locale it is printed unchanged. In any other locale it is printed in
//! ASCII: a letter loses its accent, and a character without an ASCII form is printed as its number, such as
//! `{U+65E5}`. Bytes that are not text (file contents, property values, dump streams) are not converted.

use std::borrow::Cow;
use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use base::{Code, Error, Result};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::args::operand;

/// The character set of the locale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8.
    Utf8,
    /// ASCII: the C locale, and every other character set, because there are no conversion tables.
    Ascii,
}

impl Charset {
    /// Returns the character set in LC_ALL, LC_CTYPE or LANG, the first that is set and not empty.
    pub fn from_env() -> Self {
        let name = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .filter_map(env::var_os)
            .find(|value| !value.is_empty())
            .unwrap_or_default();
        let name = name.to_string_lossy().to_ascii_lowercase();
        let charset = name.split('@').next().unwrap_or_default();
        match charset.ends_with(".utf-8") || charset.ends_with(".utf8") {
            true => Charset::Utf8,
            false => Charset::Ascii,
        }
    }

    /// Converts bytes in this character set to text.
    ///
    /// # Errors
    /// `errno` 22 for bytes that are not in the character set.
    pub fn read(self, bytes: &[u8]) -> Result<&str> {
        if self == Charset::Utf8 || bytes.is_ascii() {
            return operand::text(OsStr::from_bytes(bytes));
        }
        let mut shown = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            shown.push_str(chunk.valid());
            for byte in chunk.invalid() {
                shown.push_str(&format!("?\\{byte:02X}"));
            }
        }
        let what = "Can't convert string from native encoding to 'UTF-8':";
        Err(Error::new(Code(22), shown).wrap(Code(22), what))
    }

    /// Converts bytes to this character set. What is not text makes all of it ASCII, with the numbers of the other bytes.
    pub fn show_bytes(self, bytes: &[u8]) -> Cow<'_, str> {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return self.show(text);
        }
        let mut shown = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            shown.push_str(&Charset::Ascii.show(chunk.valid()));
            for byte in chunk.invalid() {
                shown.push_str(&format!("?\\{byte:02X}"));
            }
        }
        Cow::Owned(shown)
    }

    /// Converts text to this character set.
    pub fn show(self, text: &str) -> Cow<'_, str> {
        if self == Charset::Utf8 || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let mut shown = String::with_capacity(text.len());
        for letter in text.nfd().filter(|letter| !is_combining_mark(*letter)) {
            if letter.is_ascii() {
                shown.push(letter);
            } else {
                shown.push_str(&format!("{{U+{:04X}}}", u32::from(letter)));
            }
        }
        Cow::Owned(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_replaces_other_characters() {
        assert_eq!(Charset::Ascii.show("é–x"), "e{U+2013}x");
        assert_eq!(Charset::Utf8.show("é–x"), "é–x");
    }
}
