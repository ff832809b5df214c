//! Makes values of `svn:` properties what repositories accept today: UTF-8 with line feeds.

use std::borrow::Cow;

use base::{Code, Error, Props, Result};

use super::bookkeeping;

/// The encoding of the source's `svn:` properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PropEncoding {
    /// UTF-8: values are not converted.
    #[default]
    Utf8,
    /// ISO 8859-1: each byte is a character.
    Latin1,
    /// Any other: only ASCII is converted.
    Unknown,
}

impl PropEncoding {
    /// Returns the encoding with a name.
    pub fn named(name: &str) -> PropEncoding {
        let name: String = name
            .chars()
            .filter(|letter| letter.is_ascii_alphanumeric())
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        match name.as_str() {
            "utf8" => PropEncoding::Utf8,
            "iso88591" | "latin1" | "l1" | "88591" | "cp819" | "ibm819" => PropEncoding::Latin1,
            _ => PropEncoding::Unknown,
        }
    }

    fn decode<'a>(&self, value: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        match self {
            _ if value.is_ascii() => Ok(Cow::Borrowed(value)),
            PropEncoding::Utf8 => Ok(Cow::Borrowed(value)),
            PropEncoding::Latin1 => {
                let text: String = value.iter().map(|byte| char::from(*byte)).collect();
                Ok(Cow::Owned(text.into_bytes()))
            }
            PropEncoding::Unknown => Err(not_ascii(value)),
        }
    }

    /// Returns a value as it is stored, and whether its line ends changed.
    ///
    /// # Errors
    /// `errno` 22 for a value that cannot be converted.
    pub fn normalize<'a>(&self, name: &str, value: &'a [u8]) -> Result<(Cow<'a, [u8]>, bool)> {
        if !name.starts_with("svn:") {
            return Ok((Cow::Borrowed(value), false));
        }
        let decoded = self.decode(value)?;
        match decoded.contains(&b'\r') {
            false => Ok((decoded, false)),
            true => Ok((Cow::Owned(with_line_feeds(&decoded)), true)),
        }
    }

    /// Returns the properties of a revision as they are stored, without those of a mirror; whether there were such; and how many
    /// got other line ends.
    ///
    /// # Errors
    /// As above.
    pub fn normalize_revprops(&self, props: &Props) -> Result<RevisionProps> {
        let mut out = RevisionProps::default();
        for (name, value) in props {
            if name.starts_with(bookkeeping::PREFIX) {
                out.has_sync_props = true;
                continue;
            }
            let (value, is_changed) = self.normalize(name, value)?;
            out.normalized += u64::from(is_changed);
            out.props.insert(name.clone(), value.into_owned());
        }
        Ok(out)
    }
}

/// The properties of a revision, as they are stored in a mirror.
#[derive(Clone, Debug, Default)]
pub struct RevisionProps {
    /// The properties.
    pub props: Props,
    /// The source has properties of a mirror.
    pub has_sync_props: bool,
    /// How many values got other line ends.
    pub normalized: u64,
}

/// Makes line feeds of all line ends: CR LF, and CR alone.
pub fn with_line_feeds(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' => {
                out.push(b'\n');
                bytes.next_if(|next| **next == b'\n');
            }
            byte => out.push(*byte),
        }
    }
    out
}

fn not_ascii(value: &[u8]) -> Error {
    let at = value.iter().position(|byte| !byte.is_ascii()).unwrap_or(0);
    let (safe, rest) = value.split_at(at);
    let safe = String::from_utf8_lossy(safe);
    let byte = rest.first().copied().unwrap_or_default();
    let message = match safe.is_empty() {
        true => format!("Non-ASCII character (code {byte}) detected, and unable to convert to/from UTF-8"),
        false => format!(
            "Safe data '{safe}' was followed by non-ASCII byte {byte}: unable to convert to/from UTF-8"
        ),
    };
    Error::new(Code(22), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_utf8_with_line_feeds() {
        for (encoding, name, value, expected, is_changed) in [
            (
                "utf-8",
                "svn:log",
                &b"a\r\nb\rc\n\r"[..],
                &b"a\nb\nc\n\n"[..],
                true,
            ),
            ("utf-8", "svn:log", b"\xe9", b"\xe9", false),
            ("utf-8", "log", b"a\r\n", b"a\r\n", false),
            ("ISO-8859-1", "svn:log", b"\xe9\r\n", "é\n".as_bytes(), true),
            ("latin1", "log", b"\xe9", b"\xe9", false),
            ("koi8-r", "svn:log", b"abc", b"abc", false),
        ] {
            let encoding = PropEncoding::named(encoding);
            let (found, changed) = encoding.normalize(name, value).expect("a value");
            assert_eq!((&*found, changed), (expected, is_changed), "{encoding:?} {name}");
        }
        let error = PropEncoding::named("koi8-r").normalize("svn:log", b"lat\xe9");
        assert_eq!(
            error.expect_err("not ASCII").message(),
            "Safe data 'lat' was followed by non-ASCII byte 233: unable to convert to/from UTF-8"
        );
    }
}
