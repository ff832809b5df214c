//! Character sets, and the conversion of text to and from them.
//!
//! The program's text is UTF-8. It is printed in the character set of the locale. Where that lacks a character, and in
//! the C locale, text is printed in ASCII: a letter loses its accent, a ligature its form, a dash becomes a hyphen, and a character without
//! an ASCII form is printed as its number, such as `{U+65E5}`. Bytes that are not text (file contents, property values, dump streams) are
//! not converted.
//!
//! The locale is the process's: the program sets its character set once, at its start ([`Charset::set_of_process`]). Libraries do not read
//! the environment; without that call text is UTF-8.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::OnceLock;

use encoding_rs::{Encoding, UTF_8};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::{Code, Error, Result};

/// A character set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8.
    Utf8,
    /// ASCII: the C locale, and character sets without conversion tables.
    Ascii,
    /// ISO 8859-1, where each byte is the character of its number.
    Latin1,
    /// Another one.
    Other(&'static Encoding),
}

impl Charset {
    /// Returns the character set of the process's locale.
    pub fn of_process() -> Charset {
        PROCESS.get().copied().unwrap_or(Charset::Utf8)
    }

    /// Sets the character set of the process's locale. The first call counts.
    pub fn set_of_process(self) {
        PROCESS.get_or_init(|| self);
    }

    /// True if names and arguments are converted. In ASCII, the C locale, they are taken as UTF-8.
    pub fn is_converted(self) -> bool {
        match self {
            Charset::Utf8 | Charset::Ascii => false,
            Charset::Latin1 | Charset::Other(_) => true,
        }
    }

    /// Returns the character set that the name of a locale has after its point.
    pub fn of_locale(name: &str) -> Charset {
        let (name, modifier) = name.split_once('@').unwrap_or((name, ""));
        let charset = match name.split_once('.') {
            Some((_, charset)) => charset,
            None if modifier == "euro" => "ISO-8859-15",
            None => return Charset::Ascii,
        };
        match Charset::named(charset) {
            Some(Charset::Other(encoding)) if encoding == UTF_8 => Charset::Utf8,
            // ASCII is a part of the character set of every locale.
            Some(Charset::Other(encoding)) if !encoding.is_ascii_compatible() => Charset::Ascii,
            charset => charset.unwrap_or(Charset::Ascii),
        }
    }

    /// Returns a character set by its name; `None` for one without conversion tables.
    pub fn named(name: &str) -> Option<Charset> {
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "latin1" | "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "iso88591" | "l1" | "8859_1" => {
                return Some(Charset::Latin1);
            }
            "ascii" | "us-ascii" | "ansi_x3.4-1968" | "646" | "c" => return Some(Charset::Ascii),
            _ => {}
        }
        // The library knows more names with these forms of them.
        let forms = [
            lower.clone(),
            lower.replacen("cp", "windows-", 1),
            lower.replace('_', "-"),
            lower.replacen("euc", "euc-", 1),
            lower.replacen("koi8", "koi8-", 1),
        ];
        let encoding = forms.iter().find_map(|form| Encoding::for_label(form.as_bytes()));
        encoding.map(Charset::Other)
    }

    /// Converts bytes in this character set to text.
    ///
    /// # Errors
    /// `errno` 22 for bytes that are not in the character set.
    pub fn read(self, bytes: &[u8]) -> Result<Cow<'_, str>> {
        if self == Charset::Utf8 || bytes.is_ascii() {
            return utf8(OsStr::from_bytes(bytes)).map(Cow::Borrowed);
        }
        if let Some(text) = self.decode(bytes) {
            return Ok(text);
        }
        let shown = ascii_bytes(bytes);
        let what = "Can't convert string from native encoding to 'UTF-8':";
        Err(Error::new(Code(22), shown).wrap(Code(22), what))
    }

    /// Converts a word of the command line to text, as [`utf8`] does in UTF-8 and in ASCII.
    ///
    /// # Errors
    /// `errno` 22 for bytes that are not in the character set.
    pub fn read_word(self, word: &OsStr) -> Result<Cow<'_, str>> {
        match self {
            Charset::Utf8 | Charset::Ascii => utf8(word).map(Cow::Borrowed),
            Charset::Latin1 | Charset::Other(_) => self.read(word.as_bytes()),
        }
    }

    /// Converts bytes to text; `None` if they are not in the character set.
    pub fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Charset::Utf8 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Charset::Ascii if bytes.is_ascii() => Charset::Utf8.decode(bytes),
            Charset::Ascii => None,
            Charset::Latin1 => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
            Charset::Other(encoding) => encoding
                .decode_without_bom_handling_and_without_replacement(bytes)
                .filter(|text| !has_undefined(encoding, text)),
        }
    }

    /// Converts text to this character set; `None` if it lacks a character.
    pub fn encode(self, text: &str) -> Option<Cow<'_, [u8]>> {
        if self == Charset::Utf8 || text.is_ascii() {
            return Some(Cow::Borrowed(text.as_bytes()));
        }
        match self {
            Charset::Utf8 | Charset::Ascii => None,
            Charset::Latin1 => {
                let bytes: Option<Vec<u8>> = text
                    .chars()
                    .map(|letter| u8::try_from(u32::from(letter)).ok())
                    .collect();
                bytes.map(Cow::Owned)
            }
            Charset::Other(encoding) => {
                let (bytes, used, has_others) = encoding.encode(text);
                (used == encoding && !has_others && !has_undefined(encoding, text)).then_some(bytes)
            }
        }
    }

    /// As [`Charset::encode`].
    ///
    /// # Errors
    /// `errno` 22 for text with a character that the character set lacks.
    pub fn write(self, text: &str) -> Result<Cow<'_, [u8]>> {
        self.encode(text).ok_or_else(|| {
            let what = "Can't convert string from 'UTF-8' to native encoding:";
            Error::new(Code(22), ascii_text(text)).wrap(Code(22), what)
        })
    }

    /// Converts bytes that may not be text to text. What is not text makes all of it ASCII, with the numbers of the other bytes.
    pub fn show_bytes(bytes: &[u8]) -> Cow<'_, str> {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(ascii_bytes(bytes))
    }

    /// Converts text to this character set. A character that it lacks makes all of the text ASCII.
    pub fn show(self, text: &str) -> Cow<'_, [u8]> {
        self.encode(text)
            .unwrap_or_else(|| Cow::Owned(ascii_text(text).into_bytes()))
    }
}

