//! The character set of the terminal, and the conversion of text to and from it.
//!
//! The program's text is UTF-8. In a UTF-8 locale it is printed unchanged. In any other locale it is printed in
//! ASCII: a letter loses its accent, a ligature its form, a dash becomes a hyphen, and a character without an ASCII form is printed as
//! its number, such as `{U+65E5}`. Bytes that are not text (file contents, property values, dump streams) are not converted.

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
        for letter in text.nfkd().filter(|letter| !is_combining_mark(*letter)) {
            let code = u32::from(letter);
            match ascii_form(letter) {
                Some(letter) => shown.push(letter),
                None if code > 0xffff => shown.push_str(&format!("{{U+{code:06X}}}")),
                None => shown.push_str(&format!("{{U+{code:04X}}}")),
            }
        }
        Cow::Owned(shown)
    }
}

/// Returns the ASCII character that a character of a decomposed text is shown as.
fn ascii_form(letter: char) -> Option<char> {
    Some(match letter {
        '\x7f' => return None,
        letter if letter.is_ascii() => letter,
        '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' => ' ',
        '\u{58a}' | '\u{5be}' | '\u{1400}' | '\u{1806}' | '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2e17}' | '\u{2e1a}' | '\u{2e3a}' | '\u{2e3b}' | '\u{2e40}' | '\u{301c}' | '\u{3030}'
        | '\u{30a0}' => '-',
        '\u{203f}' | '\u{2040}' | '\u{2054}' | '\u{2cd}' => '_',
        '\u{2018}' | '\u{2019}' | '\u{2bc}' | '\u{2c8}' => '\'',
        '\u{2c4}' | '\u{2c6}' | '\u{2038}' | '\u{2303}' => '^',
        '\u{2039}' | '\u{2329}' | '\u{3008}' => '<',
        '\u{203a}' | '\u{232a}' | '\u{3009}' => '>',
        '\u{2044}' | '\u{2215}' => '/',
        '\u{2028}' | '\u{2029}' => '\n',
        '\u{2216}' => '\\',
        '\u{2223}' => '|',
        '\u{2236}' => ':',
        '\u{223c}' => '~',
        '\u{2cb}' => '`',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_replaces_other_characters() {
        assert_eq!(Charset::Ascii.show("é–x"), "e-x");
        assert_eq!(Charset::Utf8.show("é–x"), "é–x");
    }

    /// As `svnlook log` prints them.
    #[test]
    fn ascii_forms() {
        for (text, shown) in [
            ("‘q’ ﬁ ① ß Å ø ½ …", "'q' fi 1 {U+00DF} A {U+00F8} 1/2 ..."),
            ("“ — ― ʼ ″ ´ ˆ ˜ ∼ ⁄", "{U+201C} - - ' {U+2032}{U+2032}   ^   ~ /"),
            (
                "ǅ ŉ № ℃ ∣ ∶ 〈 ﷺ\u{2028}",
                "Dz 'n No {U+00B0}C | : < {U+0635}{U+0644}{U+0649} {U+0627}{U+0644}{U+0644}{U+0647} {U+0639}{U+0644}{U+064A}{U+0647} {U+0648}{U+0633}{U+0644}{U+0645}\n",
            ),
            ("\u{1f600} \u{7f}\u{85}", "{U+01F600} {U+007F}{U+0085}"),
            ("\u{7f}", "\u{7f}"),
        ] {
            assert_eq!(Charset::Ascii.show(text), shown, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_text() {
        let shown = Charset::Utf8.show_bytes(b"\xff\xc3\xa9 \xed\xa0\x80 \xe2\x82");
        assert_eq!(shown, "?\\FFe ?\\ED?\\A0?\\80 ?\\E2?\\82");
        assert_eq!(Charset::Utf8.show_bytes("é".as_bytes()), "é");
    }
}
