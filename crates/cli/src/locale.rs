//! The character set of the terminal, and text on its way there.
//!
//! Inside, text is UTF-8. A terminal (or a pipe) takes what the locale says: UTF-8 as it is, otherwise ASCII, where a character
//! without an equal loses its accent or becomes its number, as `{U+65E5}`. Bytes that are no text (file contents, property
//! values, dump streams) never pass through here.

use std::borrow::Cow;
use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use base::{Code, Error, Result};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::args::operand;

/// What the locale's character set can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// Everything.
    Utf8,
    /// ASCII: the C locale, and every set that we have no table for.
    Ascii,
}

impl Charset {
    /// The character set that LC_ALL, LC_CTYPE or LANG names, the first that is set and not empty.
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

    /// Bytes in this character set as text.
    ///
    /// # Errors
    /// `errno` 22 for bytes that it does not have.
    pub fn read(self, bytes: &[u8]) -> Result<&str> {
        if self == Charset::Utf8 || bytes.is_ascii() {
            return operand::text(OsStr::from_bytes(bytes));
        }
        let shown: String = bytes
            .iter()
            .map(|&byte| match byte {
                byte if byte.is_ascii() => char::from(byte).to_string(),
                byte => format!("?\\{byte:02X}"),
            })
            .collect();
        let what = "Can't convert string from native encoding to 'UTF-8':";
        Err(Error::new(Code(22), shown).wrap(Code(22), what))
    }

    /// The text as this character set shows it.
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
    fn ascii_degrades_what_it_cannot_show() {
        assert_eq!(Charset::Ascii.show("é–x"), "e{U+2013}x");
        assert_eq!(Charset::Utf8.show("é–x"), "é–x");
    }
}