/// True for text with the control characters that the library has for bytes without a meaning in the character sets of Windows.
fn has_undefined(encoding: &'static Encoding, text: &str) -> bool {
    encoding.name().starts_with("windows-")
        && text.chars().any(|letter| matches!(letter, '\u{80}'..='\u{9f}'))
}

/// Converts bytes that may not be text to ASCII. Bytes that are not text are shown as their numbers.
fn ascii_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(&ascii_text(chunk.valid()));
        for byte in chunk.invalid() {
            shown.push_str(&format!("?\\{byte:02X}"));
        }
    }
    shown
}

/// Returns a word as text.
///
/// # Errors
/// `errno` 22 if it is not UTF-8; the message shows the bytes.
pub fn utf8(word: &OsStr) -> Result<&str> {
    word.to_str().ok_or_else(|| not_utf8(word.as_bytes()))
}

/// Returns the incumbent's error for bytes that are not UTF-8: the last valid ones and the first invalid ones.
fn not_utf8(bytes: &[u8]) -> Error {
    let valid = std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), str::len);
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!(" {b:02x}")).collect::<String>();
    let shown = &bytes[valid.saturating_sub(24)..valid];
    let wrong = &bytes[valid..(valid + 4).min(bytes.len())];
    Error::new(
        Code(22),
        format!(
            "Valid UTF-8 data\n(hex:{})\nfollowed by invalid UTF-8 sequence\n(hex:{})",
            hex(shown),
            hex(wrong)
        ),
    )
}

/// Converts text to ASCII.
pub fn ascii_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.nfkd().filter(|letter| !is_combining_mark(*letter)) {
        let code = u32::from(letter);
        match ascii_form(letter) {
            Some(letter) => shown.push(letter),
            None if code > 0xffff => shown.push_str(&format!("{{U+{code:06X}}}")),
            None => shown.push_str(&format!("{{U+{code:04X}}}")),
        }
    }
    shown
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

/// The character set of the process's locale.
static PROCESS: OnceLock<Charset> = OnceLock::new();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_replaces_other_characters() {
        assert_eq!(&*Charset::Ascii.show("é–x"), b"e-x");
        assert_eq!(&*Charset::Utf8.show("é–x"), "é–x".as_bytes());
        assert_eq!(&*Charset::Latin1.show("é–x"), b"e-x");
        assert_eq!(&*Charset::Latin1.show("éx"), b"\xe9x");
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
            assert_eq!(&*Charset::Ascii.show(text), shown.as_bytes(), "{text}");
        }
    }

    #[test]
    fn locales_have_character_sets() {
        let other = |name: &str| Charset::named(name).expect("because it is known");
        for (locale, charset) in [
            ("C", Charset::Ascii),
            ("de_DE", Charset::Ascii),
            ("de_DE.UTF-8", Charset::Utf8),
            ("de_DE.utf8@x", Charset::Utf8),
            ("de_DE.ISO-8859-1", Charset::Latin1),
            ("de_DE.iso88591", Charset::Latin1),
            ("de_DE@euro", other("iso-8859-15")),
            ("de_DE.ISO-8859-15@euro", other("iso-8859-15")),
            ("ru_RU.KOI8-R", other("koi8-r")),
            ("ru_RU.koi8r", other("koi8-r")),
            ("ru_RU.CP1251", other("windows-1251")),
            ("ja_JP.eucjp", other("euc-jp")),
            ("x_X.nonsense", Charset::Ascii),
            ("x_X.UTF-16", Charset::Ascii),
        ] {
            assert_eq!(Charset::of_locale(locale), charset, "{locale}");
        }
    }

    #[test]
    fn bytes_that_are_no_text() {
        let shown = Charset::show_bytes(b"\xff\xc3\xa9 \xed\xa0\x80 \xe2\x82");
        assert_eq!(shown, "?\\FFe ?\\ED?\\A0?\\80 ?\\E2?\\82");
        assert_eq!(Charset::show_bytes("é".as_bytes()), "é");
    }
}
