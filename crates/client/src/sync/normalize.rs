//! Makes values of `svn:` properties what repositories accept today: UTF-8 with line feeds.

use std::borrow::Cow;

use base::{Props, Result};

use super::bookkeeping;

/// Converts the source's `svn:` properties to UTF-8.
#[derive(Clone, Copy, Default)]
pub struct PropEncoding<'a>(pub Option<Decode<'a>>);

/// Converts a value to UTF-8. Only called for values that are not ASCII.
pub type Decode<'a> = &'a dyn Fn(&[u8]) -> Result<Vec<u8>>;

impl PropEncoding<'_> {
    fn decode<'v>(&self, value: &'v [u8]) -> Result<Cow<'v, [u8]>> {
        match self.0 {
            Some(decode) if !value.is_ascii() => decode(value).map(Cow::Owned),
            _ => Ok(Cow::Borrowed(value)),
        }
    }

    /// Returns a value as it is stored, and whether its line ends changed.
    ///
    /// # Errors
    /// Those of the conversion.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_utf8_with_line_feeds() {
        let latin1 = |value: &[u8]| {
            let text: String = value.iter().map(|byte| char::from(*byte)).collect();
            Ok(text.into_bytes())
        };
        let (utf8, latin1) = (PropEncoding(None), PropEncoding(Some(&latin1)));
        for (encoding, name, value, expected, is_changed) in [
            (utf8, "svn:log", &b"a\r\nb\rc\n\r"[..], &b"a\nb\nc\n\n"[..], true),
            (utf8, "svn:log", b"\xe9", b"\xe9", false),
            (utf8, "log", b"a\r\n", b"a\r\n", false),
            (latin1, "svn:log", b"\xe9\r\n", "é\n".as_bytes(), true),
            (latin1, "log", b"\xe9", b"\xe9", false),
            (latin1, "svn:log", b"abc", b"abc", false),
        ] {
            let (found, changed) = encoding.normalize(name, value).expect("a value");
            assert_eq!((&*found, changed), (expected, is_changed), "{name} {value:?}");
        }
    }
}
