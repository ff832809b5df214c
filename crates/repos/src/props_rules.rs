//! Which properties a repository stores, and in what form.
//!
//! Names that clients use for their own bookkeeping are refused. Values of `svn:` properties, of nodes and revisions
//! alike, are UTF-8 with LF line endings; some have a syntax too. Other properties hold any value. Any property may
//! be deleted.

use std::borrow::Cow;

use base::mergeinfo::Mergeinfo;
use base::{Code, Date, Error, FsPath, Result, props};

/// Refuses a property that must not be stored; deleting any is allowed.
///
/// # Errors
/// `REPOS_BAD_ARGS` for names of working copies, `BAD_PROPERTY_VALUE` for values of `svn:` properties.
pub fn validate(name: &str, value: Option<&[u8]>) -> Result<()> {
    let Some(value) = value else {
        return Ok(());
    };
    if !props::is_regular(name) {
        return Err(Error::new(
            Code::REPOS_BAD_ARGS,
            format!(
                "Storage of non-regular property '{name}' is disallowed through the repository interface, and could \
                 indicate a bug in your client"
            ),
        ));
    }
    if !has_text_value(name) {
        return Ok(());
    }
    if std::str::from_utf8(value).is_err() {
        return Err(Error::new(
            Code::BAD_PROPERTY_VALUE,
            format!("Cannot accept '{name}' property because it is not encoded in UTF-8"),
        ));
    }
    // The incumbent checks only up to the first NUL.
    if value.iter().take_while(|b| **b != 0).any(|b| *b == b'\r') {
        return Err(Error::new(
            Code::BAD_PROPERTY_VALUE_EOL,
            format!("Cannot accept non-LF line endings in '{name}' property"),
        )
        .wrap(Code::BAD_PROPERTY_VALUE, "Invalid property value"));
    }
    if name == props::DATE {
        Date::parse(value).map_err(|e| e.wrap_bare(Code::BAD_PROPERTY_VALUE))?;
    }
    Ok(())
}

/// Refuses mergeinfo of a node that cannot be read.
///
/// # Errors
/// `MERGEINFO_PARSE_ERROR`.
pub fn validate_mergeinfo(path: &FsPath, name: &str, value: &[u8]) -> Result<()> {
    if name != props::MERGEINFO {
        return Ok(());
    }
    let refuse = |what: &str| format!("Commit rejected because mergeinfo on '{path}' {what}");
    if value.contains(&0) {
        return Err(Error::new(
            Code::MERGEINFO_PARSE_ERROR,
            refuse("contains unexpected string terminator"),
        ));
    }
    // `validate` refuses values that are not UTF-8.
    let value = String::from_utf8_lossy(value);
    match Mergeinfo::parse(value.as_bytes()) {
        Ok(_) => Ok(()),
        Err(e) => Err(e.wrap(Code::MERGEINFO_PARSE_ERROR, refuse("is syntactically invalid"))),
    }
}

/// True if the value of a property is text with a prescribed form.
pub fn has_text_value(name: &str) -> bool {
    name.starts_with("svn:")
}

/// Returns the value with LF line endings, if the property's value is text (`load --normalize-props`).
pub fn normalize<'a>(name: &str, value: &'a [u8]) -> Cow<'a, [u8]> {
    if !has_text_value(name) || !value.contains(&b'\r') {
        return Cow::Borrowed(value);
    }
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = memchr::memchr(b'\r', rest) {
        out.extend_from_slice(&rest[..at]);
        out.push(b'\n');
        rest = &rest[at + 1..];
        rest = rest.strip_prefix(b"\n").unwrap_or(rest);
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each was set through svnserve 1.14.2.
    #[test]
    fn what_is_stored() {
        type Refusal = Option<&'static [(i32, &'static str)]>;
        let not_utf8: Refusal = Some(&[(
            125005,
            "Cannot accept 'svn:x' property because it is not encoded in UTF-8",
        )]);
        let eol: Refusal = Some(&[
            (125005, "Invalid property value"),
            (125017, "Cannot accept non-LF line endings in 'svn:x' property"),
        ]);
        let date: Refusal = Some(&[
            (125005, "Wrong or unexpected property value"),
            (125003, "Bogus date"),
        ]);
        let wc: Refusal = Some(&[(
            165002,
            "Storage of non-regular property 'svn:wc:x' is disallowed through the repository interface, and could \
             indicate a bug in your client",
        )]);
        let entry: Refusal = Some(&[(
            165002,
            "Storage of non-regular property 'svn:entry:x' is disallowed through the repository interface, and \
             could indicate a bug in your client",
        )]);
        for (name, value, said) in [
            ("svn:x", Some(&b"a\nb\0c"[..]), None),
            ("svn:x", Some(b"\xff"), not_utf8),
            ("svn:x", Some(b"a\r\nb"), eol),
            ("svn:x", Some(b"a\0\r"), None),
            ("x", Some(b"\xff\r"), None),
            ("", Some(b"x"), None),
            ("svn:executable", Some(b"no"), None),
            ("svn:eol-style", Some(b"bogus"), None),
            ("svn:date", Some(b"2020-01-01T00:00:00.000000Z"), None),
            ("svn:date", Some(b"2020-01-01"), date),
            ("svn:date", None, None),
            ("svn:wc:x", Some(b"1"), wc),
            ("svn:wc:x", None, None),
            ("svn:entry:x", Some(b"1"), entry),
            ("svn:mergeinfo", Some(b"/a"), None),
        ] {
            assert_eq!(links(validate(name, value)), said.map(owned), "{name} {value:?}");
        }
    }

    #[test]
    fn mergeinfo_of_a_node() {
        let path = FsPath::parse("/iota").expect("canonical");
        let on = |value: &[u8]| links(validate_mergeinfo(&path, "svn:mergeinfo", value));
        let invalid = "Commit rejected because mergeinfo on '/iota' is syntactically invalid";
        assert_eq!(on(b""), None);
        assert_eq!(on(b"/a:1"), None);
        assert_eq!(on(b"/\xff:1"), None);
        assert_eq!(
            on(b"/a"),
            Some(owned(&[
                (200020, invalid),
                (200020, "Pathname not terminated by ':'")
            ]))
        );
        assert_eq!(
            on(b"/a:0"),
            Some(owned(&[
                (200020, invalid),
                (200020, "Invalid revision number '0' found in range list")
            ]))
        );
        assert_eq!(
            on(b"/a:1\r\n"),
            Some(owned(&[
                (200020, invalid),
                (200020, "Invalid character '\r' found in revision list")
            ]))
        );
        assert_eq!(
            on(b"/a:1\0"),
            Some(owned(&[(
                200020,
                "Commit rejected because mergeinfo on '/iota' contains unexpected string terminator"
            )]))
        );
        assert_eq!(links(validate_mergeinfo(&path, "mergeinfo", b"/a")), None);
    }

    #[test]
    fn line_endings() {
        for (name, value, expected) in [
            ("svn:log", &b"a\r\nb\rc\n\r\n\r\r"[..], &b"a\nb\nc\n\n\n\n"[..]),
            ("svn:log", b"a\n", b"a\n"),
            ("log", b"a\r\n", b"a\r\n"),
        ] {
            assert_eq!(&*normalize(name, value), expected);
        }
    }

    fn links(result: Result<()>) -> Option<Vec<(i32, String)>> {
        let e = result.err()?;
        Some(e.links().map(|link| (link.code().0, link.text())).collect())
    }

    fn owned(links: &[(i32, &str)]) -> Vec<(i32, String)> {
        links
            .iter()
            .map(|(code, text)| (*code, (*text).to_owned()))
            .collect()
    }
}
